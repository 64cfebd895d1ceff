"""What the report is made of: the cells on disk as one frame, with curves and provenance."""
