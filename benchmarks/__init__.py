"""Measurements of the product itself: how much time and memory it takes."""
