"""A place for candidates: a host with a compiler and a GPU model, several candidates at once."""

from __future__ import annotations

import itertools
import queue
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness import judge
from harness.compiler_name import OURS
from harness.errors import UsageError
from harness.host.environment import releases
from harness.perturb_options import Wanted
from harness.run import result
from harness.run.transport import LinkDown
from harness.session import Session

if TYPE_CHECKING:
    from harness.claim.repro_file import Case
    from harness.host.hosts import Host
    from harness.run.result import Outcome
    from harness.run.transport import Transport


SLOWER = 10.0  # a run whose lines are noted


class Place:
    """One side. `width`: candidates at once on this machine; elsewhere as many as there are slots."""

    def __init__(
        self,
        root: Path,
        host: str = "embedded",
        compiler: str = OURS,
        gpu_model: str | None = None,
        checks: str | None = None,
        seed: int = 0,
        width: int = 1,
        note: Callable[[str], None] | None = None,
        settings: tuple[str, ...] = (),
    ) -> None:
        """Raises UsageError for a name that is unknown, NoDevice for a host without its device."""
        model = f" as {gpu_model}" if gpu_model else ""
        self.name = f"{host}{f' by {compiler}' if compiler != OURS else ''}{model}"
        self.root, self.checks, self._seed = root, checks, seed
        self._session = Session(
            root, [host], False, settings, note, compiler, seed, checks=checks, gpu_model=gpu_model,
            width=lambda: width,
        )  # fmt: skip
        (self._host,) = self._session.hosts()
        self._is_here = any(target.is_here for target in self._session.targets())
        self.is_hardware = not self._is_here or self._host.is_hardware
        self._free: queue.SimpleQueue[Transport] = queue.SimpleQueue()
        self._all: list[Transport] = []
        for _ in range(width if self._is_here else 0):
            transport = self._host.connect()
            self._all.append(transport)
            self._free.put(transport)
        self._numbers = itertools.count()

    @property
    def host(self) -> Host:
        return self._host

    def executed(self, case: Case, timeout_s: float) -> frozenset[int]:
        """The lines that a program runs on this machine; none where it runs elsewhere."""
        return self._run(case, SLOWER * timeout_s, "none", "", True).lines if self._is_here else frozenset()

    def run(self, case: Case, timeout_s: float, checks: str | None = None, delays: str = "") -> Outcome:
        """Run a job, from any thread; it waits for a free supervisor. Of a failed script it tells the reason.
        `checks`: checks of the emulator instead of this place's checks. `delays`: a list; then also under these."""
        outcome = self._run(case, timeout_s, self.checks if checks is None else checks, delays)
        outcome.kind = outcome.detail.get("found") or outcome.kind
        return outcome

    def _run(self, case: Case, timeout_s: float, checks: str | None, delays: str, lines: bool = False) -> Outcome:
        perturb = Wanted(delays=delays) if delays else None
        if not self._is_here and perturb is not None:
            raise UsageError(f"delays are reduced on this machine only, not on {self.name}\nfix: leave --host out")
        if not self._is_here:
            request: Any = self._session._request(case, self._host, timeout_s, False)
            try:
                return (
                    self._session._get_fleet().run(replace(request, key=f"{request.key} {next(self._numbers)}")).outcome
                )
            except LinkDown as error:
                return result.infra(str(error))
        transport = self._free.get()
        try:
            about = self._host, timeout_s, False, self._host.compiler, self._seed
            return judge.run(transport, case, *about, checks=checks, perturb=perturb, lines=lines)
        finally:
            self._free.put(transport)

    def close(self) -> None:
        """End all that runs there."""
        for transport in self._all:
            transport.close()
        self._session.close()


def of_word(word: str) -> dict[str, str]:
    """`nvidia==4.6.3` as a compiler, `p1` as a host: the arguments of a Place. Raises UsageError."""
    if word.partition("==")[0] in (OURS, "nvidia"):
        try:
            releases.split(word)
        except releases.BadCompiler as error:
            raise UsageError(str(error)) from None
        return {"compiler": word}
    return {"host": word}
