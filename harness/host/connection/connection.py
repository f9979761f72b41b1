"""Running on a host over SSH: one connection and one agent for each host, whatever runs there at once.

The missing parts of an environment there are brought before a job is asked for. A call names its lane, and each lane
does one thing at a time.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from harness.host.connection.call_progress import Note
from harness.host.connection.link import Link, Offline, Way, understood
from harness.host.environment import offline, own_wheel, releases, wheels
from harness.host.settings import Settings
from harness.run import reply
from harness.run.transport import SLACK_S, WARM_S, Declined, Job, LinkDown

if TYPE_CHECKING:
    from harness.host.connection.ssh import Address

ENVIRONMENT_S = 3600.0  # to fetch several gigabytes
SASS_TOOLS = ["nvidia-cuda-nvcc>=13.0", "nvidia-cuda-nvdisasm>=13.0"]  # in an environment that we make


class Remote:
    """A transport to one host over SSH. It connects when first used; what refused once is not asked again."""

    def __init__(self, address: Address, settings: Settings, note: Note = None, way: Way | None = None) -> None:
        self.address, self.settings, self.note, self._way = address, settings, note, way
        self._link: Link | None = None
        self._refusal = ""
        self._opening, self._bringing = threading.Lock(), threading.Lock()
        self.is_offline = settings.offline is True

    def open(self) -> Link:
        """The link, made again after it was lost. Raises LinkDown."""
        with self._opening:
            if self._refusal:
                raise LinkDown(self._refusal)
            if self._link is None:
                try:
                    self._link = Link(self.address, self.settings, self._way)
                except LinkDown as error:
                    self._refusal = str(error)
                    raise
            return self._link

    def end(self) -> None:
        """Close it for good: what is asked from now on is refused."""
        self._refusal = self._refusal or "the run was ended"
        self.close()

    def lane(self, name: str, variables: Mapping[str, str]) -> Lane:
        """A transport over this connection for one thing at a time; other lanes work at the same time."""
        return Lane(self, name, variables)

    def device(self, probe: str, timeout_s: float) -> tuple[dict[str, Any] | None, str]:
        """The host's CUDA device from the probe, or None and why there is none. Raises LinkDown."""
        rows, why = self.devices(probe, timeout_s, self.settings.variables)
        return (rows[0][0], "") if rows else (None, why)

    def devices(
        self, probe: str, timeout_s: float, variables: Mapping[str, str]
    ) -> tuple[list[tuple[dict[str, Any], reply.Holder | None]], str]:
        """Every CUDA device there and who holds its lock, or nothing and why. Raises LinkDown."""
        call = {"kind": "device", "probe": probe, "timeout_s": timeout_s, "variables": dict(variables)}
        probed = self._guard(lambda link: understood(reply.Probed, link.call(call, timeout_s=timeout_s + SLACK_S)[0]))
        about = ("name", "arch", "driver", "uuid")
        for facts in probed.gpus:
            lacks = next((key for key in about[:3] if not getattr(facts, key)), None)
            if lacks:
                raise LinkDown(f"what {self.address.alias} answered of its GPU is broken: it has no {lacks}")
        rows = [{key: value for key in about if (value := getattr(facts, key))} for facts in probed.gpus]
        return list(zip(rows, probed.holders, strict=False)), probed.why

    def run(self, job: Job) -> tuple[dict[str, Any], list[bytes]]:
        return self._guard(lambda link: self._run(link, job, self.address.alias, {}))

    def run_in_lane(self, job: Job, lane: str, variables: Mapping[str, str]) -> tuple[dict[str, Any], list[bytes]]:
        """As `run`, at the same time as other lanes, with more environment variables. Raises LinkDown."""
        return self._guard(lambda link: self._run(link, job, lane, variables))

    def doctor(self, fix: bool, prune_s: float | None = None, need_bytes: int = 0) -> reply.Found:
        """Report what is on the host, and whether `need_bytes` fit; with `fix`, remove what runs left there; remove
        environments unused for `prune_s`.

        With `fix` a uv of ours that does not run is removed and, with `bootstrap`, brought again. Raises LinkDown.
        """
        call = {"kind": "doctor", "fix": fix, "prune_s": prune_s, "need_bytes": need_bytes}

        def ask(link: Link) -> reply.Found:
            if fix and self.settings.bootstrap:
                link.call(call)
                self._bring_uv(link)
            answer: Any = link.call(call)[0].get("found")
            return understood(reply.Found, answer)

        return self._guard(ask)

    def lacks(self, has_gpu: bool) -> offline.Lack | None:
        """Whether it fetches what repros that compile need, and what would be copied; None with its own Python.

        Raises LinkDown.
        """
        needs = [*own_wheel.needs(), own_wheel.torch(), *(SASS_TOOLS if has_gpu else [])]
        environment = self.settings.environment(needs, ">=3.11")
        if environment["kind"] == "python":
            return None

        def ask(link: Link) -> offline.Lack | None:
            try:
                return offline.lack(link, environment, self.settings.python_archive, self.settings.offline)
            except reply.Misfit as error:
                raise LinkDown(f"what the host answered is broken: {error}") from None

        return self._guard(ask)

    def _run(self, link: Link, job: Job, lane: str, variables: Mapping[str, str]) -> tuple[dict[str, Any], list[bytes]]:
        with self._bringing:
            ours = own_wheel.ours()
            if ours.sha256 not in link.packages:
                put = {"kind": "put", "what": "package", "sha256": ours.sha256}
                link.call(put, [ours.wheel], self.note, timeout_s=ENVIRONMENT_S)
                link.packages.add(ours.sha256)
        needs = (own_wheel.needs() if job.compiles else ["numpy"]) + list(job.needs)
        needs += SASS_TOOLS if job.sass and job.compiles and job.device == "cuda" else []
        environment = self.settings.environment(needs, job.requires_python)
        environment["variables"] |= variables
        if self.settings.bootstrap and environment["kind"] != "python":
            with self._bringing:
                self._bring_uv(link)
        call = {"kind": "job", "lane": lane, "environment": environment, "package": ours.sha256, "job": job.wire()}
        warm_s = WARM_S if job.warm and not job.fresh else 0.0
        run_s = job.timeout_s + warm_s + SLACK_S

        def ask() -> tuple[dict[str, Any], list[bytes]]:
            with self._bringing:
                call["brought"] = self._equip(link, environment)
            times: Any = {"timeout_s": ENVIRONMENT_S, "started_timeout_s": run_s}
            return link.call(call, note=self.note, console=job.console, **times)

        try:
            return ask()
        except Offline as error:
            if self.is_offline or self.settings.offline is False:
                raise
            self.is_offline = True
            self._tell(
                f"{self.address.alias} gets no packages itself ({error}): what it needs is fetched here and copied"
            )
            return ask()

    def _tell(self, text: str) -> None:
        if self.note:
            self.note(text)

    def _equip(self, link: Link, environment: dict[str, Any]) -> dict[str, Any] | None:
        """Bring a host without internet what this environment lacks, and return what to make it from."""
        if not self.is_offline or environment["kind"] == "python":
            return None
        key = json.dumps({**environment, "variables": {}}, sort_keys=True)
        cache = str(releases.cache_folder())
        try:
            if key in link.equipped:
                return link.equipped[key]
            if key in link.unequipped:
                raise Declined(link.unequipped[key])
            brought = offline.equip(link, environment, self.settings.python_archive, cache, self._tell)
        except (offline.CannotBring, OSError) as error:
            text = f"{self.address.alias} gets no packages itself, and they cannot be brought from here: {error}"
            link.unequipped[key] = text  # each case reports it, none tries again
            raise Declined(text) from None
        except reply.Misfit as error:
            raise LinkDown(f"what the host answered is broken: {error}") from None
        link.equipped[key] = brought
        return brought

    def _bring_uv(self, link: Link) -> None:
        """Give a host without uv this machine's uv, once."""
        if link.has_uv or understood(reply.Uv, link.call({"kind": "uv"})[0]).uv:
            link.has_uv = True
            return
        try:
            offline.check_machine(link.hello.machine)
            offline.bring(link, offline.Plan(wheels.own_file(wheels.uv_program(), "uv"), None, "", []), "", self._tell)
        except offline.CannotBring as error:
            raise Declined(f"{self.address.alias} has no uv, and none can be copied there: {error}") from None
        link.has_uv = True

    def _guard(self, ask: Callable[[Link], Any]) -> Any:
        """Ask, and close the link if it broke, so that the next call connects again."""
        link = self.open()
        try:
            return ask(link)
        except Declined:
            raise
        except BaseException:
            self._drop(link)
            raise

    def close(self) -> None:
        self._drop(self._link)

    def _drop(self, link: Link | None) -> None:
        """Close this link; another that was made meanwhile stays."""
        if self._link is link:
            self._link = None
        if link is not None:
            link.close()


class Lane:
    """A transport to one lane of a host. The connection belongs to the host, and stays when the lane is closed."""

    def __init__(self, remote: Remote, name: str, variables: Mapping[str, str]) -> None:
        self.remote, self.name, self.variables = remote, name, variables

    def run(self, job: Job) -> tuple[dict[str, Any], list[bytes]]:
        return self.remote.run_in_lane(job, self.name, self.variables)

    def close(self) -> None:
        """Do nothing: a lane opens nothing itself."""
