"""How training went: the histories of all runs."""

from ebmbench.report.results.suite import Results
from ebmbench.report.text.images import show_images

TITLE = "Training health"
ORDER = 80
FOLDED = "Losses, gradients and energies of every run while it trained"


def text(results: Results) -> str:
    """The figures of each dataset."""
    return show_images(results.images.get("training", ())) or "No histories yet."
