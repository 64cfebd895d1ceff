"""The sections of the report, one file each; the folder is the list (see `ebmbench/report/build.py`).

A section has a docstring, `TITLE` (empty: no heading), `ORDER` (its place in the report) and `text(results)`, which
gives Markdown; a section without text is left out. One with `FOLDED`, a line that says what is inside, stays closed
below its heading until the reader opens it, and has no heading inside: links lead to what can be seen. Its figures are
`results.images[<name of the file>]`: each file of `figures/` says which section it belongs to.
"""
