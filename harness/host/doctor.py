"""The state of a host: what is there, what is missing, and what to do about it."""

from __future__ import annotations

import time
from typing import Any

from harness.host import hosts, this_machine
from harness.host.environment import offline, own_wheel, releases, remote_env
from harness.host.hosts import Host
from harness.host.settings import Settings
from harness.run import reply
from harness.run.transport import LinkDown

LITTLE_BYTES = 12 << 30  # torch with its CUDA packages takes 6 GB, and uv's cache as much again


def examine(
    host: Host, fix: bool, prune_s: float | None = None, about: dict[str, Any] | None = None
) -> tuple[list[str], list[str]]:
    """Lines about the host, and what is wrong with it, each with what to do. Raises LinkDown.

    `about` gets the same as data.
    """
    transport: Any = host.connect()
    about = {} if about is None else about
    if not hasattr(transport, "doctor"):
        transport.close()
        found = this_machine.parts()
        about |= {"device": host.describe(), "parts": this_machine.as_data(found)}
        return [f"{host.describe()}: on this machine", *(one.line() for one in found), *_here(prune_s, about)], []
    try:
        started = time.monotonic()
        transport.open()
        connect_s = time.monotonic() - started
        answer = transport.doctor(fix, prune_s, 0 if host.settings.python or host.settings.workdir else LITTLE_BYTES)
        facts, why = transport.device(hosts.PROBE, hosts.PROBE_TIMEOUT_S)
        lack = transport.lacks(bool(facts) and host.settings.device != "emulator")
    finally:
        transport.close()
    about |= {
        "address": f"{transport.address.user}@{transport.address}",
        "connect_s": round(connect_s, 3),
        "python": answer.python,
        "uv": answer.uv_version if answer.uv else None,
        "device": _device(host.settings, facts, why),
        "runs_in": _place(host.settings),
        "package_index": _index_state(lack),
        "cache": answer.cache,
        "free_bytes": answer.free_bytes,
        "packages": answer.packages,
        "environments": [_as_table(one) for one in answer.environments],
        "pruned": list(answer.pruned),
        "left_runs": len(answer.left_runs),
        "left_processes": [pid for pid, _ in answer.left_processes],
    }
    lines = [
        f"{host.name}: {transport.address.user}@{transport.address}, connected in {connect_s:.2f} s",
        f"  Python of the agent  {answer.python}",
        f"  uv                   {_uv(answer)}",
        *(f"                       {one}" for one in answer.broken),
        f"  device               {_device(host.settings, facts, why)}",
        f"  runs in              {_place(host.settings)}",
        *_index(lack),
        f"  kept in              {answer.cache}: {_count(len(answer.environments), 'environment')}, "
        f"{_count(answer.packages, 'package')}, {answer.free_bytes / 1e9:.0f} GB free",
    ]
    lines += _environments(answer.environments, answer.pruned)
    lines.append(f"  left over            {_left(answer, fix)}")
    lines += [f"    process {pid}: {line[:100]}" for pid, line in answer.left_processes]
    return lines, _wrong(host, answer, facts, why, fix, lack)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("s" if number != 1 else "")


def _index(lack: offline.Lack | None) -> list[str]:
    """Whether the host gets packages itself; if not, what would change that, and what is copied there instead."""
    if lack is None:
        return []
    if lack.is_unknown:
        return ["  package index        not asked: there is no uv yet"]
    lines = [f"  package index        {'cannot be used: ' + lack.reason if lack.reason else 'answers'}"]
    lines += [f"                       {lack.certificates}"] if lack.certificates else []
    lines += [f"                       to use it: {lack.cure}"] if lack.cure else []
    if lack.reason and not lack.trouble:
        text = f"{lack.text}: the first run copies it from here" if lack.text else "nothing"
        lines.append(f"  missing              {text}")
    return lines


def _index_state(lack: offline.Lack | None) -> str | None:
    if lack is None or lack.is_unknown:
        return None
    return lack.reason or "answers"


def _as_table(one: reply.Environment) -> dict[str, Any]:
    return {"name": one.name, "used": one.used, "requires": list(one.requires)}


def _here(prune_s: float | None, about: dict[str, Any]) -> list[str]:
    """The environments that releases of NVIDIA's compiler have on this machine."""
    cache = str(releases.cache_folder())
    pruned = [] if prune_s is None else remote_env.prune(cache, prune_s)
    kept = [reply.read(reply.Environment, one) for one in remote_env.environments(cache)]
    about |= {"cache": cache, "environments": [_as_table(one) for one in kept], "pruned": pruned}
    if not (kept or pruned):
        return []
    return [f"  kept in              {cache}: {_count(len(kept), 'environment')}", *_environments(kept, pruned)]


def _environments(kept: list[reply.Environment], pruned: list[str]) -> list[str]:
    """When each was used last, and what it holds."""
    now = time.time()
    days = {one.name: max(int((now - one.used) // 86400), 0) for one in kept}
    lines = [f"    {one.name}  used {days[one.name]} days ago: {', '.join(one.requires)}" for one in kept]
    lines += [f"    {name}  now removed" for name in pruned]
    if kept:
        most, after = remote_env.KEPT_ENVIRONMENTS, int(remote_env.KEEP_UNUSED_S // 86400)
        lines.append(f"    at most {most} are kept, each {after} days unused; sooner: repro doctor HOST --prune DAYS")
    return lines


def report(host: Host, fix: bool = False, prune_s: float | None = None) -> tuple[str, bool]:
    """The text for a person, and whether the host can run repros."""
    text, table = look(host, fix, prune_s)
    return text, table["ready"]


def look(host: Host, fix: bool = False, prune_s: float | None = None) -> tuple[str, dict[str, Any]]:
    """The text for a person, and the same as data."""
    about: dict[str, Any] = {"host": host.name}
    try:
        lines, wrong = examine(host, fix, prune_s, about)
    except LinkDown as error:
        text = str(error)
        said = text if text.startswith(host.name) else f"{host.name}: {text}"
        return said, about | {"ready": False, "problems": [text]}
    text = "\n".join([*lines, *(["", *wrong] if wrong else ["ready"])])
    return text, about | {"ready": not wrong, "problems": wrong}


def _uv(answer: reply.Found) -> str:
    return f"{answer.uv_version} ({answer.uv})" if answer.uv else "none"


def _device(settings: Settings, facts: dict[str, Any] | None, why: str) -> str:
    if facts and settings.device != "emulator":
        return f"{facts['name']}, {facts['arch']}, driver {facts['driver']}"
    return "emulator, by its settings" if facts else f"emulator ({why})"


def _place(settings: Settings) -> str:
    if settings.python:
        return f"{settings.python} (`python` in its settings)"
    if settings.workdir:
        return f"{settings.workdir} (`workdir` in its settings), by `uv run --no-sync`"
    return "an environment of ours, made by uv when first needed"


def _left(answer: reply.Found, fix: bool) -> str:
    runs, processes = len(answer.left_runs), len(answer.left_processes)
    if not runs:
        return "nothing"
    return f"{runs} runs and {processes} processes" + (", now removed" if fix else "")


def _wrong(
    host: Host, answer: reply.Found, facts: dict[str, Any] | None, why: str, fix: bool, lack: offline.Lack | None
) -> list[str]:
    wrong, settings = [], host.settings
    if lack and lack.trouble:
        cure = f"\nfix: {lack.cure}" if lack.cure else ""
        wrong.append(f"it gets no packages, and they cannot be brought from here: {lack.trouble}{cure}")
    if not answer.uv and not settings.python and answer.broken:
        wrong.append(
            f"the uv there does not run\nfix: `repro doctor {host.name} --fix --bootstrap` removes one that was brought"
            ", and brings the uv of this machine; a uv of the host itself is mended or removed there"
        )
    elif not (answer.uv or settings.python or settings.bootstrap or (lack and not lack.is_unknown)):
        wrong.append(
            "there is no uv\nfix: `repro run --bootstrap`, `pytest --gpu-bootstrap` or `bootstrap = true` in its "
            "settings brings this machine's uv into the cache there"
        )
    if settings.device == "cuda" and not facts:
        wrong.append(f'its settings have device = "cuda", but there is no such device: {why}')
    managed = not (settings.python or settings.workdir)
    has_environment = any({*own_wheel.needs(), own_wheel.torch()} <= set(one.requires) for one in answer.environments)
    if managed and not has_environment and answer.free_bytes < LITTLE_BYTES:
        free = answer.free_bytes / 1e9
        wrong.append(
            f"{free:.0f} GB are free in {answer.cache}, and an environment with torch takes about "
            f"{LITTLE_BYTES >> 30} GB while it is made\nfix: name a larger disk, as in --gpu-set "
            f"{host.name}.cache=/scratch/gpu-repro"
        )
    elif managed and not has_environment and answer.disk:
        wrong.append(answer.disk)
    if answer.left_runs and not fix:
        wrong.append(f"an earlier run left something\nfix: repro doctor {host.name} --fix")
    return wrong
