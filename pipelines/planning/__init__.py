"""Plan a run: which stages are stale and why, which are selected, and what they need of the machine."""
