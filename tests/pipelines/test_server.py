"""A Prefect server that does not start says why, in the line that the user gets."""

import sqlite3
from contextlib import ExitStack
from pathlib import Path

import pytest

from ebmbench.errors import UserError
from pipelines.flows import server
from pipelines.flows.server import start_server

BROKEN = """
import sys
print("12:00:00.123 | ERROR   | uvicorn.error - Traceback (most recent call last):")
print("  File 'x.py', line 1, in y")
print("sqlalchemy.exc.OperationalError: unable to open database file")
print("(Background on this error at: https://sqlalche.me)")
print()
print("12:00:00.456 | ERROR   | uvicorn.error - Application startup failed. Exiting.")
sys.exit(3)
"""
TAKEN = """
print("12:00:00.123 | ERROR   | uvicorn.error - [Errno 98] address already in use")
raise SystemExit(1)
"""
SLOW = """
import time
print("waiting for the database", flush=True)
time.sleep(100)
"""


def refusal(root: Path, code: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """What the user gets if the server's process is this program."""
    (root / "program.py").write_text(code)
    log = root / "work/flow/logs/prefect-server.log"
    log.parent.mkdir(parents=True)
    log.write_text("ValueError: of the run before\n")
    monkeypatch.setattr(server, "_APP", ["program"])
    with pytest.raises(UserError) as raised, ExitStack() as stack:
        start_server(root, stack)
    return str(raised.value).replace(str(log), "LOG")


@pytest.mark.parametrize(
    ("code", "line"),
    [
        (BROKEN, "exit code 3: sqlalchemy.exc.OperationalError: unable to open database file"),
        (TAKEN, "exit code 1: uvicorn.error - [Errno 98] address already in use"),
        ("raise SystemExit(7)", "exit code 7: it said nothing"),
    ],
)
def test_a_server_that_ends_is_quoted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, line: str) -> None:
    said = refusal(tmp_path, code, monkeypatch)
    assert said.startswith("the local Prefect server ended after ")
    assert said.endswith(f" s with {line} (log: LOG)")
    assert int(said.split("after ")[1].split()[0]) < 10


def test_a_server_that_does_not_answer_in_time_is_another_thing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS", "1")
    said = refusal(tmp_path, SLOW, monkeypatch)
    assert said.startswith("the local Prefect server did not answer within 1 s (PREFECT_SERVER_")
    assert said.endswith(": waiting for the database (log: LOG)")


@pytest.mark.slow  # a real server takes 10 s to find out
def test_the_database_of_a_newer_prefect_is_named_as_the_cause(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in server._QUIET.items():  # as `ebmbench run` sets them
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PREFECT_HOME", str(tmp_path))
    with sqlite3.connect(tmp_path / "prefect.db") as database:
        database.execute("create table alembic_version (version_num varchar(32) not null)")
        database.execute("insert into alembic_version values ('ffffffffffff')")
    database.close()
    with pytest.raises(UserError) as raised, ExitStack() as stack:
        start_server(tmp_path, stack)
    assert "with exit code 3: " in str(raised.value)
    assert "Can't locate revision identified by 'ffffffffffff'; another version of Prefect wrote" in str(raised.value)
