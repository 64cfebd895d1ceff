"""What the samplers give: clouds of points; of images galleries, chains and classes, each below its own heading."""

from ebmbench.report.results.suite import Results
from ebmbench.report.text.images import Image, fold_images, show_images

TITLE = "Samples"
ORDER = 40
NO_MAPS = "No maps: nothing two-dimensional has been evaluated."
NO_IMAGES = "No images: nothing has been sampled yet."


def text(results: Results) -> str:
    """All figures of samples, by heading."""
    found: dict[str, list[Image]] = {}
    for image in results.images.get("samples", ()):
        found.setdefault(image.heading, []).append(image)
    parts = [show_images(found.pop("", []))]
    parts += [f"### {heading}\n\n{fold_images(images)}" for heading, images in found.items()]
    return "\n\n".join(filter(None, parts)) or (NO_MAPS if len(results.toys) else NO_IMAGES)
