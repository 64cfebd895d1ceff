"""The performance profile: on which share of problems each method is within a factor of the best (`profiles.py`)."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from ebmbench.report.figures.theme import WIDTH, brief_name, line_style, plain_ticks, save
from ebmbench.report.results.suite import Results
from ebmbench.report.statistics.contests import find_contests
from ebmbench.report.statistics.profiles import Profile, find_profile, has_profile, title_of
from ebmbench.report.text.images import Image

SECTION = "ranking"
ORDER = 20

HEIGHT, KEYS = 2.9, 6  # inches without the legend, and its keys in a line
WIDEST = 100.0  # the largest factor
CAPTION = (
    "{what}: the share of the {count} {noun} on which a method's median is within a factor τ of the best one "
    "(Dolan & Moré 2002). The higher the better; at τ = 1 it is the share on which it is best."
)


def draw(results: Results, folder: Path) -> list[Image]:
    """A figure for each contest over four datasets or more."""
    images = []
    for contest in (one for one in find_contests(results) if has_profile(results, one)):
        if profile := find_profile(results, [contest]):
            file = f"profile-{'-'.join(filter(None, [contest.metric, contest.kind]))}.svg"
            images.append(draw_profile(profile, folder / file, contest.title, "datasets", title_of(contest)))
    return images


def draw_profile(profile: Profile, file: Path, what: str, noun: str, title: str) -> Image:
    """Steps from τ = 1 on; a marker stands where a line rises."""
    lines = -(-len(profile.names) // KEYS)
    figure = Figure(figsize=(WIDTH, HEIGHT + 0.25 * lines), layout="constrained")
    axis = figure.subplots()
    for place, name in enumerate(profile.names):
        x, y = _steps(profile, place)
        style = line_style(name, profile.names)
        axis.plot(x, y, drawstyle="steps-post", label=brief_name(name), linewidth=1.5, markersize=5, **style)
    axis.set(xscale="log", xlim=(0.97, WIDEST), ylim=(-0.03, 1.03))
    axis.set(xlabel="factor τ over the best median", ylabel=f"share of {noun}")
    plain_ticks(axis.xaxis, 1, WIDEST)
    figure.legend(loc="outside lower center", ncols=min(KEYS, len(profile.names)))
    save(figure, file)
    alt = f"Performance profile by {what} of {', '.join(profile.names)}."
    return Image(f"figures/{file.name}", alt, CAPTION.format(what=what, count=len(profile.ratios), noun=noun), title)


def _steps(profile: Profile, method: int) -> tuple[list[float], list[float]]:
    """Where the share rises, and how far, from 1 to the largest factor."""
    own = profile.ratios[:, method]
    x = [1.0, *(float(one) for one in np.unique(own[(own > 1) & (own < WIDEST)])), WIDEST]
    return x, [float((own <= factor).mean()) for factor in x]
