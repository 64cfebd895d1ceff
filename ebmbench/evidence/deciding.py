"""From what was measured to a verdict: one number per seed and criterion, then the rule that was fixed before."""

from collections.abc import Sequence
from dataclasses import dataclass

from ebmbench.evidence.claim import Arms, open_claim
from ebmbench.evidence.criterion import Finding, Verdict, judge, together


@dataclass(frozen=True)
class Decision:
    """The verdict on a claim, with the finding of each criterion in the claim's order."""

    verdict: Verdict
    findings: tuple[Finding, ...]


def decide(name: str, seeds: Sequence[Arms]) -> Decision:
    """Decide a claim by what was measured at these seeds."""
    file = open_claim(name)
    numbers = [file.statistics(arms) for arms in seeds]
    criteria = file.CLAIM.criteria
    findings = tuple(judge(one, [row[one.key] for row in numbers], len(criteria)) for one in criteria)
    return Decision(together(findings), findings)
