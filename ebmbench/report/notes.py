"""What a reader must know of single methods before comparing them; each note is there if its methods are."""

from collections.abc import Sequence

from ebmbench.report.prose import names
from ebmbench.report.sampled import Sampled

SMOOTHED = (
    "For {methods} the density that is learned and judged is that of the data *smoothed* by noise of deviation σ (of "
    "several levels, the narrowest), so that even a perfect fit has a KL above zero; `kl_target` compares with the "
    "smoothed data."
)
SMOOTHED_IMAGES = (
    "For {methods} the density that is learned and sampled is that of the data *smoothed* by noise of deviation σ (of "
    "several levels, the narrowest)."
)
SSM_ON_IMAGES = "On images `ssm` learns smoothed data too."
STARTS = (
    "{methods} differ in where their training chains start (unless their settings say otherwise): those of `cd` at "
    "the data, those of {others} at noise, to go on in a persistent buffer; compare their rows to see its effect."
)
DEFAULTS = (
    "On toy data the default settings of all methods were chosen alike: the same number of trials for each, on "
    "development seeds that no report shows; `reports/tuning/report.md` lists the trials."
)
SAMPLERS = (
    "Samples were drawn {samplers}: where samplers differ, metrics of samples compare methods and samplers together."
)


def notes(methods: Sequence[str], samplers: Sampled, plane: bool = True, images: bool = False) -> str:
    """One paragraph for the methods of a suite, whose data are points in a plane, images, or both."""
    smoothed = [name for name in methods if name in (("dsm", "ncsn") if plane else ("dsm", "ssm", "ncsn"))]
    chains = [name for name in methods if name in ("mle", "cd", "adance", "adabrm")]
    parts = []
    if smoothed:
        parts.append((SMOOTHED if plane else SMOOTHED_IMAGES).format(methods=names(smoothed)))
    if plane and images and "ssm" in methods:
        parts.append(SSM_ON_IMAGES)
    others = [name for name in chains if name != "cd"]
    if others and others != chains:
        parts.append(STARTS.format(methods=names(chains), others=names(others)))
    if samplers:
        parts.append(_samplers(samplers))
    return " ".join([*parts, DEFAULTS] if plane else parts)


def _samplers(samplers: Sampled) -> str:
    by = [f"by `{sampler}` for {names(methods)}" for sampler, methods in samplers.items()]
    return SAMPLERS.format(samplers=", ".join(by)) if len(by) > 1 else f"Samples were drawn {by[0]}."
