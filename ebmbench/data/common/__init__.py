"""Helpers of the datasets: exact densities, images and their files, and the user's own sources."""
