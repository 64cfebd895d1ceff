"""Numbers, tables and foreign text as Markdown."""
