"""Settings of hosts, from the user's file, the project's pyproject.toml and the command line; the later wins.

    # ~/.config/gpu-repro/hosts.toml            # pyproject.toml
    [p1]                                        [tool.repro.hosts.p1]
    workdir = "~/code/kestrel"                  torch_index = "cu126"

The keys are in MEANINGS and MEANINGS_JOB.
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
import os
import re
import shlex
import sys
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.claim.repro_file import KNOWN_KEYS, PROJECT_KEYS
from harness.terminal import say

MEANINGS = {
    "workdir": "a project on the host to run in, with `uv run --no-sync`; never changed",
    "python": "an interpreter on the host to run with, instead of an environment of ours",
    "torch_index": 'where the environment gets torch: a backend of uv ("cu126", "cpu", "auto") or the URL of an index',
    "bootstrap": "true: bring uv to a host that has none",
    "offline": "true: packages, uv, Python are fetched here and copied; false: never; without it, where needed",
    "python_archive": "for an offline host without a Python: an archive with one, a path or a URL here",
    "device": '"emulator" or "cuda", instead of the GPU where there is one',
    "gpu": "the number of the GPU to use there (CUDA_VISIBLE_DEVICES)",
    "slots": "how many cases run at once there where it has no GPU",
    "cache": "the folder for what we keep on the host (default ~/.cache/gpu-repro)",
    "env": "a table of environment variables for repros and for uv",
    "job": "of slurm targets: a table of what is asked of Slurm",
}
MEANINGS_JOB = {
    "login": "the alias of a login node; without it, this machine is one",
    "gres": "passed to sbatch as it is, if the target names none",
    "constraint": "passed to sbatch as it is",
    "time": "passed to sbatch as it is",
    "account": "passed to sbatch as it is",
    "sbatch": 'more options of sbatch, as in ["--mem=64G", "--qos=high"]',
    "array": "the number of jobs at once, at most (default 1)",
}
_FORMER = {"slurm": "login"} | {key: key for key in MEANINGS_JOB if key != "login"}  # in 0.2 next to the other settings


MOST_SLOTS = 64
_NAME = re.compile(r"[\w.-]+")
_PROJECT_TABLES = "[tool.repro.hosts.NAME] or [tool.repro.pools.NAME]"


class BadSettings(Exception):
    """A file or an option has something that is not a setting; the text names the place and the valid settings."""


@dataclasses.dataclass(frozen=True)
class JobSettings:
    """Requests to Slurm."""

    login: str | None = None
    gres: str | None = None
    constraint: str | None = None
    time: str | None = None
    account: str | None = None
    sbatch: Sequence[str] = ()
    array: int | None = None


@dataclasses.dataclass(frozen=True)
class Settings:
    """How repros run on one host."""

    workdir: str | None = None
    python: str | None = None
    torch_index: str | None = None
    bootstrap: bool = False
    offline: bool | None = None
    python_archive: str | None = None
    device: str | None = None
    gpu: int | None = None
    slots: int | None = None
    cache: str = "~/.cache/gpu-repro"
    env: Mapping[str, str] = dataclasses.field(default_factory=dict)
    job: JobSettings = JobSettings()
    is_listed: bool = False  # by a file, which makes the name a host; an option does not

    @property
    def variables(self) -> dict[str, str]:
        """Environment variables for what runs on the host."""
        chosen = {} if self.gpu is None else {"CUDA_VISIBLE_DEVICES": str(self.gpu)}
        return {**self.env, **chosen}

    def environment(self, needs: Sequence[str], python: str) -> dict[str, Any]:
        """What `remote_env.prepare` makes of these settings, for a repro with these needs."""
        table: dict[str, Any] = {"variables": self.variables}
        if self.python:
            return table | {"kind": "python", "python": self.python}
        if self.workdir:
            return table | {"kind": "project", "workdir": self.workdir}
        requires = _without_bare_names(needs)
        return table | {"kind": "managed", "requires": requires, "python": python, "torch_index": self.torch_index}


def _without_bare_names(needs: Sequence[str]) -> list[str]:
    """In order, without `numpy` next to `numpy>=2.0`: both name one environment."""
    matches = [_NAME.match(need) for need in needs if ";" not in need and not _NAME.fullmatch(need)]
    named = {match[0] for match in matches if match}
    return sorted({need for need in needs if need not in named})


_TYPES = {
    "bootstrap": bool,
    "offline": bool,
    "gpu": int,
    "slots": int,
    "array": int,
    "sbatch": list,
    "env": dict,
    "job": dict,
}


def user_file() -> Path:
    top = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(top) / "gpu-repro" / "hosts.toml"


def load(root: Path, options: Sequence[str] = ()) -> dict[str, Settings]:
    """The settings of every host that is named. `options` are `HOST.KEY=VALUE`. Raises BadSettings."""
    values_by_host: dict[str, dict[str, Any]] = {}
    project = root / "pyproject.toml"
    for path, table in ((user_file(), _read(user_file())), (project, _project_table(project, "hosts"))):
        for host, values in table.items():
            if not isinstance(values, dict):
                raise BadSettings(f"{path}: {host} = {values!r} is not a host: write a table [{host}]")
            values_by_host.setdefault(host, {}).update(_settings(f"{path}: {host}", values))
    listed = set(values_by_host)
    for option in options:
        name, equals, text = option.partition("=")
        host, dot, key = name.rpartition(".")
        if not equals or not dot or not host:
            raise BadSettings(f"--gpu-set {option}: write HOST.KEY=VALUE, as in p1.workdir=~/code/kestrel")
        is_of_job = host.endswith(".job") and key in MEANINGS_JOB
        host, values = (host[:-4], {"job": {key: _value(key, text)}}) if is_of_job else (host, {key: _value(key, text)})
        values_by_host.setdefault(host, {}).update(_settings(option, values))
    settings_by_host = {}
    for host, flat in values_by_host.items():
        job = {key[4:]: flat.pop(key) for key in list(flat) if key.startswith("job.")}
        settings_by_host[host] = Settings(**flat, job=JobSettings(**job), is_listed=host in listed)
    for host, settings in settings_by_host.items():
        if settings.python and settings.workdir:
            raise BadSettings(f"host {host} has both `python` and `workdir`: keep one")
    return settings_by_host


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text())
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BadSettings(f"{path}: {error}") from None


def pools(root: Path) -> dict[str, tuple[str, ...]]:
    """The pools of the project, each with its hosts as they are written. Raises BadSettings."""
    path, found = root / "pyproject.toml", {}
    for name, table in _project_table(path, "pools").items():
        where = f"{path}: [tool.repro.pools.{name}]"
        hosts = table.get("hosts") if isinstance(table, dict) else None
        if not isinstance(table, dict) or table.keys() - {"hosts"}:
            other = next((key for key in table if key != "hosts"), "") if isinstance(table, dict) else ""
            what = f"`{other}` is not a setting of a pool" if other else "it is not a table"
            raise BadSettings(f'{where}: {what}\nfix: a pool has hosts = ["p1:0-7", "p2:0-7"]')
        if not isinstance(hosts, list) or not hosts or not all(isinstance(one, str) for one in hosts):
            raise BadSettings(f'{where}: `hosts` = {hosts!r}\nfix: it is a list of hosts, as in ["p1:0-7", "p2:0-7"]')
        found[name] = tuple(hosts)
    return found


def _project_table(path: Path, last: str) -> dict[str, Any]:
    table: Any = _read(path)
    for key in ("tool", "repro", last):
        table = table.get(key, {})
        if not isinstance(table, dict):
            raise BadSettings(f"{path}: `{key}` of [tool.repro.{last}] is not a table")
        if key == "repro":
            if wrong := sorted(table.keys() - set(PROJECT_KEYS)):
                fix = "it in the block of a repro's file" if wrong[0] in KNOWN_KEYS else _PROJECT_TABLES
                what = f"`{wrong[0]}` is not a key of the project's settings"
                raise BadSettings(f"{path}: [tool.repro]: {what}\nfix: write {fix}")
    return table


def _settings(where: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a host in one table: `job.time` is `time` of the table `job`. Raises BadSettings."""
    flat: dict[str, Any] = {}
    for key, value in values.items():
        if key in _FORMER:
            _note_former(where, key)
            flat[f"job.{_FORMER[key]}"] = _checked(where, _FORMER[key], value, MEANINGS_JOB)
        elif key == "job" and isinstance(value, dict):
            flat |= {f"job.{name}": _checked(f"{where}: job", name, one, MEANINGS_JOB) for name, one in value.items()}
        else:
            flat[key] = _checked(where, key, value, MEANINGS)
    return flat


@functools.cache  # once a process
def _note_former(where: str, key: str) -> None:
    say(f"note: {where}: `{key}` is now `job.{_FORMER[key]}`; the old spelling ends with 0.4", sys.stderr)


def _checked(where: str, key: str, value: Any, meanings: Mapping[str, str]) -> Any:
    if key not in meanings:
        near = difflib.get_close_matches(key, meanings, 1)
        keys = "\n".join(f"    {name:14} {meaning}" for name, meaning in meanings.items())
        fix = f"write `{near[0]}`; " if near else ""
        what = "of a host" if meanings is MEANINGS else "in the table `job`"
        raise BadSettings(f"{where}: `{key}` is not a setting\nfix: {fix}the settings {what} are\n{keys}")
    wanted = _TYPES.get(key, str)
    bad_table = wanted is dict and isinstance(value, dict) and not all(isinstance(v, str) for v in value.values())
    bad_list = wanted is list and isinstance(value, list) and not all(str(v).startswith("-") for v in value)
    bad_device = key == "device" and value not in ("emulator", "cuda")
    most = {"slots": MOST_SLOTS, "array": sys.maxsize}.get(key)
    bad_count = most is not None and isinstance(value, int) and not 1 <= value <= most
    if type(value) is not wanted or bad_table or bad_list or bad_device or bad_count:
        raise BadSettings(f"{where}: `{key}` = {value!r}\nfix: it is {meanings[key]}")
    return value


def _value(key: str, text: str) -> Any:
    """The value that an option's text stands for."""
    if _TYPES.get(key) is bool and text in ("true", "false"):
        return text == "true"
    if _TYPES.get(key) is int and text.isdigit():
        return int(text)
    if _TYPES.get(key) is list:
        return shlex.split(text)
    if key == "env":
        name, _, value = text.partition("=")
        return {name: value}
    return text
