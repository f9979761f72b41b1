"""Slots of a host over SSH: one for each GPU that was named, or several of the emulator where it has no GPU.

All of them share one connection and one agent. A GPU is known by its UUID from the moment it was found:
CUDA_VISIBLE_DEVICES, the lock and the record all use the UUID.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from harness.fleet.slots import Desk, Slot
from harness.fleet.targets import Member
from harness.host import hosts
from harness.host.connection.connection import Remote
from harness.host.hosts import Host
from harness.run.gpu_lock import device_name
from harness.run.transport import LinkDown


class SshHost:
    """The slots of one host. `width`: how many cases at once where it runs them on the emulator."""

    def __init__(self, member: Member, remote: Remote, host: Host, width: Callable[[], int] = lambda: 1) -> None:
        self.name, self.member, self.remote, self.host, self._width = member.text, member, remote, host, width

    def open(self, desk: Desk) -> None:
        for slot in self.slots():
            desk.offer(slot)

    def close(self) -> None:
        self.remote.end()

    def slots(self) -> list[Slot]:
        """Raises LinkDown where the host cannot be reached, or has not the GPUs that were named."""
        settings = self.host.settings
        if settings.device == "emulator" and self.member.gpus is None:
            self.remote.open()
            return self._emulated()
        rows, why = self.remote.devices(hosts.PROBE, hosts.PROBE_TIMEOUT_S, self.probe_variables())
        gpus = [facts for facts, _ in rows]
        if self.member.gpus is None:
            if gpus:
                return [self._slot(self.host.name, gpus[0], {})]
            if settings.device == "cuda":
                raise LinkDown(f"{self.host.name} has no CUDA device that can be used: {why}")
            return self._emulated()
        if not gpus:
            raise LinkDown(
                f"{self.host.name} has no CUDA device that can be used: {why}\n"
                f"fix: write `{self.host.name}`, which then runs on the emulator there"
            )
        return [
            self._slot(
                f"{self.host.name}:{number}",
                gpus[number],
                {"CUDA_VISIBLE_DEVICES": device_name(str(gpus[number]["uuid"]))},
            )
            for number in self._chosen(len(gpus))
        ]

    def probe_variables(self) -> dict[str, str]:
        """Variables of the probe: if GPUs are named, their numbers are the numbers of nvidia-smi."""
        settings = self.host.settings
        return settings.variables if self.member.gpus is None else {"CUDA_DEVICE_ORDER": "PCI_BUS_ID", **settings.env}

    def _chosen(self, count: int) -> list[int]:
        numbers = self.member.gpus or range(count)
        beyond = [number for number in numbers if number >= count]
        if beyond:
            name, one = self.host.name, "1 GPU, number 0" if count == 1 else f"{count} GPUs, numbers 0-{count - 1}"
            raise LinkDown(
                f"{self.member.text}: there is no GPU {beyond[0]} on {name}, which has {one}\n"
                f"fix: write `{name}:{f'0-{count - 1}' if count > 1 else 0}`"
            )
        return list(numbers)

    def _slot(self, name: str, facts: dict[str, Any], variables: dict[str, str]) -> Slot:
        return self._made(name, replace(self.host, device="cuda", device_facts=facts), variables)

    def _emulated(self) -> list[Slot]:
        width = self.host.settings.slots or self._width()
        host, name = replace(self.host, device="emulator", device_facts={}), self.host.name
        return [self._made(f"{name}/{number}" if width > 1 else name, host, {}) for number in range(width)]

    def _made(self, name: str, host: Host, variables: dict[str, str]) -> Slot:
        return Slot(name, self.host.name, host, self.remote.lane(name, variables), self._revive)

    def _revive(self) -> None:
        self.remote.open()
