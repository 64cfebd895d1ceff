"""What a reader of image results must know: which samples, the FID ratio, by which protocol, and what it cannot say."""

import pandas as pd

from ebmbench.report.groups import RATIO
from ebmbench.report.kinds import ABOUT, image_sets, kinds
from ebmbench.report.prose import names
from ebmbench.report.sampled import Sampled

CHAINS = "the training chains"  # what a buffer is, and is said to be
KINDS = (
    "Images are judged by samples, and **samples are of several kinds that are never mixed**: {kinds}. A method can "
    "look well in one and fail in another: a short run may stop while its chains pass by the data, a long run shows "
    "where the model's mass is. Baselines have exact samples and stand in every table."
)
READ = (
    "The **FID ratio** is the FID of the samples divided by that of test images with Gaussian noise of deviation 0.2 "
    "(*noisy*, with another draw of it, has a ratio of about 1): below 1, samples are closer to the data than visibly "
    "noisy images are. "
    "Read it with **precision** (do samples look like data), **recall** (are all data covered) and **class entropy** "
    "(how evenly samples fall into classes): never by a classifier's confidence alone, which a model can raise with "
    "images of one class, or with images of nothing. *oracle* is held-out real images as if they were sampled, the "
    "floor of each metric; *gaussian* knows the data's mean and covariance only; none of the three competes."
)
EXTRACTOR = (
    "FID, KID and the others depend on the feature extractor and on the number of samples: values from different "
    "extractors, so of different datasets here and of papers that use Inception-v3, cannot be compared. {protocols}"
)


def explained(frame: pd.DataFrame, samplers: dict[str, Sampled]) -> str:
    """Paragraphs for the image datasets of a suite; empty if it has none."""
    sets = image_sets(frame)
    if not sets:
        return ""
    found = [kind for kind in ABOUT if any(kind in kinds(frame, dataset) for dataset in sets)]
    said = "; ".join(f"*{kind}* ({ABOUT[kind]}{_drawn(samplers.get(kind, {}))})" for kind in found)
    protocols = " ".join(filter(None, (_protocol(frame, dataset) for dataset in sets)))
    return "\n\n".join([KINDS.format(kinds=said or "none yet"), READ, EXTRACTOR.format(protocols=protocols).strip()])


def _drawn(samplers: Sampled) -> str:
    """Who drew them, if somebody wrote it down."""
    by = [f"by `{sampler}` for {names(methods)}" for sampler, methods in samplers.items() if sampler != CHAINS]
    return f", {', '.join(by)}" if by else ""


def _protocol(frame: pd.DataFrame, dataset: str) -> str:
    """What all values of FID rest on, and the numbers of samples: as the rows say."""
    rows = frame[(frame["dataset"] == dataset) & frame["value"].notna() & (frame["protocol"] != "")]
    rows = rows[rows["metric"] == ("fid" if (rows["metric"] == "fid").any() else RATIO)]
    if rows.empty:
        return ""
    first, *others = [text.split("; ") for text in dict.fromkeys(rows["protocol"])]
    shared = "; ".join(part for part in first if all(part in other for other in others))
    counts = [str(n) for n in sorted(set(rows["n"].dropna()))]
    samples = f"{counts[0]} to {counts[-1]}" if len(counts) > 1 else "".join(counts) or "an unknown number of"
    return f"On `{dataset}` FID is of {samples} samples{f', by *{shared}*' if shared else ''}."
