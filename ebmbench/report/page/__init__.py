"""The report as one HTML file, with its style and script."""
