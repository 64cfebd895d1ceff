"""Metrics: one file each, with `compute(evaluation) -> Value`."""
