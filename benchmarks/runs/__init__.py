"""Whole runs of the benchmark in fresh clones: how long they take, and how much of that is not work.

Everything is measured from outside, by the command line and the files that a run leaves, so that any revision can be
measured in the same way. Linux only.
"""
