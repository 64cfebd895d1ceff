"""Baselines: rows of every table that no method trained. One file each, with `subject(…) -> Subject`."""
