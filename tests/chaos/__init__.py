"""Scripts that ill-treat the real thing for minutes, by a seed: `make chaos`. Not collected by pytest."""
