"""Everything about files of the project: paths, whole-or-nothing writes, locks, hashes, records, Git, progress."""
