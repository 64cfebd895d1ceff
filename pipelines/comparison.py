"""After a run: what moved since the suite's last release, told in one line and kept as a page.

A courtesy, as the artifacts are: whatever goes wrong here is said in that line, and the run is what it was.
"""

from dataclasses import replace
from pathlib import Path

from pipelines.outcome import Result
from pipelines.workspace import REPORT, suite_of


def attach(root: Path, result: Result) -> Result:
    """The result with the comparison, if this run made a report and there is a release to compare it with."""
    made = result.stages.get(REPORT)
    if result.stopped or made is None or not made.good:
        return result
    try:
        from ebmbench.compare.since import since_release

        since = since_release(root, suite_of(root))
    except Exception as error:
        words = " ".join(str(error).split()) or type(error).__name__
        return replace(result, since=f"not compared with the last release: {words}")
    return replace(result, since=since.line, comparison=since.path) if since else result
