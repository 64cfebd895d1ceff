"""What several methods share: an edit here makes the cells of all methods stale."""
