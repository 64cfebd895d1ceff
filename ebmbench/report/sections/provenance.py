"""Where the numbers come from, and the commands that make them again."""

from collections.abc import Mapping

from ebmbench.report.results.suite import Results
from ebmbench.report.text.tables import markdown_table

TITLE = "Provenance"
ORDER = 130
FOLD = "All versions and hashes, and how to rebuild"


def text(results: Results) -> str:
    """The facts about the suite's runs."""
    return render_provenance(results.provenance)


def render_provenance(facts: Mapping[str, str]) -> str:
    """One line for the reader; all facts and the commands folded below."""
    named = {name: f"{name} {facts[name]}" for name in ("ebmbench", "Python", "torch") if name in facts}
    commit, _, changes = facts.get("commit", "").partition(" ")
    cores = f"{facts['cores']} cores" if "cores" in facts else ""
    machine = [facts.get("system", ""), facts.get("processor", ""), cores, facts.get("memory", "")]
    line = " · ".join(filter(None, [f"Commit `{commit[:10]}` {changes}".strip(), *named.values(), *machine]))
    shown = [[name, value] for name, value in facts.items() if name != "rebuild"]
    own = "# or, in an environment of your own (pip install -e .):\ndvc repro"
    commands = f"```sh\n{facts.get('rebuild', '')}\n{own}\n```"
    table = markdown_table(["what", "value"], shown, left=2)
    return f"{line}\n\n<details>\n<summary>{FOLD}</summary>\n\n{table}\n\n{commands}\n\n</details>"
