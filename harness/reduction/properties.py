"""Properties that a program must keep while it gets smaller."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from harness import judge
from harness.claim import findings
from harness.comparison import compare, golden, observed, perturbed
from harness.errors import UsageError
from harness.reduction import behaviour, places, wrong_values
from harness.reduction.behaviour import Behaviour

if TYPE_CHECKING:
    from harness.claim.repro_file import Case
    from harness.reduction.places import Place
    from harness.run.result import Outcome

KEPT = """\
  (nothing)                     what the program does now: its finding, rejection, exception, hang or wrong output
  "finding RACE"                this finding, at the accesses where it is now
  "output NAME"                 this output differs from expected() or the golden
  "error", "hang", "deadlock"   that, as it is now
  "verdict"                     the verdict on its claim, with its reason
  "differs A B"                 two sides disagree: compilers (ours, nvidia, nvidia==4.6.3) or hosts
  "--gpu-model a100 h100"       the emulator disagrees as these two GPUs
  "ptx contains TEXT"           the PTX of a kernel has this text
  "command: CMD {}"             a command exits as it does now; {} is the file"""


@dataclass(frozen=True)
class Seen:
    """The observation of one program. `problem`: why there is none, such as a lost host."""

    about: Any
    problem: str = ""
    seconds: float = 0.0
    text: str = ""  # what a person reads of it
    is_stopped: bool = False  # since its time was over
    lines: frozenset[int] = frozenset()  # of the program, that what is seen names


class Property(Protocol):
    """`timeout_s` applies to a candidate; it is set when the start was timed."""

    about: str
    timeout_s: float

    def see(self, text: str) -> Seen:
        """Run the program; from any thread."""
        ...

    def refuse(self, start: Seen) -> str:
        """Why the program does not have the property, or ''."""
        ...

    def hurry(self, start: Seen | None) -> None:
        """Let `see` do no more than the property of this start needs; None: all, as before."""
        ...

    def confirm(self, text: str, seen: Seen | None = None) -> Seen:
        """Observe a program with nothing left out to save time; `seen`: the observation of `see`."""
        ...

    def differs(self, seen: Seen, before: Seen) -> str:
        """'' where the property is kept, else in a few words why not."""
        ...

    def executed(self, text: str) -> frozenset[int]:
        """The lines that run in the program; none if they are not known."""
        ...

    def close(self) -> None:
        """End what it started."""


class InFull:
    """A property that is looked at in full each time."""

    see: Callable[[str], Seen]

    def executed(self, text: str) -> frozenset[int]:
        return frozenset()

    def hurry(self, start: Seen | None) -> None:
        pass

    def confirm(self, text: str, seen: Seen | None = None) -> Seen:
        return seen or self.see(text)


class InPlace(InFull):
    """A property of what a program does in one place."""

    case: Case
    place: Place
    timeout_s: float

    def executed(self, text: str) -> frozenset[int]:
        return self.place.executed(case_of(self.case, text), self.timeout_s)

    def close(self) -> None:
        self.place.close()


class OnePlace(InPlace):
    """The behaviour of the program in one place."""

    def __init__(self, case: Case, place: Place, wanted: str = "", output: str = "") -> None:
        """`wanted`: the id of a finding or the kind of an outcome; `output`: the one that is wrong."""
        self.case, self.place, self.wanted, self.output = case, place, wanted, output
        self.about = f"what it does on {place.name}"
        self.timeout_s = case.repro.timeout_s
        path = golden.path_of(case)
        self._golden = golden.read(path) if path.exists() else None
        self._checks: str | None = None  # of `see`; None: the checks of the place

    def see(self, text: str) -> Seen:
        return self._see(text, self._checks)

    def hurry(self, start: Seen | None) -> None:
        self._checks = None
        if start is not None and self.place.checks is None and not self.place.is_hardware:
            kinds = {kind: check for check, kind in findings.SOUGHT.items()}
            self._checks = kinds.get(start.about.kind, "none")

    def confirm(self, text: str, seen: Seen | None = None) -> Seen:
        return seen if seen and self._checks is None else self._see(text, None)

    def _see(self, text: str, checks: str | None) -> Seen:
        outcome = self.place.run(case_of(self.case, text), self.timeout_s, checks)
        seconds = outcome.durations.get("run_s", 0.0)
        if outcome.kind in ("infra", "skipped"):
            return Seen(None, "it could not be run", seconds, outcome.text)
        program = behaviour.Program(text, self.case.repro.path)
        did = behaviour.of(program, outcome, self._wrong(outcome))
        did = replace(did, launches=any(kernel.get("launches") for kernel in outcome.kernels))
        return Seen(did, "", seconds, outcome.text, outcome.kind == "timeout", program.named(outcome.text))

    def _wrong(self, outcome: Outcome) -> dict[str, wrong_values.Wrong]:
        if outcome.kind != "outputs":
            return {}
        rules = dict(self.case.repro.compare)
        differences = compare.differences(
            outcome.expected, outcome.outputs, rules, "expected()", True, observed.masks(self.case, outcome)
        )
        if not outcome.expected and self._golden is not None and self._golden.outputs:
            differences = compare.differences(self._golden.outputs, outcome.outputs, rules, "its golden", True)
        return {one.output: wrong_values.of(one) for one in differences}

    def refuse(self, start: Seen) -> str:
        did: Behaviour = start.about
        if self.wanted and self.wanted.lower() not in (did.kind, did.name.lower(), "hang" * (did.kind == "timeout")):
            return f"it does not: it is {did}"
        if self.output and self.output not in did.wrong:
            return f"`{self.output}` is not wrong: {did}"
        if did.kind == "exited" and did.name == behaviour.exit_status(0):
            return "it does nothing wrong: it ends with exit status 0"
        if did.kind == "outputs" and not did.wrong:
            return "it does nothing wrong: its outputs are as expected"
        return ""

    def differs(self, seen: Seen, before: Seen) -> str:
        did, was = seen.about, before.about
        if did.kind != was.kind:
            return "no longer so" if did.kind in ("outputs", "exited") else f"another outcome: {did.name or did.kind}"
        if was.launches and not did.launches:
            return "no kernel is launched"
        if did.name != was.name:
            return f"another {'exception' if did.kind == 'error' else 'id'}: {did.name}"
        if did.kind == "outputs":
            return self._values_differ(did, was)
        if did.message != was.message:
            return "another reason"
        if did.kernel != was.kernel:
            return "in another kernel"
        return "" if did.is_at(was) else "at another place"

    def _values_differ(self, did: Behaviour, was: Behaviour) -> str:
        if self.output and self.output not in did.wrong:
            return "no longer so"
        if not did.wrong:
            return "no longer so"
        for name, wrong in did.wrong.items():
            if name not in was.wrong:
                return "another output is wrong"
            if why := wrong.unlike(was.wrong[name]):
                return why
        return ""


class TwoPlaces(InPlace):
    """That two places give different answers."""

    def __init__(self, case: Case, one: Place, other: Place) -> None:
        self.case, self.place, self.sides = case, one, (one, other)
        self.about = f"{one.name} and {other.name} disagree"
        self.timeout_s = case.repro.timeout_s

    def see(self, text: str) -> Seen:
        case, seen = case_of(self.case, text), []
        seconds, said = 0.0, []
        outcomes = []
        for place in self.sides:
            outcome = place.run(case, self.timeout_s)
            seconds = max(seconds, outcome.durations.get("run_s", 0.0))
            said.append(f"{place.name}: {outcome.text or outcome.kind}")
            if outcome.kind in ("infra", "skipped"):
                return Seen(None, "it could not be run", seconds, outcome.text)
            outcomes.append(outcome)
            seen.append(behaviour.of(behaviour.Program(text, case.repro.path), outcome))
        wrong = {}
        if all(outcome.kind == "outputs" for outcome in outcomes):
            rules = dict(case.repro.compare)
            differences = compare.differences(outcomes[1].outputs, outcomes[0].outputs, rules, self.sides[1].name)
            wrong = {one.output: wrong_values.of(one) for one in differences}
        seen[0] = replace(seen[0], wrong=wrong)
        is_stopped = any(outcome.kind == "timeout" for outcome in outcomes)
        return Seen(tuple(seen), "", seconds, "\n".join(said), is_stopped)

    def refuse(self, start: Seen) -> str:
        one, other = start.about
        if one.kind == other.kind == "outputs" and not one.wrong:
            return "both sides give the same outputs"
        if one.kind != "outputs" and _alike(one, other):
            return f"both sides do the same: {one}"
        return ""

    def differs(self, seen: Seen, before: Seen) -> str:
        if self.refuse(seen):
            return "no longer so"
        for did, was in zip(seen.about, before.about, strict=True):
            if did.kind != was.kind or did.name != was.name:
                return f"another outcome: {did.name or did.kind}"
            if did.kind != "outputs" and not _alike(did, was):
                return "another reason"
        for name, wrong in seen.about[0].wrong.items():
            was = before.about[0].wrong.get(name)
            if was is None:
                return "another output differs"
            why = wrong.unlike(was)
            if why and why != "one of two answers changed alone":  # the sides run one program: both may change, or one
                return why
        return ""

    def close(self) -> None:
        for place in self.sides:
            place.close()


def _alike(one: Behaviour, other: Behaviour) -> bool:
    return (one.kind, one.name, one.message) == (other.kind, other.name, other.message) and one.is_at(other)


class PtxContains(InPlace):
    """That the PTX of a kernel has a text, and the program ends as before."""

    def __init__(self, case: Case, place: Place, text: str) -> None:
        self.case, self.place, self.text = case, place, text
        self.about = f"its PTX contains {text!r}"
        self.timeout_s = case.repro.timeout_s

    def see(self, text: str) -> Seen:
        outcome = self.place.run(case_of(self.case, text), self.timeout_s)
        seconds = outcome.durations.get("run_s", 0.0)
        if outcome.kind in ("infra", "skipped"):
            return Seen(None, "it could not be run", seconds, outcome.text)
        has = any(" ".join(self.text.split()) in " ".join(kernel["ptx"].split()) for kernel in outcome.kernels)
        return Seen((has, outcome.kind), "", seconds, outcome.text, outcome.kind == "timeout")

    def refuse(self, start: Seen) -> str:
        return "" if start.about[0] else f"no kernel's PTX has it (the program ended as {start.about[1]})"

    def differs(self, seen: Seen, before: Seen) -> str:
        if seen.about[1] != before.about[1]:
            return f"another outcome: {seen.about[1]}"
        return "" if seen.about[0] else "no longer so"


class SameVerdict(InPlace):
    """The verdict on the claim and its reason, as `repro run` gives them; nothing of how it came to it."""

    def __init__(self, case: Case, place: Place) -> None:
        self.case, self.place, self.timeout_s = case, place, case.repro.timeout_s
        self.about = "the verdict on its claim"

    def see(self, text: str) -> Seen:
        case = case_of(self.case, text)
        outcome = self.place.run(case, self.timeout_s)
        seconds = outcome.durations.get("run_s", 0.0)
        if outcome.kind in ("infra", "skipped"):
            return Seen(None, "it could not be run", seconds, outcome.text)
        verdict = judge.judge(case, self.place.host, outcome, self.place.root)
        about = f"{verdict.status}, {verdict.reason}" if verdict.reason else verdict.status
        return Seen(about, "", seconds, verdict.text, outcome.kind == "timeout")

    def refuse(self, start: Seen) -> str:
        return "" if start.about.startswith("fail") else f"the claim does not fail: {start.about}"

    def differs(self, seen: Seen, before: Seen) -> str:
        return "" if seen.about == before.about else f"another verdict: {seen.about}"


class UnderDelays(InFull):
    """That a program gives another answer under a list of delays, which is what gets smaller."""

    def __init__(self, case: Case, place: Place) -> None:
        self.case, self.place, self.timeout_s = case, place, case.repro.timeout_s
        self.about = "another answer under delays"

    def listed(self, delays: str) -> str:
        """The list of delays that a text names, as `seed 3` does. Raises UsageError."""
        outcome = self.place.run(self.case, self.timeout_s, "none", delays)
        if outcome.kind in ("infra", "skipped"):
            raise UsageError(f"the start could not be run: {outcome.text}")
        if len(outcome.answers) < 2:
            raise UsageError(f"under the delays of `{delays.strip()[:80]}` the program gives the same answer")
        return outcome.answers[1].delays.rstrip("\n") + "\n"

    def see(self, text: str) -> Seen:
        outcome = self.place.run(self.case, self.timeout_s, "none", text)
        seconds = outcome.durations.get("run_s", 0.0)
        if outcome.kind in ("infra", "skipped"):
            return Seen(None, "it could not be run", seconds, outcome.text)
        said = perturbed.summary(outcome) if outcome.answers else outcome.text
        kinds = tuple(each.outcome.kind for each in outcome.answers)
        return Seen(kinds, "", seconds, said, "timeout" in (outcome.kind, *kinds))

    def refuse(self, start: Seen) -> str:
        return "" if len(start.about) > 1 else "the program gives the same answer"

    def differs(self, seen: Seen, before: Seen) -> str:
        if len(seen.about) < 2:
            return "no longer so"
        return "" if seen.about == before.about else f"another outcome: {seen.about[-1]}"

    def close(self) -> None:
        self.place.close()


class Command(InFull):
    """That a command exits as it does now. `{}` in it is a file of the program's name, in a separate folder."""

    def __init__(self, command: str, name: str) -> None:
        if "{}" not in command:
            raise UsageError(f'--keep "command: {command}" has no place for the file\nfix: write {{}} for it')
        self.command, self.name, self.timeout_s = command, name, 600.0
        self.about = f"the exit status of `{command}`"

    def see(self, text: str) -> Seen:
        with tempfile.TemporaryDirectory(prefix="gpu-repro-reduce-") as folder:
            path = Path(folder) / self.name
            path.write_text(text)
            begun = time.monotonic()
            status = _status(self.command.replace("{}", shlex.quote(str(path))), self.timeout_s)
            return Seen(status, "" if status is not None else "it took too long", time.monotonic() - begun)

    def refuse(self, start: Seen) -> str:
        return ""

    def differs(self, seen: Seen, before: Seen) -> str:
        return "" if seen.about == before.about else f"exit status {seen.about}"

    def close(self) -> None:
        pass


def _status(command: str, timeout_s: float) -> int | None:
    """The exit status of a shell's command; None where it took too long. Nothing of it is left running."""
    process = subprocess.Popen(
        command, shell=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True,
    )  # fmt: skip
    try:
        return process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        return None
    finally:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()


def case_of(case: Case, text: str) -> Case:
    """The case of a candidate: its text, and the rest as the start has it."""
    return replace(case, repro=replace(case.repro, text=text))


def read(keep: str, case: Case | None, name: str, place: Callable[..., Place]) -> Property:
    """The property that a text names. `place(**arguments)` makes a Place. Raises UsageError."""
    words = keep.split()
    if keep.startswith("command:"):
        return Command(keep.partition(":")[2].strip(), name)
    if case is None:
        raise UsageError(
            f'{name}: a file that is not Python needs a command as its property: --keep "command: CMD {{}}"'
        )
    match words:
        case []:
            return OnePlace(case, place())
        case ["differs", "--gpu-model", one, other] | ["--gpu-model", one, other]:
            return TwoPlaces(case, place(gpu_model=one), place(gpu_model=other))
        case ["differs", one, other]:
            sides = places.of_word(one), places.of_word(other)
            return TwoPlaces(case, place(**sides[0]), place(**sides[1]))
        case ["ptx", "contains", _, *_]:
            return PtxContains(case, place(), keep.split(None, 2)[2])
        case ["verdict"]:
            return SameVerdict(case, place())
        case ["finding", identity]:
            return OnePlace(case, place(), identity)
        case ["output", output]:
            return OnePlace(case, place(), output=output)
        case [("error" | "hang" | "deadlock" | "rejected" | "race" | "trap") as kind]:
            return OnePlace(case, place(), kind)
    raise UsageError(f"--keep {keep!r} names no property; write one of\n{KEPT}")
