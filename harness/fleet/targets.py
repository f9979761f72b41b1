"""The values of `--gpu-host`: a host (`p1`), GPUs of one (`p1:0-7`, `p1:0,2`, `p1:all`), jobs of Slurm
(`slurm:PARTITION:gpu:4`), or a pool of the settings.

    [tool.repro.pools.h100]                    --gpu-host pool:h100
    hosts = ["p1:0-7", "p2:0-7"]

Two targets are two answers to the same question: everything runs on both. A pool is one target: its cases are spread
over all slots of its members.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

PREFIX_POOL = "pool:"
PREFIX_SLURM = "slurm:"
MOST_GPUS = 64  # of a host
_WORD = re.compile(r"[A-Za-z0-9_][\w.,:=-]*", re.ASCII)
_GPUS = re.compile(r"all|\d+(-\d+)?(,\d+(-\d+)?)*", re.ASCII)
HERE = ("embedded", "local")


class BadTarget(Exception):
    """It names no place to run; the text names the reason and what to write."""


@dataclass(frozen=True)
class Member:
    """One source of slots, as it was written. `gpus`: their numbers there, () for all, None where none was named."""

    text: str
    host: str
    gpus: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Target:
    """The places where cases run, under one name, which is in the ids of the cases."""

    name: str
    members: tuple[Member, ...]

    @property
    def is_pool(self) -> bool:
        return self.name.startswith(PREFIX_POOL)

    @property
    def is_slurm(self) -> bool:
        return self.name.startswith(PREFIX_SLURM)

    @property
    def is_here(self) -> bool:
        """Whether it is this machine, for which there is no connection to share."""
        return self.name in HERE

    def describe(self) -> str:
        """`pool:h100 (p1:0-7, p2:0-7)`, `p1:0-7 (over SSH)`"""
        if self.is_pool:
            return f"{self.name} ({', '.join(member.text for member in self.members)})"
        return f"{self.members[0].text} ({'jobs of Slurm' if self.is_slurm else 'over SSH'})"


def parse(text: str, pools: Mapping[str, tuple[str, ...]]) -> Target:
    """The target of one option. Raises BadTarget."""
    for prefix, read in PREFIXES.items():
        if text.startswith(prefix):
            return read(text, pools)
    one = member(text)
    return Target(one.host, (one,))


def member(text: str) -> Member:
    """A host, or GPUs of one. Raises BadTarget."""
    host, colon, numbers = text.partition(":")
    if not colon:
        return Member(text, text)
    if host in HERE:
        raise BadTarget(
            f"{text}: {host} is this machine and has one slot\nfix: write `{host}`, or make this machine a host of "
            f"ssh_config, as in `box:{numbers}`"
        )
    if not numbers and host:
        raise BadTarget(
            f"`{text}` names no GPU after the colon\nfix: write `{host}:0-7`, or `{host}` for its first GPU"
        )
    if not host or not _GPUS.fullmatch(numbers):
        raise BadTarget(
            f"{text}: {numbers!r} is not a list of GPUs\nfix: write numbers and ranges, as in "
            f"`{host or 'p1'}:0-7` or `{host or 'p1'}:0,2`, or `{host or 'p1'}:all`"
        )
    return Member(text, host, () if numbers == "all" else _numbers(text, numbers))


def _numbers(text: str, numbers: str) -> tuple[int, ...]:
    found: list[int] = []
    for part in numbers.split(","):
        first, _, last = part.partition("-")
        low, high = int(first), int(last or first)
        if high < low:
            raise BadTarget(f"{text}: the range {part} ends before it begins\nfix: write {high}-{low}")
        if high >= MOST_GPUS:
            raise BadTarget(f"{text}: GPU {high} is more than a host has\nfix: numbers begin at 0, as in nvidia-smi")
        found += range(low, high + 1)
    twice = next((number for number in found if found.count(number) > 1), None)
    if twice is not None:
        raise BadTarget(f"{text}: GPU {twice} is named twice\nfix: name it once")
    return tuple(sorted(found))


def _pool(text: str, pools: Mapping[str, tuple[str, ...]]) -> Target:
    name = text.removeprefix(PREFIX_POOL)
    if name not in pools:
        near = difflib.get_close_matches(name, pools, 1)
        known = f"the pools are {', '.join(pools)}" if pools else "pyproject.toml has none"
        table = f"[tool.repro.pools.{name or 'NAME'}] in pyproject.toml"
        fix = f"write `pool:{near[0]}`" if near else f'write {table} with hosts = ["p1:0-7"]'
        raise BadTarget(f"unknown pool {name!r}: {known}\nfix: {fix}")
    members = []
    for one in pools[name]:
        if one.startswith(PREFIX_POOL) or one in HERE:
            raise BadTarget(
                f"the pool {name} has {one!r}, which is not a host over SSH\nfix: name hosts, as in `p1:0-7`"
            )
        try:
            members.append(member(one))
        except BadTarget as error:
            raise BadTarget(f"the pool {name}: {error}") from None
    _refuse_overlap(name, members)
    return Target(text, tuple(members))


def _refuse_overlap(pool: str, members: list[Member]) -> None:
    """A GPU that a pool names twice would be two slots. Raises BadTarget."""
    for number, one in enumerate(members):
        for other in members[:number]:
            # `p1` is its first GPU, whichever that is
            if one.host == other.host and (not one.gpus or not other.gpus or set(one.gpus) & set(other.gpus)):
                raise BadTarget(
                    f"the pool {pool}: {other.text} and {one.text} have GPUs in common\nfix: name each GPU once"
                )


def _slurm(text: str, pools: Mapping[str, tuple[str, ...]]) -> Target:
    """`slurm:PARTITION`, `slurm:PARTITION:gpu:4`: jobs of a Slurm cluster, for as many GPUs as `gres` names."""
    _, partition, *gres = text.split(":", 2)
    if not _WORD.fullmatch(partition) or not all(map(_WORD.fullmatch, gres)):
        raise BadTarget(f"`{text}` names no partition\nfix: write `slurm:PARTITION` or `slurm:PARTITION:gpu:4`")
    name = PREFIX_SLURM + partition
    return Target(name, (Member(text, name, ()),))


# How a target may begin besides the name of a host, and who reads it.
PREFIXES: dict[str, Callable[[str, Mapping[str, tuple[str, ...]]], Target]] = {PREFIX_POOL: _pool, PREFIX_SLURM: _slurm}


def refuse_twins(targets: list[Target]) -> None:
    """Two targets of one name would have the same ids. Raises BadTarget."""
    seen: dict[str, Target] = {}
    for target in targets:
        if seen.setdefault(target.name, target) != target:
            both = [one.members[0].text for one in (seen[target.name], target)]
            joined = ",".join(text.partition(":")[2] for text in both if ":" in text)
            raise BadTarget(
                f"{target.name} is named twice, as {' and '.join(both)}\n"
                f"fix: name it once, as in `{target.name}:{joined}`"
            )
