"""`raise` and `assert` that values known only at run time decide.

On a device they are CUDA's assertion: `__assertfail(message, file, line, function, bytes a character)`, what `assert`
of CUDA C++ calls; it reports block and thread and ends the kernel with a trap. They end a host function by longjmp,
and Python raises the author's exception. The code after one on such a path never runs: names take the values of the
other path.  CUDA C++ Programming Guide: Assertion.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dsl import span
from dsl.core import trace
from dsl.core.control_flow.branches.truth_value import truth_in_expression
from dsl.core.errors import DSLUserCodeError, DSLUserCodeRuntimeError, warn, warn_not_portable
from dsl.core.ir import constant_text, mlir
from dsl.core.number.dtypes import Boolean, Int64, Numeric, is_dynamic
from dsl.core.number.operators import operate

NUMBERED = "dsl_numbered_text"  # a device function that lower.device_functions has the body of


@dataclass(frozen=True)
class Failure:
    """An exception that a compiled host function may end with;
    `message` has {} for a number known then (`numbered`)."""

    kind: type[BaseException]
    message: str
    place: span.Span
    numbered: bool = False

    def error(self, number: int) -> DSLUserCodeRuntimeError:
        """The exception to raise; it is one of the author's class too, so that `except ValueError` finds it."""
        message = self.message.replace("{}", str(number), 1) if self.numbered else self.message
        try:
            error_class = type(self.kind.__name__, (_Raised, self.kind), {"__module__": self.kind.__module__})
        except TypeError:  # a class that no other can be mixed with
            error_class = _Raised
        return error_class(message or self.kind.__name__, place=self.place)


class _Raised(DSLUserCodeRuntimeError):
    """An exception of the author, raised at run time."""

    @property
    def repro_outcome(self) -> dict:
        return {**super().repro_outcome, "outcome": "trap"}


def block() -> mlir.Block | None:
    """The block that new ops are appended to."""
    return mlir.current_block()


def raises(entry: mlir.Block | None) -> bool:
    """Whether a `raise` here is Python's own: no dynamic statement is between it and the start of its function."""
    return mlir.current_block() is entry


def fail(make: Callable[[], Any], caught: bool) -> None:
    """`raise make()` inside a dynamic statement: the rest of this path never runs."""
    _refuse_handlers("raise", caught)
    error = make()
    kind = error if isinstance(error, type) else type(error)
    warn_not_portable(
        "`raise` leaves a dynamic statement",
        "UNSUP_EARLY_EXIT",
        fix="mark the test `const_expr(...)` where it is static",
    )
    _stop(kind, "" if error is kind else str(error))
    trace.end_path()


def unraised(name: str, operands: Callable[[], tuple]) -> None:
    """Warn of a handler of exception `name` if values known only at run time are what it is about."""
    if any(map(is_dynamic, operands())):
        what = "index" if name in ("IndexError", "LookupError") else "divisor"
        warn(f"values known only at run time do not raise {name}: test the {what} in an `if`", "EXCEPT_NEVER_RUNS")


def asserted(test: Any, message: Callable[[], Any], caught: bool) -> Any:
    """The test of an `assert`: `test`, or True where it is dynamic and checked at run time."""
    if not is_dynamic(test):
        return truth_in_expression(test, "what `assert` tests")
    _refuse_handlers("assert", caught)
    warn_not_portable(
        "`assert` tests a dynamic value",
        "PHASE_REQUIRES_CONSTANT",
        fix="assert what is known while compiling, `assert const_expr(...)`",
    )
    require(test, AssertionError, str(message()))
    return True


def assert_(cond: Any, msg: str | None = None, *, loc: Any = None, ip: Any = None) -> None:
    """End the kernel, or the host function, with AssertionError(`msg`) where `cond` is false at run time.

    Upstream checks it with the option `--enable-assertions` alone, this compiler always.
    """
    if is_dynamic(cond) or not truth_in_expression(cond, "what `assert_` tests"):
        require(Boolean(cond), AssertionError, "" if msg is None else str(msg))


def _refuse_handlers(word: str, caught: bool) -> None:
    if caught:
        raise DSLUserCodeError(
            f"what a dynamic value makes `{word}` raise at run time cannot be caught by the `try` around it",
            fix="use an `if` statement in place of the `try`",
            id="UNSUP_EARLY_EXIT",
        )


def require(test: Numeric, kind: type[BaseException], message: str, *numbers: Numeric) -> None:
    """Go on only if `test` is true. `message` has {} at the place of each of `numbers`, which are integers.

    A host function has room for one number.
    """
    failing = operate("xor", Boolean(test), Boolean(True))
    branch = mlir.op("scf.if", [], [Boolean(failing).ir()], regions=2)
    with mlir.inside(branch.regions[0].blocks.append()):
        _stop(kind, message, *numbers)
        mlir.op("scf.yield")


def _stop(kind: type[BaseException], message: str, *numbers: Numeric) -> None:
    place = span.here()
    if trace.in_kernel():
        state = trace.kernel()
        state.module.declare("__assertfail", "llvm.func @__assertfail(!llvm.ptr, !llvm.ptr, i32, !llvm.ptr, i64)")
        said = message if kind is AssertionError else f"{kind.__name__}: {message}".rstrip(": ")
        name = os.path.basename(place.file)  # a folder's name would make other PTX wherever the file lies
        file, function = (constant_text.generic_address(state.module, word) for word in (name, state.name))
        words = _numbered(state.module, said, numbers)
        mlir.call(
            "__assertfail", None, words, file, mlir.constant(place.line, mlir.i32), function, mlir.constant(1, mlir.i64)
        )
        return
    host = trace.host()
    host.failures.append(Failure(kind, message, place, bool(numbers)))
    host.module.declare("longjmp", "llvm.func @longjmp(!llvm.ptr, i32)")
    target = mlir.load(mlir.gep(host.entry.arguments[0], mlir.i64, trace.jump_slot(host.slots)), mlir.ptr(), 8)
    if numbers:  # it leaves in the block's first slot, which nothing reads again
        mlir.store(Int64(numbers[0]).ir(), host.entry.arguments[0], 8)
    mlir.call("longjmp", None, target, mlir.constant(len(host.failures), mlir.i32))


def _numbered(module: mlir.Module, message: str, numbers: tuple[Numeric, ...]) -> mlir.Value:
    """The address of `message` with the digits of each number where a {} stands."""
    *pieces, last = message.split("{}", len(numbers)) if numbers else [message]
    address, size_bytes = constant_text.generic_address(module, last), len(last.encode()) + 1
    for before, number in zip(reversed(pieces), reversed(numbers)):
        module.declare(NUMBERED, f"llvm.func @{NUMBERED}(!llvm.ptr, !llvm.ptr, i64, !llvm.ptr)")
        size_bytes += len(before.encode()) + 21  # of a number: 20 digits and a sign
        after, address = address, trace.entry_alloca(mlir.i8, size_bytes, 1)
        mlir.call(NUMBERED, None, address, constant_text.generic_address(module, before), Int64(number).ir(), after)
    return address
