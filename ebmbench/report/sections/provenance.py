"""Where the numbers come from, and the commands that make them again."""

from collections.abc import Mapping

from ebmbench.report.results.suite import Results
from ebmbench.report.text.tables import markdown_table

TITLE = "Provenance"
ORDER = 130
FOLDED = "Commit, files, versions and machine, and the commands that make this report again"


def text(results: Results) -> str:
    """The facts about the suite's runs."""
    return render_provenance(results.provenance)


def render_provenance(facts: Mapping[str, str]) -> str:
    """The facts as a table, with the commands below."""
    shown = [[name, value] for name, value in facts.items() if name != "rebuild"]
    own = "# or, in an environment of your own (pip install -e .):\ndvc repro"
    commands = f"```sh\n{facts.get('rebuild', '')}\n{own}\n```"
    return f"{markdown_table(['what', 'value'], shown, left=2)}\n\nTo rebuild:\n\n{commands}"
