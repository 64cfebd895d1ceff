"""The DVC remote through which machines exchange outputs: a shared folder, SSH, S3 or any other with a run-cache."""

import re
import shutil
from functools import cache
from pathlib import Path

from ebmbench.errors import UserError
from pipelines.execution.dvc import run_dvc

_HAS_SCHEME = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]+://")
_LOCAL = Path(".dvc/config.local")  # ignored by Git: where passwords belong


def default_remote(root: Path) -> tuple[str, str]:
    """The name and address of the default remote; a folder is given as an absolute path."""
    lines = run_dvc(root, "config", "--list").splitlines()
    values = {key: value for key, _, value in (line.partition("=") for line in lines)}
    name = values.get("core.remote", "")
    if url := values.get(f"remote.{name}.url"):
        return name, url
    raise UserError(
        f"{root}: no default DVC remote, but machines exchange results through one: "
        "`dvc remote add --default store URL`, a folder, ssh:// or s3://…"
    )


def require_remote(root: Path) -> None:
    """Check that there is a default remote and that it can hold DVC's run-cache."""
    name, url = default_remote(root)
    if url.startswith(("http://", "https://")):
        raise UserError(f"remote '{name}': found {url}, allowed: a folder, ssh://, s3://…; HTTP has no run-cache")


def share_remote(source: Path, clone: Path) -> None:
    """Let a clone use the default remote of its source repository."""
    if (source / _LOCAL).exists():
        shutil.copyfile(source / _LOCAL, clone / _LOCAL)
    name, url = _remote_of(source)
    if not _HAS_SCHEME.match(url):  # a folder may be relative to the source
        run_dvc(clone, "remote", "add", "--local", "--force", "--default", name, url)


@cache
def _remote_of(source: Path) -> tuple[str, str]:
    require_remote(source)
    return default_remote(source)
