"""Releases of NVIDIA's compiler by number, `--compiler nvidia==4.6.3`: each in its own environment.

On this machine uv makes the environment on first use, in the user's cache folder: the release, and next to it what this
process has (torch, numpy, llvmlite), whose files uv links from its own cache. On a host over SSH the requirement joins
the requirements of the repro in the environment that is kept there.
"""

from __future__ import annotations

import functools
import importlib.metadata
import os
import re
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from harness.claim.repro_file import Repro
from harness.compiler_name import NVIDIA, OURS
from harness.host.environment import own_wheel, remote_env
from harness.run.transport import Job, LinkDown, Local, Start

PACKAGE = "nvidia-cutlass-dsl"
_FFI = "apache-tvm-ffi"  # for --enable-tvm-ffi; no release requires it
_TOOLS = ("nvidia-cuda-nvdisasm",)  # for CHECK-SASS, where this process has it
_LANGUAGES = {  # by package: name, module
    "quadrants": ("Quadrants", "quadrants"),
    "apache-tvm": ("TIRx", "tvm"),
    "apache-tvm-tirx": ("TIRx", "tvm_tirx"),
}
_OTHERS = {"triton": "Triton", "numba": "Numba", "tilelang": "TileLang"}  # by module: they bring their compiler
_NO_UV = (
    "this environment is made by uv, but uv is not installed\nfix: "
    "install uv as its page describes (https://docs.astral.sh/uv)"
)


class BadCompiler(Exception):
    """No compiler has this name; the text lists the names."""


def split(compiler: str) -> tuple[str, str]:
    """`nvidia==4.6.3` as `nvidia` and `4.6.3`, `nvidia` as `nvidia` and ``. Raises BadCompiler."""
    name, equals, release = compiler.partition("==")
    if name not in (OURS, NVIDIA) or (equals and (name == OURS or not re.fullmatch(r"\d+(\.\w+)+", release))):
        raise BadCompiler(f"--compiler {compiler}: there are ours, nvidia and its releases, as in nvidia==4.6.3")
    return name, release


def requirement(compiler: str) -> tuple[str, ...]:
    """The requirements of this compiler, without the needs of repros: the release, if one is named."""
    release = split(compiler)[1]
    return (f"{PACKAGE}=={release}", _FFI) if release else ()


def untaken(repro: Repro, compiler: str) -> str:
    """Why a compiler does not take a repro, or ''. NVIDIA's compiler takes only CuTe:
    a repro in another language would run the real package of that language."""
    if split(compiler)[0] != NVIDIA:
        return ""
    needs, modules = set(map(_language_of, repro.needs)), repro.imports
    for name, (language, module) in _LANGUAGES.items():
        if name in needs or module in modules:
            return f"written in {language}: NVIDIA's compiler does not take it"
    other = next((_OTHERS[name] for name in _OTHERS if name in modules and "cutlass" not in modules), "")
    return f"written in {other}: NVIDIA's compiler does not take it" if other else ""


def needs_of(repro: Repro, compiler: str) -> tuple[str, ...]:
    """The packages that a repro needs under this compiler. Under ours its language comes with our package.

    torch is needed by a repro that imports it, whether or not its block declares it.
    """
    own = [need for need in repro.needs if split(compiler)[0] != OURS or not _language_of(need)]
    if _imports_torch(repro) and "torch" not in map(own_wheel.name_of, own):
        own.append(own_wheel.torch())
    return (*own, *requirement(compiler))


def _imports_torch(repro: Repro) -> bool:
    return "torch" in repro.imports or re.search(r"\bcutlass(?:\.| import )torch\b", repro.text) is not None


def _language_of(need: str) -> str:
    """The package of a language that a requirement names, or ''."""
    name = re.sub(r"[-_.]+", "-", own_wheel.name_of(need))
    return name if name in _LANGUAGES else ""


class Released:
    """A transport to this machine under one release. An environment that could not be made is not tried again.

    `pins` are requirements that come before the versions of this process, as in `torch==2.8.0`.
    """

    def __init__(
        self, compiler: str, note: Callable[[str], None] | None = None, pins: Sequence[str] = (), name: str = ""
    ) -> None:
        self._compiler, self._note, self._pins = compiler, note, tuple(pins)
        self._name = name or ", ".join([*([compiler] if split(compiler)[1] else []), *self._pins])
        self._locals: dict[tuple[str, ...], Local] = {}  # by what the environment holds
        self._refusals: dict[tuple[str, ...], str] = {}

    def run(self, job: Job) -> tuple[dict[str, Any], list[bytes]]:
        needs = self.needs(job.needs)
        if needs in self._refusals:
            raise LinkDown(self._refusals[needs])
        if needs not in self._locals:
            start = functools.partial(self.start, needs)
            self._locals[needs] = Local(self._notify, start)
        return self._locals[needs].run(job)

    def close(self) -> None:
        while self._locals:
            self._locals.popitem()[1].close()

    def needs(self, own: Sequence[str]) -> tuple[str, ...]:
        """The packages in the environment for a repro with these needs."""
        tools = [name for name in _TOOLS if _version(name)]
        ffi = [_FFI] if self._compiler != OURS else []  # whose release a language may choose
        return tuple(_beside([*own_wheel.needs(), *ffi, *tools, *own], self._compiler, self._pins))

    def start(self, needs: tuple[str, ...]) -> Start:
        """The environment's Python, which imports our code from the cache. Raises LinkDown."""
        cache, ours = str(cache_folder()), own_wheel.ours()
        try:
            if remote_env.find_uv(cache) is None:
                raise remote_env.Refused(_NO_UV)
            if ours.sha256 not in remote_env.packages(cache):
                remote_env.keep_package(cache, ours.sha256, ours.wheel)
            environment = environment_of(self._compiler, needs)
            self._remove_broken(Path(cache, "envs", remote_env.environment_name(environment)))
            command = remote_env.prepare(environment, cache, ours.sha256, self._notify)
        except (remote_env.Refused, OSError) as error:
            self._refusals[needs] = f"{self._name} has no environment here: {error}"
            raise LinkDown(self._refusals[needs]) from None
        variables = {**os.environ, **command.variables}
        if os.environ.get("PYTHONPATH"):
            variables["PYTHONPATH"] += os.pathsep + os.environ["PYTHONPATH"]
        for name in ("PYTHONHOME", "PYTHONSTARTUP", "VIRTUAL_ENV"):
            variables.pop(name, None)
        return Start(command.argv, variables)

    def _remove_broken(self, path: Path) -> None:
        """Take an environment away in which files of the compiler are missing; it is made again."""
        lost = lost_files(path)
        if lost:
            self._notify(f"its environment lacks {lost[0].relative_to(path)} and is made again")
            shutil.rmtree(path, ignore_errors=True)

    def _notify(self, text: str) -> None:
        if self._note and not text.startswith("uv:  "):  # a line for each package
            self._note(f"{self._name}: {text}")


def cache_folder() -> Path:
    """The folder where environments are kept on this machine."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gpu-repro"


def environment_of(compiler: str, needs: Sequence[str]) -> dict[str, Any]:
    """What `remote_env.prepare` makes for a release on this machine: this Python, and torch of the same build."""
    local, release = _version("torch").partition("+")[2], split(compiler)[1]
    return {
        "kind": "managed",
        "requires": sorted({*needs, *([f"{PACKAGE}=={release}"] if release else [])}),
        "python": os.path.realpath(sys.executable),
        "torch_index": local or None,
        "variables": {},
        "bytecode": False,  # written as modules are imported: what most repros never import stays shared
    }


def _beside(needs: Sequence[str], compiler: str = NVIDIA, pins: Sequence[str] = ()) -> list[str]:
    """Requirements at the versions that this process has, except the compiler, what is pinned, and what does not take
    that version.

    NVIDIA's compiler without a release is the compiler of this process.
    """
    requirements, named = {}, {own_wheel.name_of(pin): pin for pin in pins}
    for need in [*needs, *([PACKAGE] if compiler == NVIDIA and pins else [])]:
        name = own_wheel.name_of(need)
        version = _version(name).partition("+")[0]
        if name != PACKAGE or (compiler == NVIDIA and pins):
            requirements[name] = _held(need, version) if version else need
    return sorted({**requirements, **named}.values())


def _held(need: str, version: str) -> str:
    """The requirement at a version, with its extras; as it is if it does not take that version, or cannot be read."""
    from packaging.requirements import InvalidRequirement, Requirement  # noqa: PLC0415

    try:
        wanted = Requirement(need)
    except InvalidRequirement:
        return need
    extras = f"[{','.join(sorted(wanted.extras))}]" if wanted.extras else ""
    takes = wanted.specifier.contains(version, prereleases=True)
    return f"{own_wheel.name_of(need)}{extras}=={version}" if takes else need


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""


def lost_files(path: Path) -> list[Path]:
    """The files that an environment has lost: its Python, files of the compiler that its own lists name."""
    python = path / "bin" / "python"
    lost = [python] if path.exists() and not os.access(python, os.X_OK) else []
    for record in path.glob(f"lib/python*/site-packages/{PACKAGE.replace('-', '_')}*.dist-info/RECORD"):
        top = record.parent.parent
        for line in record.read_text().splitlines():
            file = top / line.rsplit(",", 2)[0].strip('"')
            if file.suffix != ".pyc" and not file.exists():
                lost.append(file)
    return lost
