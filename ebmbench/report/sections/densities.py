"""Maps of the learned densities, for data in the plane."""

from ebmbench.report.results.suite import Results
from ebmbench.report.text.images import show_images

TITLE = "Densities"
ORDER = 30
NO_MAPS = "No maps: nothing two-dimensional has been evaluated."


def text(results: Results) -> str:
    """The maps; empty if all data are images."""
    return (show_images(results.images.get("densities", ())) or NO_MAPS) if len(results.toys) else ""
