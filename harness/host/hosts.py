"""The hosts of repros: `embedded` (the emulator here), `local` (this machine's CUDA device), and hosts over SSH.

A name is a host over SSH if there are settings for it, if ssh_config knows it, or if it has the form user@host.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from dsl import native_library
from harness.claim.repro_file import DEFAULT_GPU_MODEL, MODELS_BY_ARCH
from harness.compiler_name import OURS
from harness.host.settings import Settings
from harness.run import hardware
from harness.run.transport import Local, Transport

PROBE_TIMEOUT_S = 60


class HostError(Exception):
    """The host is unknown; the text lists the hosts."""


class NoDevice(HostError):
    """The host is known and cannot be used; the text names the reason and what to do."""


def _chosen_gpu_model() -> str:
    """The GPU that the emulator is to be, or ''; DSL_GPU_MODEL is the variable of 0.1."""
    return os.environ.get("GPU_REPRO_GPU_MODEL") or os.environ.get("DSL_GPU_MODEL") or ""


@dataclass(frozen=True)
class Host:
    """A place with a device, and who compiles there: ours, nvidia (what is installed there) or nvidia==RELEASE.

    `gpu_model` is the GPU that the emulator there is to be; '' if nobody chose one.

    `device_facts` (name, driver, arch, uuid) are what a probe found, empty for the emulator.

    The device of a host over SSH is "unknown" until a repro first needs the host: see fleet/ssh_slots.py.
    """

    name: str
    device: str
    connect: Callable[[], Transport] = Local
    settings: Settings = field(default_factory=Settings)
    device_facts: dict[str, Any] = field(default_factory=dict)
    compiler: str = OURS
    gpu_model: str = field(default_factory=_chosen_gpu_model)

    @property
    def is_hardware(self) -> bool:
        return not hardware.missing({**self.device_facts, "kind": self.device})

    def describe(self) -> str:
        """`local (NVIDIA H200, sm_90, driver 570.1)`"""
        if self.device == "unknown":
            return f"{self.name} (over SSH)"
        facts = self.device_facts
        if self.device == "cuda" and not self.is_hardware:
            lacks = hardware.missing({**facts, "kind": self.device})
            return f"{self.name} ({facts.get('name', 'cuda')}: not hardware, it {lacks})"
        if not self.is_hardware:
            model = f" as {self.gpu_model}" if self.computes_as else ""
            return f"{self.name} ({self.device}{model})"
        return f"{self.name} ({facts['name']}, {facts['arch']}, driver {facts['driver']})"

    def environment(self) -> str:
        """The source of the Python that runs repros there, and of its packages."""
        if self.settings.python:
            return f"{self.settings.python}, the host's setting `python`"
        if self.settings.workdir:
            return f"the project {self.settings.workdir}, the host's setting `workdir`"
        if self.name not in _HOSTS:
            return f"made there by uv from what the repro needs, in {self.settings.cache}"
        from harness.host.environment import releases  # noqa: PLC0415

        if releases.split(self.compiler)[1]:
            return f"made by uv for {self.compiler}, in {releases.cache_folder()}"
        return f"the one of this command, {sys.prefix}"

    @property
    def computes_as(self) -> str:
        """The GPU model that was asked for of an emulator, or ''."""
        return "" if self.is_hardware or self.gpu_model == DEFAULT_GPU_MODEL else self.gpu_model

    def model_for(self, arch: str | None) -> str:
        """The GPU that the emulator is for a repro that needs `arch`, '' for its default."""
        return self.gpu_model or MODELS_BY_ARCH.get((arch or "").rstrip("af"), "")

    def is_gpu(self, model: str, arch: str | None = None) -> bool:
        """Whether its device is this GPU model (`h100`, `rtx4090`), or an emulator that is, for `arch`."""
        if not self.is_hardware:
            return model == (self.model_for(arch) or DEFAULT_GPU_MODEL)
        words = re.split(r"[^a-z0-9]+", str(self.device_facts.get("name", "")).lower())
        return model in words or model in [one + other for one, other in zip(words, words[1:], strict=False)]

    def other_silicon(self, model: str, arch: str | None = None) -> str:
        """Why this host cannot judge a claim about the bits of this GPU model, by a repro that needs `arch`, or ''."""
        if not model or self.is_gpu(model, arch):
            return ""
        mine = self.model_for(arch) or DEFAULT_GPU_MODEL
        other = self.describe() if self.is_hardware else f"{self.name} computes as {mine}"
        return f'the claim states `silicon = "{model}"`, but {other}'

    def shortfall(self, arch: str | None) -> str:
        """Why this host cannot show a feature that needs `arch`, or ''. The emulator shows all it knows."""
        if not self.is_hardware or arch is None:
            return ""
        has, needs = (int(re.sub(r"\D", "", name)) for name in (self.device_facts["arch"], arch))
        return f"needs {arch}; {self.describe()} is older" if has < needs else ""


def resolve(
    name: str, settings: Mapping[str, Settings] | None = None, note: Callable[[str], None] | None = None
) -> Host:
    """The host called `name`; `note` takes what is worth telling while it works. Raises HostError (NoDevice)."""
    if name in _HOSTS:
        return _HOSTS[name](note)
    from harness.host import slurm  # noqa: PLC0415
    from harness.host.connection import ssh  # noqa: PLC0415

    settings = settings or {}
    if slurm.is_target(name):
        return Host(name, "unknown", slurm.not_alone, slurm.settings_of(name, settings))
    chosen = settings.get(name, Settings())
    try:
        address = ssh.lookup(name)
        if address and (chosen.is_listed or address.is_configured):
            return _over_ssh(address, chosen, note)
        listed = [name for name in settings if settings[name].is_listed]
        names = dict.fromkeys([*_HOSTS, *listed, *ssh.configured_names()])
    except ssh.CannotConnect as error:
        raise HostError(f"host {name}: {error}") from None
    near = difflib.get_close_matches(name, names, 1)
    fix = f"write {near[0]!r}" if near else "give ~/.ssh/config a `Host` of that name, or write user@address"
    raise HostError(f"unknown host {name!r}: the hosts are {', '.join(names)}\nfix: {fix}")


def under(host: Host, compiler: str, note: Callable[[str], None] | None = None) -> Host:
    """The host with this compiler. Raises HostError where a release cannot be brought there, BadCompiler."""
    from harness.host.environment import releases  # noqa: PLC0415

    connect = host.connect
    if releases.split(compiler)[1]:
        if host.settings.python or host.settings.workdir:
            key = "python" if host.settings.python else "workdir"
            raise HostError(
                f"--compiler {compiler} needs its own environment on {host.name}, but the settings name "
                f"another\nfix: remove `{key}` of this host, or run `--compiler nvidia` with the release that is "
                "installed there"
            )
        if host.name in _HOSTS:

            def connect() -> Transport:
                return releases.Released(compiler, note)

    return replace(host, compiler=compiler, connect=connect)


def _over_ssh(address: Any, settings: Settings, note: Callable[[str], None] | None) -> Host:
    from harness.host.connection.connection import Remote  # noqa: PLC0415

    return Host(address.alias, "unknown", lambda: Remote(address, settings, note), settings)


def _embedded(note: Callable[[str], None] | None = None) -> Host:
    try:
        native_library.here()
    except native_library.BuildError as error:
        raise NoDevice(f"host embedded: {error}") from None
    return Host("embedded", "emulator", lambda: _here(note))


def _here(note: Callable[[str], None] | None) -> Transport:
    from harness.host.environment.peers import Here  # noqa: PLC0415

    return Here(note)


def _local(note: Callable[[str], None] | None = None) -> Host:
    probe = [sys.executable, "-c", PROBE]
    try:
        done = subprocess.run(probe, capture_output=True, text=True, timeout=PROBE_TIMEOUT_S, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        raise NoDevice(f"host local: the CUDA driver did not answer within {PROBE_TIMEOUT_S} s") from None
    if done.returncode != 0:
        why = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
        raise NoDevice(
            f"host local: this machine has no CUDA device that can be used: {why}\n"
            "fix: name no host: the emulator runs it then"
        )
    return Host("local", "cuda", lambda: _here(note), device_facts=json.loads(done.stdout)[0])


_HOSTS = {"embedded": _embedded, "local": _local}

# Run in a separate process: one that has initialised CUDA can no longer fork.
PROBE = """
import ctypes, json, sys
try:
    cuda = ctypes.CDLL("libcuda.so.1")
except OSError as error:
    sys.exit(f"there is no NVIDIA driver ({error})")
def call(name, *arguments):
    code = getattr(cuda, name)(*arguments)
    if code:
        sys.exit(f"{name} answers CUDA error {code}")
call("cuInit", 0)
count, version = ctypes.c_int(), ctypes.c_int()
call("cuDeviceGetCount", ctypes.byref(count))
if not count.value:
    sys.exit("the driver sees no device")
call("cuDriverGetVersion", ctypes.byref(version))
try:
    with open("/sys/module/nvidia/version") as file:
        driver = file.read().strip()
except OSError:
    driver = f"CUDA {version.value // 1000}.{version.value % 1000 // 10}"
    try:
        nvml, text = ctypes.CDLL("libnvidia-ml.so.1"), ctypes.create_string_buffer(81)
        if nvml.nvmlInit_v2() == 0 and nvml.nvmlSystemGetDriverVersion(text, 81) == 0:
            driver = text.value.decode()
    except (OSError, AttributeError):
        pass
gpus = []
for number in range(count.value):
    device, major, minor = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
    call("cuDeviceGet", ctypes.byref(device), number)
    name, uuid = ctypes.create_string_buffer(256), (ctypes.c_ubyte * 16)()
    call("cuDeviceGetName", name, 256, device)
    call("cuDeviceGetAttribute", ctypes.byref(major), 75, device)
    call("cuDeviceGetAttribute", ctypes.byref(minor), 76, device)
    call("cuDeviceGetUuid", ctypes.byref(uuid), device)
    arch = f"sm_{major.value}{minor.value}"
    gpus.append({"name": name.value.decode(), "arch": arch, "driver": driver, "uuid": bytes(uuid).hex()})
print(json.dumps(gpus))
"""
