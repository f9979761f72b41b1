"""The command `repro hosts`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from harness.errors import UsageError
from harness.store import root_of
from harness.terminal import say

HOLDS, NOT_RUN = 0, 3

_HOSTS = """\
Connect to hosts and say what they have: pools, GPUs (slots) with name, arch and the end of the UUID, and who holds
which since when. Changes nothing.

  repro hosts                              the hosts of the project's pools, and those that have settings
  repro hosts p1 pool:h100                 these

Exit status: 0 every host answered, 2 wrong usage, 3 some did not.
"""


def add(commands: Any) -> None:
    """Add the command."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = commands.add_parser(
        "hosts", help="pools, GPUs, and who holds what", description=_HOSTS, formatter_class=raw
    )
    parser.add_argument("names", nargs="*", metavar="HOST", help="a host of ssh_config, GPUs of one, or a pool")
    parser.set_defaults(command=_hosts)


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
        say("no hosts: name one of ssh_config, as in `repro hosts p1`, or write [tool.repro.pools.NAME]")
        return HOLDS
    chosen = {name: members for name, members in pools.items() if not wanted or f"pool:{name}" in arguments.names}
    text, all_answered = listing.report(chosen, pooled, machines)
    say(text)
    return HOLDS if all_answered else NOT_RUN
