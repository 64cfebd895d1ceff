"""Work inside a clone is done by the clone's own code: Python looks there first, whatever is installed."""

import os
import subprocess
import sys
from pathlib import Path

from ebmbench.core.errors import UserError
from pipelines.dvc_cli import environment
from pipelines.supervise import complaint
from pipelines.workspace import at, read_mapping

_DATA = "EBMBENCH_DATA"
# What `ebmbench run` does before it plans: check the parameters, remove old cells, fill `work/` from `runs/`.
_READY = """\
import sys
from pathlib import Path
from ebmbench.core.errors import UserError
from ebmbench.core.params import load_params
from ebmbench.stages import workspace
try:
    workspace.ready(Path(), load_params(Path()))
except UserError as error:
    sys.exit(f"error: {error}")
"""


def variables(folder: Path, workspace: Path) -> dict[str, str]:
    """The environment of everything that runs in the clone: its code, and the files that the workspace has."""
    path = os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")]))
    data = _data(folder, workspace)
    return {"PYTHONPATH": path, **({_DATA: str(data)} if data else {})}


def make_ready(folder: Path, suite: str | None) -> None:
    """Write the suite, if one is asked for, into the clone's `params.yaml`, and make the clone ready for a plan."""
    if suite:
        _python(folder, "-m", "ebmbench", "suite", "use", suite, "--force")
    if (folder / "ebmbench" / "stages" / "workspace.py").exists():
        _python(folder, "-c", _READY)


def _data(folder: Path, workspace: Path) -> Path | None:
    """Where image files are: a clone has none of the workspace's that Git does not know, and would download them."""
    if named := os.environ.get(_DATA):
        return workspace / named  # which is `named` itself if it is absolute
    own = at(read_mapping(folder / "params.yaml"), "data.root")
    place = Path(str(own)).expanduser() if own else Path("work/downloads")
    here = workspace / place
    return here if not place.is_absolute() and here.is_dir() and not (folder / place).exists() else None


def _python(folder: Path, *arguments: str) -> None:
    command = [sys.executable, *arguments]
    done = subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True, check=False)
    if done.returncode:
        raise UserError(complaint(done.stderr) or f"{folder} could not be made ready: {done.stderr.strip()[-500:]}")
