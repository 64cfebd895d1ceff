"""What baselines share."""
