"""Two reports side by side: which numbers moved, and what may have moved them."""
