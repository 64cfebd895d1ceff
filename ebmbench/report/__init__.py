"""The report: `build.build` turns the runs of a suite into Markdown, a table and figures.

It reads JSON, CSV and NPZ files only, so that it needs neither torch nor a trained model, and editing it
makes no run stale. `results.load_results` gives the numbers back as a typed frame.
"""
