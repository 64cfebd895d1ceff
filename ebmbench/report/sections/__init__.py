"""The sections of the report, one file each; the folder is the list (see `ebmbench/report/build.py`).

A section has a docstring, `TITLE` (empty: no heading), `ORDER` (its place in the report) and `text(results)`, which
gives Markdown; a section without text is left out. Its figures are `results.images[<name of the file>]`: each file of
`figures/` says which section it belongs to.
"""
