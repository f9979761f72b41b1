"""The commands `repro hosts` and `repro doctor`, and the options about hosts."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from harness.claim import as_days
from harness.cli import document
from harness.errors import UsageError
from harness.session import Session
from harness.store import root_of
from harness.verbosity import note

HOLDS, NOT_RUN = 0, 3

_HOSTS = """\
Connect to hosts and list what they have: pools, GPUs (slots) with name, arch and the end of the UUID, and who holds
which GPU since when. Changes nothing.

  repro hosts                              the hosts of the project's pools, and those that have settings
  repro hosts p1 pool:h100                 these

Exit status: 0 every host answered, 2 wrong usage, 3 some did not.
"""

_DOCTOR = """\
Show what is there, what is missing and what needs it, and the command that brings it. Changes nothing without --fix and
--prune. Without HOST it is about this machine, with the environments of compiler releases. On a host over SSH its uv is
asked for the packages of a first run, so a proxy, certificate, disk or quota in the way is named, with its cure.

  repro doctor                             this machine
  repro doctor p1                          a host of ssh_config
  repro doctor p1 --fix                    and remove what earlier runs left there

Exit status: 0 repros can run there, 3 they cannot.
"""


def add(commands: Any) -> None:
    """Add the commands."""
    parser = document.command(commands, "hosts", "pools, GPUs, and who holds what", _HOSTS, _hosts)
    parser.add_argument("names", nargs="*", metavar="HOST", help="a host of ssh_config, GPUs of one, or a pool")
    doctor = document.command(commands, "doctor", "what a host has and lacks", _DOCTOR, _doctor)
    doctor.add_argument(
        "host",
        nargs="?",
        default="embedded",
        metavar="HOST",
        help="local, a host of ssh_config, or a pool (default: this machine)",
    )
    doctor.add_argument("--fix", action="store_true", help="remove what earlier runs left there")
    doctor.add_argument(
        "--prune", type=as_days, metavar="DAYS", help="remove environments that nobody used for this many days"
    )
    add_settings(doctor)


def add_settings(parser: argparse.ArgumentParser) -> None:
    """Add --set and --bootstrap."""
    parser.add_argument(
        "--set", dest="settings", action="append", default=[], metavar="KEY=VALUE", help="change a setting of the host"
    )
    parser.add_argument("--bootstrap", action="store_true", help="bring uv to a host that has none")


def settings_of(arguments: argparse.Namespace) -> list[str]:
    """The settings of the command line as the session takes them."""
    return [*for_every_host(arguments.settings), *(["*.bootstrap=true"] if arguments.bootstrap else [])]


def for_every_host(settings: list[str]) -> list[str]:
    """The values of --set as the session takes them. Raises UsageError."""
    if wrong := next((text for text in settings if "=" not in text), None):
        raise UsageError(f"--set {wrong}: write KEY=VALUE, as in workdir=~/code/kestrel")
    return [f"*.{text}" for text in settings]


def _hosts(arguments: argparse.Namespace) -> int:
    from harness.fleet import listing, targets
    from harness.host import hosts, settings

    root = root_of(Path.cwd() / "pyproject.toml")
    try:
        pools = settings.pools(root)
        by_host = settings.load(root)
        listed = [name for name, one in by_host.items() if one.is_listed]
        wanted = [targets.parse(name, pools) for name in arguments.names]
        pooled = [targets.parse(f"{targets.PREFIX_POOL}{name}", pools) for name in pools]
        shown = wanted or [*pooled, *(targets.parse(name, pools) for name in listed)]
        names = dict.fromkeys(member.host for target in shown for member in target.members if not target.is_here)
        machines = {name: hosts.resolve(name, by_host) for name in names}
    except (settings.BadSettings, targets.BadTarget, hosts.HostError) as error:
        raise UsageError(str(error)) from None
    if not machines:
        fix = "name one of ssh_config, as in `repro hosts p1`, or write [tool.repro.pools.NAME] in pyproject.toml"
        text = f"no hosts: {fix}"
        document.give(arguments, {"pools": {}, "hosts": []}, text)
        return HOLDS
    chosen = {name: members for name, members in pools.items() if not wanted or f"pool:{name}" in arguments.names}
    text, table = listing.look(chosen, pooled, machines)
    document.give(arguments, table, text)
    return NOT_RUN if any(one["problem"] for one in table["hosts"]) else HOLDS


def _doctor(arguments: argparse.Namespace) -> int:
    from harness.host import doctor

    root = root_of(Path.cwd() / "pyproject.toml")
    session = Session(root, [arguments.host], False, settings_of(arguments), note)
    prune_s = None if arguments.prune is None else arguments.prune * 86400
    looks = [doctor.look(host, arguments.fix, prune_s) for host in session.machines()]
    document.give(arguments, {"hosts": [table for _, table in looks]}, "\n\n".join(text for text, _ in looks))
    return HOLDS if all(table["ready"] for _, table in looks) else NOT_RUN
