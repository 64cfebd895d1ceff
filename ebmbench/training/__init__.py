"""Training under one protocol: the same budget, schedule, averaging and bookkeeping for every method."""
