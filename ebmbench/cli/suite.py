"""`ebmbench suite`: which suites there are, and writing one into `params.yaml`, in plain sight."""

import argparse
from pathlib import Path
from typing import Any

from ebmbench.cli.command import add_command


def add(commands: Any) -> None:
    """Register the command."""
    text = "List the suites, or write one into params.yaml"
    command = add_command(commands, "suite", text, "ebmbench suite use toy2d", act)
    command.add_argument("action", choices=["list", "use"])
    command.add_argument("name", nargs="?", help="a file of suites/, without .yaml")
    command.add_argument("--force", action="store_true", help="drop edits of params.yaml that are in no suite")


def act(arguments: argparse.Namespace) -> int:
    """List or use."""
    from ebmbench.config import suites

    root = Path.cwd()
    if arguments.action == "list":
        for name, text in suites.available(root).items():
            print(f"{name:<12} {text}")
        return 0
    suites.use(root, arguments.name or "", force=arguments.force)
    print(f"params.yaml is now suite '{arguments.name}'")
    return 0
