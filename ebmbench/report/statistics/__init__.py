"""Statistics over seeds, ranks, and who competes with whom."""
