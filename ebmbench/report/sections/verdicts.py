"""The health of the runs: methods with the same verdict in one row, with all reasons."""

from ebmbench.config.sections import Health
from ebmbench.report.results.frame import variant
from ebmbench.report.results.suite import Results
from ebmbench.report.results.verdicts import describe_side, describe_verdicts, rows_of_methods
from ebmbench.report.text.escaping import escape_text
from ebmbench.report.text.numbers import MISSING
from ebmbench.report.text.tables import markdown_table
from ebmbench.report.text.words import PROTOCOL, mask_numbers, merge_sentences

TITLE = "Health of the runs"
ORDER = 60
ABOUT = (
    "What to know of a run before believing its numbers: its density and its long chains are judged apart, the verdict "
    "is the worse of the two. [What the words mean]({protocol}#verdicts); limits here: R̂ above {r_hat}, fewer than "
    "{ess} effective draws, long runs {collapse} times as bad as short ones."
)
SIDES = ("density", "sampler")

Words = tuple[str, ...]  # verdict, both sides, and the reasons without their numbers


def text(results: Results) -> str:
    """The limits of this suite (a dataset's own are not named), and the table."""
    limits = Health().model_dump() | (results.params.get("metrics") or {}).get("health", {})
    about = ABOUT.format(protocol=PROTOCOL, **{name: f"{value:g}" for name, value in limits.items()})
    return f"{about}\n\n{_table(results)}"


def _table(results: Results) -> str:
    """A row for methods and datasets with the same verdicts; reasons that differ in numbers only are one."""
    sides = [side for side in SIDES if (results.frame[f"{side}_verdict"] != "").any()]  # none in earlier results
    found: dict[tuple[str, Words], list[str]] = {}  # methods
    reasons: dict[tuple[str, Words], list[str]] = {}
    for (dataset, method, settings), part in rows_of_methods(results.frame).groupby(
        ["dataset", "method", "settings"], sort=False
    ):
        own = [one for whole in part.drop_duplicates("label")["verdict_reason"] for one in whole.split("; ") if one]
        told = [describe_verdicts(part), *(describe_side(part, side) or MISSING for side in sides)]
        key = (str(dataset), (*told, *dict.fromkeys(mask_numbers(one) for one in own)))
        found.setdefault(key, []).append(variant(method, settings))
        reasons.setdefault(key, []).extend(own)
    sets: dict[tuple[str, Words], list[str]] = {}
    for (where, words), methods in found.items():
        sets.setdefault((", ".join(methods), words), []).append(where)
    rows = []
    for (names, words), among in sets.items():
        why = merge_sentences(one for where in among for one in reasons[where, words])
        shown = ", ".join(f"`{where}`" for where in among)
        rows.append([shown, names, *words[: 1 + len(sides)], escape_text("; ".join(why)) or MISSING])
    header = ("datasets", "methods", "verdict", *sides, "why")
    return markdown_table(header, rows, left=len(header))
