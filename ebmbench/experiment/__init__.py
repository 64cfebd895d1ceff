"""The one way a run is trained, sampled and judged; stages, claims and tuning all call it."""
