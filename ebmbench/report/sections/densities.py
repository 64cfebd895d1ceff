"""Maps of the learned densities, for data in the plane."""

from ebmbench.report.results.groups import datasets
from ebmbench.report.results.suite import Results
from ebmbench.report.text.images import show_images

TITLE = "Densities"
ORDER = 30
NO_MAPS = "No maps: nothing two-dimensional has been evaluated."


def text(results: Results) -> str:
    """The maps; empty if all data are images or binary."""
    planar = [name for name in datasets(results.toys) if not results.facts.get(name, {}).get("binary")]
    return (show_images(results.images.get("densities", ())) or NO_MAPS) if planar else ""
