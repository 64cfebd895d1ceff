"""Two reports side by side: what changed in parameters, code and numbers."""
