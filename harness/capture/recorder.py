"""Which call of a program is captured, and what is kept of it before and after.

A hook of a language reports every call to `Recorder.around`. A call that is not wanted costs a comparison.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from harness.capture.arguments import makings
from harness.capture.arguments.device_memory import DeviceMemory
from harness.capture.arguments.memory import Storage, View, host_values, is_tensor
from harness.capture.arguments.spelling import Spelling
from harness.capture.refusal import CannotBeCaptured
from harness.run.exception_protocol import outcome_of


@dataclass
class Call:
    """One call of a program. `text` writes it as an expression; `known_as` are the names it may be chosen by."""

    name: str
    known_as: Callable[[], set[str]]
    text: Callable[[Spelling], str]
    args: tuple = ()
    keywords: dict[str, Any] = field(default_factory=dict)
    plain: Callable[[Any], Any] = lambda function: function
    gives_status: bool = False  # an int that it returns is a status, not a result
    spells: Callable[[Spelling, Any, str], str | None] = lambda spelling, value, hint: None  # values of the language
    ending: Callable[[Any], dict[str, Any] | None] = lambda result: None  # the outcome that what it returned tells of


@dataclass
class Wanted:
    """Which call: the `number`th of those named `kernel`, or the first that has the property.

    `property`: call | finding | nan | differs. `reference` computes what must come out, for differs.
    """

    kernel: str | None = None
    number: int = 1
    property: str = "call"
    reference: Callable | None = None


@dataclass
class Taken:
    """A call as it was made, and what came of it. Outputs: name -> (dtype, bits)."""

    call: Call
    number: int
    spelling: Spelling
    text: str
    changed: list[View] = field(default_factory=list)
    returned: list[tuple[str, str, Any]] = field(default_factory=list)  # (name, expression, value)
    outcome: dict[str, Any] | None = None  # from the exception, if the call raised one
    expected: dict[str, Any] = field(default_factory=dict)  # what the reference gave
    reference: str = ""  # the call of the reference, as an expression
    reference_gives: type | None = None  # dict or tuple, where it gives several outputs
    seconds: float = 0.0
    sliced: Any = None  # what written_file.prepare made of the program

    def outputs(self) -> dict[str, tuple[str, np.ndarray]]:
        """What `run()` of the captured file must return."""
        rows = {plain_name(view.name): host_values(view.tensor) for view in self.changed}
        for name, _, value in self.returned:
            rows[name] = host_values(value) if is_tensor(value) else host_values(np.asarray(value))
        return rows


def plain_name(mark: str) -> str:
    """The name of a variable, without its marks."""
    return mark.strip("\x01\x02")


class Recorder:
    """Sees every call, keeps the one that is wanted and hands it to `finish`."""

    def __init__(self, wanted: Wanted, finish: Callable[[Taken], None], prepare: Callable[[Taken], None] | None = None):
        """`prepare` sees a call that is certainly taken before it is made."""
        self.wanted, self.finish, self.prepare = wanted, finish, prepare
        self.count, self.seen = 0, 0
        self.is_done = False
        self.problems: list[str] = []
        self._inside = threading.local()

    def around(self, call: Callable[[], Call], known_as: Callable[[], set[str]], run: Callable[[], Any]) -> Any:
        """Make the call by `run()`. A call inside another one is a part of it."""
        if self.is_done or getattr(self._inside, "depth", 0):
            return run()
        self._inside.depth = 1
        try:
            self.seen += 1
            if self.wanted.kernel is not None and not self._is_named(known_as):
                return run()
            self.count += 1
            if self.wanted.property == "call" and self.count != self.wanted.number:
                return run()
            return self._take(call, run)
        finally:
            self._inside.depth = 0

    def _is_named(self, known_as: Callable[[], set[str]]) -> bool:
        try:
            return self.wanted.kernel in known_as()
        except Exception as error:  # of the hook: the program goes on
            self.problems.append(f"call {self.seen} has no name that is known: {type(error).__name__}: {error}")
            return False

    def outside(self, run: Callable[[], Any]) -> Any:
        """Compile something: its calls are not calls of the program."""
        if getattr(self._inside, "depth", 0):
            return run()
        self._inside.depth = 1
        try:
            return run()
        finally:
            self._inside.depth = 0

    def _take(self, call: Callable[[], Call], run: Callable[[], Any]) -> Any:
        try:
            _synchronize()
            made = call()
            spelling = Spelling(made.plain)
            spelling.spells = made.spells
            taken = Taken(made, self.count, spelling, made.text(spelling))
            reference = self._reference(made)
            if reference is not None and not spelling.first:  # a module is loaded once: its answer is kept as data
                taken.reference = self._reference_text(made, spelling)
                many = isinstance(reference, (tuple, list))
                taken.reference_gives = dict if isinstance(reference, dict) else tuple if many else None
            if self.prepare is not None and self.wanted.property == "call":
                self.prepare(taken)
        except Exception as error:
            kind = "" if isinstance(error, CannotBeCaptured) else f"{type(error).__name__}: "
            self.problems.append(f"call {self.count} could not be captured: {kind}{error}")
            return run()
        began = time.monotonic()
        try:
            result = run()
            _synchronize()
        except BaseException as error:
            taken.seconds, taken.outcome = time.monotonic() - began, outcome_of(error)
            if taken.outcome is not None or (
                isinstance(error, KeyboardInterrupt) and self.wanted.property in ("call", "finding")
            ):
                taken.outcome = taken.outcome or {"outcome": "timeout"}
                if self.wanted.property in ("call", "finding"):
                    self._finish_failed(taken)
            raise
        taken.seconds = time.monotonic() - began
        taken.outcome = made.ending(result)
        if taken.outcome is not None:
            if self.wanted.property in ("call", "finding"):
                self._finish_failed(taken)
            return result
        self._outputs(taken, result)
        if self._has_property(taken, reference):
            self._finish(taken)
        return result

    def _finish_failed(self, taken: Taken) -> None:
        """Have run() return tensors too: once the program is mended, they are its answer."""
        try:
            self._outputs(taken, None)
        except Exception:  # a GPU whose context has failed gives no memory any more
            taken.changed = [view for storage in taken.spelling.memory.storages for view in storage.views]
        self._finish(taken)

    def _finish(self, taken: Taken) -> None:
        self.is_done = True
        self.finish(taken)

    def _reference(self, call: Call) -> Any:
        if self.wanted.property != "differs" or self.wanted.reference is None:
            return None
        keywords = {name: makings.source(value) for name, value in call.keywords.items()}
        return self.wanted.reference(*map(makings.source, call.args), **keywords)

    def _reference_text(self, call: Call, spelling: Spelling) -> str:
        """The call of the reference in the file: of the author's function, or of an expression that the command has."""
        text = getattr(self.wanted.reference, "expression", "")
        function = (
            f"({text})" if text else spelling.root(getattr(self.wanted.reference, "function", self.wanted.reference))
        )
        words = [spelling.of(makings.source(value), "value") for value in call.args]
        words += [f"{name}={spelling.of(makings.source(value), name)}" for name, value in call.keywords.items()]
        return f"{function}({', '.join(words)})"

    def _outputs(self, taken: Taken, result: Any) -> None:
        storages = taken.spelling.memory.storages
        for storage in storages:
            if storage.changed() and not _holds_addresses(storage.now(), storages):
                taken.changed += [view for view in storage.views if view.nbytes]
        if taken.call.gives_status and isinstance(result, int):
            result = None
        parts = result if isinstance(result, (tuple, list)) else (result,)
        for place, part in enumerate(parts):
            at = f"[{place}]" if isinstance(result, (tuple, list)) else ""
            name = f"returned_{place}" if at else "returned"
            if is_tensor(part):
                taken.returned.append((name, f"returned{at}", part))
            elif type(part) in (bool, int, float):
                taken.spelling.imports["import numpy as np"] = None
                taken.returned.append((name, f"np.asarray(returned{at})", part))
        if not taken.changed and not taken.returned:
            taken.changed = [view for storage in taken.spelling.memory.storages for view in storage.views]
        if not taken.changed and not taken.returned:  # it has no memory: the file records that it ended
            taken.spelling.imports["import numpy as np"] = None
            taken.returned.append(("ended", "np.asarray(True)", True))

    def _has_property(self, taken: Taken, reference: Any) -> bool:
        if self.wanted.property == "nan":
            return _makes_nan(taken)
        if self.wanted.property == "differs":
            taken.expected = _differences(taken, reference)
            return bool(taken.expected)
        return self.wanted.property == "call"


def _holds_addresses(data: np.ndarray, storages: list[Storage]) -> bool:
    """Whether some of the bytes are addresses of these storages: another process has others."""
    words = data[: len(data) // 8 * 8].view(np.uint64)
    return any(
        bool(((words >= storage.address) & (words < storage.address + storage.nbytes)).any())
        for storage in storages
        if storage.address and storage.nbytes
    )


def _synchronize() -> None:
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available() and torch.cuda.is_initialized():
        torch.cuda.synchronize()


def _array(value: Any) -> Any:
    return value.array() if isinstance(value, DeviceMemory) else value


def _has_nan(values: Any) -> bool:
    torch = sys.modules.get("torch")
    values = _array(values)
    if torch is not None and isinstance(values, torch.Tensor):
        return bool(values.is_floating_point() and values.detach().cpu().float().isnan().any())
    return isinstance(values, np.ndarray) and values.dtype.kind == "f" and bool(np.isnan(values).any())


def _makes_nan(taken: Taken) -> bool:
    """Whether an output has a NaN, and no input that the call left as it was, nor what an output was before."""
    made = [view.tensor for view in taken.changed] + [value for _, _, value in taken.returned]
    return any(map(_has_nan, made)) and not any(_had_nan(storage) for storage in taken.spelling.memory.storages)


def _had_nan(storage: Any) -> bool:
    torch = sys.modules.get("torch")
    for view in storage.views[:1]:
        if storage.library == "torch" and torch is not None:
            kind = getattr(torch, view.dtype.removeprefix("torch."))
            if kind.is_floating_point and len(storage.before) % view.item_bytes == 0:
                return _has_nan(torch.from_numpy(storage.before.copy()).view(kind))
        elif np.dtype(view.dtype).kind == "f":
            return _has_nan(storage.before.view(view.dtype))
    return False


def _differences(taken: Taken, reference: Any) -> dict[str, Any]:
    """The reference's value for each output, {} if all outputs are close to it."""
    rows = [(plain_name(view.name), _array(view.tensor)) for view in taken.changed]
    rows += [(name, value) for name, _, value in taken.returned]
    if isinstance(reference, dict):
        pairs = [(name, value, reference[name]) for name, value in rows if name in reference]
    else:
        parts = reference if isinstance(reference, (tuple, list)) else (reference,)
        pairs = [(name, value, part) for (name, value), part in zip(rows, parts)]
    torch = sys.modules.get("torch")
    differs = False
    for _, value, part in pairs:
        try:
            if torch is not None and isinstance(value, torch.Tensor):
                torch.testing.assert_close(value, torch.as_tensor(part).to(value), equal_nan=True)
            else:
                np.testing.assert_allclose(value, part, rtol=1e-5, equal_nan=True)
        except AssertionError:
            differs = True
    return {name: part for name, _, part in pairs} if differs else {}
