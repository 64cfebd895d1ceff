"""What is to do: stale stages, which part of the suite, why, and with how much of the machine."""
