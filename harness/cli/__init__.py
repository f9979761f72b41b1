"""The command `repro`: `main_command` is the door, each other module one command or a group of them."""

from harness.cli.main_command import main

__all__ = ["main"]
