"""Energy networks: one file each, with a class `Model`."""
