"""The first line: which version and commit made the report, of which suite, and whether it is full."""

from ebmbench.report.results.suite import Results

TITLE = ""
ORDER = -10


def text(results: Results) -> str:
    """One line, for whoever asks how far to trust what follows."""
    return results.header.line
