"""Datasets: one file each. A file that defines `density()` has exact log-densities and scores."""
