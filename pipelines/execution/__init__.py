"""Run stages: the queue, DVC as a command, processes that end with their parent, clones, signals."""
