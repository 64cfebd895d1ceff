"""The figures of the report, one file each; the folder is the list (see `ebmbench/report/build.py`).

A figure has a docstring, `SECTION` (the name of a file in `sections/`), `ORDER` (its place there) and
`draw(results, folder)`, which writes files into the folder and gives an `Image` for each. What the section's own text
does not show stands at its end. Files with none of
these three are what figures share.
"""
