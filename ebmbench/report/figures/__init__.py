"""One file for each figure; each returns what the Markdown needs to show it."""
