"""What the samplers give: clouds of points; of images strips, films and galleries, with chains and classes folded."""

from ebmbench.report.results.suite import Results
from ebmbench.report.text.images import show_images

TITLE = "Samples"
ORDER = 40
NO_MAPS = "No maps: nothing two-dimensional has been evaluated."
NO_IMAGES = "No images: nothing has been sampled yet."


def text(results: Results) -> str:
    """All figures of samples."""
    return show_images(results.images.get("samples", ())) or (NO_MAPS if len(results.toys) else NO_IMAGES)
