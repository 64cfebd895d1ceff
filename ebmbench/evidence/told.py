"""A claim's account as lines for a terminal."""

from collections.abc import Iterator

from ebmbench.core.registry import describe
from ebmbench.evidence.account import Account
from ebmbench.evidence.criterion import Criterion, Finding


def told(account: Account) -> str:
    """The claim, each criterion with its rule and numbers, and the verdict."""
    return "\n".join(_lines(account))


def _lines(account: Account) -> Iterator[str]:
    claim, entry = account.file.CLAIM, describe("claims", account.name)
    yield f"{account.name}: {entry.title} ({entry.paper})"
    for criterion, finding in zip(claim.criteria, account.decision.findings, strict=True):
        yield f"  {criterion.says}"
        yield f"    rule    {criterion.rule}"
        yield f"    found   {_numbers(criterion, finding)}"
        yield f"    →       {finding.verdict}{f' ({finding.note})' if finding.note else ''}"
    seeds = f"seeds {account.first} … {account.first + claim.seeds - 1}"
    yield f"  verdict: {account.decision.verdict} ({seeds})"


def _numbers(criterion: Criterion, finding: Finding) -> str:
    if finding.mean is None:
        return "no number"
    kind = "between" if criterion.exact else f"{100 * (1 - 2 * criterion.alpha):g} % limits"
    power = "" if finding.power is None else f", power {finding.power:.2f} at {criterion.expected:g}"
    return f"{finding.mean:.4g} ({kind} {finding.low:.4g} … {finding.high:.4g}), {len(finding.values)} seeds{power}"
