"""The report: `build.build` turns the runs of a suite into Markdown, a table and figures.

It reads JSON, CSV and NPZ files only, so it needs neither torch nor a trained model, and editing it makes no run stale.
`results.table.load_results` reads the numbers back as a typed frame.
"""
