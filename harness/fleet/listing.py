"""`repro hosts`: pools, slots, and who holds what since when. It asks every host at once, and changes nothing."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

from harness.fleet.ssh_slots import SshHost
from harness.fleet.targets import Member, Target
from harness.host import hosts
from harness.host.hosts import Host
from harness.run.reply import Holder
from harness.run.transport import LinkDown


def report(
    pools: Mapping[str, Sequence[str]], targets: Sequence[Target], machines: Mapping[str, Host]
) -> tuple[str, bool]:
    """The text for a person, and whether every host answered."""
    text, table = look(pools, targets, machines)
    return text, not any(one["problem"] for one in table["hosts"])


def look(
    pools: Mapping[str, Sequence[str]], targets: Sequence[Target], machines: Mapping[str, Host]
) -> tuple[str, dict[str, Any]]:
    """The text for a person, and the same as data."""
    looks = {name: _Look(host, _named(name, targets)) for name, host in machines.items()}
    threads = [threading.Thread(target=look.ask) for look in looks.values()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lines = [f"pool:{name}  {', '.join(members)}" for name, members in pools.items()]
    lines += [""] * bool(lines)
    for look in looks.values():
        lines += look.lines()
    table = {
        "pools": {name: list(members) for name, members in pools.items()},
        "hosts": [one.as_table() for one in looks.values()],
    }
    return "\n".join(lines), table


def _named(host: str, targets: Sequence[Target]) -> dict[str, list[Member]]:
    """The targets that name GPUs of a host, and which."""
    found: dict[str, list[Member]] = {}
    for target in targets:
        for member in target.members:
            if member.host == host and target.is_pool:
                found.setdefault(target.name, []).append(member)
    return found


class _Look:
    """One host: what it has, or why it gives no answer."""

    def __init__(self, host: Host, named: dict[str, list[Member]]) -> None:
        self.host, self.named = host, named
        self.rows: list[tuple[dict[str, Any], Holder | None]] = []
        self.failure = self.why = ""

    def ask(self) -> None:
        remote: Any = self.host.connect()
        slots = SshHost(Member(f"{self.host.name}:all", self.host.name, ()), remote, self.host)
        try:
            self.rows, self.why = remote.devices(hosts.PROBE, hosts.PROBE_TIMEOUT_S, slots.probe_variables())
        except LinkDown as error:
            self.failure = str(error)
        finally:
            remote.close()

    def lines(self) -> list[str]:
        name = self.host.name
        if self.failure:
            head, *more = self.failure.splitlines()
            return [head if head.startswith(name) else f"{name}  {head}", *(f"    {line}" for line in more)]
        if not self.rows:
            count = self.host.settings.slots or 1
            return [f"{name}  {count} of the emulator: {self.why}"]
        facts = self.rows[0][0]
        free = sum(holder is None for _, holder in self.rows)
        gpus = f"{len(self.rows)} GPUs" if len(self.rows) > 1 else "1 GPU"
        lines = [f"{name}  {gpus}, {free} free, driver {facts['driver']}"]
        for number, (gpu, holder) in enumerate(self.rows):
            place = f"{name}:{number}"
            lines.append(f"  {place:8} {_about(gpu):40} {_state(holder):44} {' '.join(self._pools(number))}".rstrip())
        return lines

    def as_table(self) -> dict[str, Any]:
        driver = self.rows[0][0]["driver"] if self.rows else None
        return {
            "host": self.host.name,
            "problem": self.failure or None,
            "emulator": self.why if not (self.rows or self.failure) else None,
            "driver": driver,
            "gpus": [
                {
                    "slot": f"{self.host.name}:{number}",
                    "name": gpu["name"],
                    "arch": gpu["arch"],
                    "uuid": gpu.get("uuid"),
                    "holder": None
                    if holder is None
                    else {"user": holder.user or None, "process": holder.pid, "since": holder.since or None},
                    "pools": self._pools(number),
                }
                for number, (gpu, holder) in enumerate(self.rows)
            ],
        }

    def _pools(self, number: int) -> list[str]:
        """The pools that have this GPU."""
        return [
            target
            for target, members in self.named.items()
            if any(number in (m.gpus or (range(len(self.rows)) if m.gpus == () else (0,))) for m in members)
        ]


def _about(gpu: dict[str, Any]) -> str:
    return f"{gpu['name']} {gpu['arch']} {str(gpu.get('uuid', ''))[-8:]}"


def _state(holder: Holder | None) -> str:
    """`held by anna, process 4711, since 09:12 (3 min)`"""
    if holder is None:
        return "free"
    text = f"held by {holder.user or 'somebody'}, process {holder.pid}"
    if holder.since:
        seconds = max(time.time() - holder.since, 0)
        ago = f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
        when = time.strftime("%H:%M:%S", time.localtime(holder.since))
        text += f", since {when} ({ago})"
    return text
