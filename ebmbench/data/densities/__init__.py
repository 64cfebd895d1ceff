"""Densities that are known exactly: samples, log p, score, modes, and the same density smoothed by noise."""
