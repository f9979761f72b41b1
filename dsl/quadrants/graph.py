"""`qd.graph`: loops, parallel sections and checkpoints of a `@qd.kernel(graph=True)`.

The tasks of a kernel run one after the other here, which every use of parallel sections allows. The host decides about
the next trip of a loop, as upstream does without conditional nodes of the GPU.  Source: Quadrants user guide, Graph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from dsl.core.number.dtypes import Int32
from dsl.core.number.pointer import AddressSpace, Pointer
from dsl.quadrants.errors.description import described
from dsl.quadrants.errors.errors import QuadrantsSyntaxError
from dsl.quadrants.errors.refused_names import refuser
from dsl.quadrants.functions.sections import GraphStatus, Pause, Sections
from dsl.quadrants.functions.task import Program, program
from dsl.quadrants.memory.ndarray import ArrayView
from dsl.quadrants.values import dtypes as types, philox

__all__ = ["GraphStatus", "checkpoint", "do_while", "parallel", "parallel_context"]


def do_while(condition: Any) -> bool:
    """`while qd.graph.do_while(flag):` repeats its body until `flag`, an array of one i32, is 0 after it."""
    return bool(condition)


@contextmanager
def parallel_context() -> Iterator[None]:
    """`with qd.graph.parallel_context():` has `with qd.graph.parallel():` blocks that do not depend on each other."""
    yield


@contextmanager
def parallel() -> Iterator[None]:
    """`with qd.graph.parallel():` is work that may run while the other blocks of its context do."""
    yield


@contextmanager
def checkpoint(cp_id: Any, yield_on: Any) -> Iterator[None]:
    """`with qd.checkpoint(label, yield_on=flag):` ends the launch after its body if `flag` is not 0 then."""
    yield


def __getattr__(name: str) -> Any:
    return refuser("graph", globals())(name)


# --- in a kernel -----------------------------------------------------------------------------------------------------

_GRAPH = "write @qd.kernel(graph=True)"


def begin_do_while(evaluate: Callable[[], Any], text: str) -> None:
    """The head of `while qd.graph.do_while(...)`."""
    current = program()
    _check_place(current, "do_while")
    flag = _flag(evaluate, text, "qd.graph.do_while(...)")
    flag_at = current.reserve()
    sections = _sections(current)
    current.close()
    sections.begin_loop(flag_at)
    current.loops.append((flag, flag_at, len(current.tasks)))
    current.open()


def end_do_while() -> None:
    """The end of its body."""
    current = program()
    flag, flag_at, first = current.loops.pop()
    if any(id(task) in current.random_numbers for task in current.tasks[first:]):
        philox.advance(current)
    _copy(current, flag, flag_at)
    current.close()
    _sections(current).end_loop()
    current.open()


def begin_stage() -> None:
    """The head of a loop of the outermost scope, or of a checkpoint, that a resumed launch may leave out."""
    current = program()
    sections = _sections(current)
    current.close()
    sections.begin_stage()
    current.open()


def end_stage() -> None:
    """Its end."""
    current = program()
    current.close()
    _sections(current).end_stage()
    current.open()


def begin_checkpoint(label: Any, evaluate: Callable[[], Any], text: str) -> None:
    """The head of `with qd.checkpoint(...)`."""
    current = program()
    _check_place(current, "checkpoint")
    if not current.checkpoints:
        raise QuadrantsSyntaxError.at(
            "qd.checkpoint() needs @qd.kernel(graph=True, checkpoints=True)", "write `checkpoints=True` there"
        )
    if not isinstance(label, int) or isinstance(label, bool):
        raise QuadrantsSyntaxError.at(
            f"the label of qd.checkpoint() must be an int literal or an IntEnum value, got {described(label)}",
            "for example `qd.checkpoint(0, yield_on=flag)`",
        )
    sections = _sections(current)
    if sections.stage is not None:
        raise QuadrantsSyntaxError.at(
            "qd.checkpoint() cannot be nested in another one", "end the outer `with` before it"
        )
    if label in sections.labels:
        raise QuadrantsSyntaxError.at(
            f"the label {label!r} is already used by another checkpoint of this kernel", "give each another number"
        )
    flag = _flag(evaluate, text, "qd.checkpoint(yield_on=...)")
    begin_stage()
    assert sections.stage is not None
    sections.labels[label] = sections.stage
    current.pauses.append((flag, Pause(sections.stage, current.reserve(), label)))


def end_checkpoint() -> None:
    """The end of its body."""
    current = program()
    flag, pause = current.pauses.pop()
    _copy(current, flag, pause.flag_at)
    current.close()
    _sections(current).end_stage(pause)
    current.open()


def begin_region() -> None:
    """The head of `with qd.graph.parallel_context()`."""
    current = program()
    _check_place(current, "parallel_context")
    if current.checkpoints:
        raise QuadrantsSyntaxError.at(
            "qd.graph.parallel_context() cannot be in a kernel with checkpoints=True: a resumed launch cannot leave its"
            " blocks out",
            "take it out, or drop `checkpoints=True`",
        )


def _check_place(current: Program, word: str) -> None:
    name = "qd.checkpoint()" if word == "checkpoint" else f"qd.graph.{word}()"
    if not current.is_graph:
        raise QuadrantsSyntaxError.at(f"{name} requires @qd.kernel(graph=True)", _GRAPH)
    if not current.is_top:
        raise QuadrantsSyntaxError.at(
            f"{name} must be at the kernel top level or in the body of a qd.graph.do_while()",
            "take it out of the loop or branch",
        )


def _flag(evaluate: Callable[[], Any], text: str, usage: str) -> ArrayView:
    """The array that decides."""
    try:
        flag = evaluate()
    except Exception:  # a name or an attribute that is not there: the message is about what the call needs
        flag = None
    if not isinstance(flag, ArrayView):
        raise QuadrantsSyntaxError.at(
            f"{usage} got `{text}`, which does not resolve to an ndarray kernel parameter",
            "name a parameter of the kernel, or a member of one, that is a qd.types.ndarray(qd.i32, ndim=0)",
        )
    if flag.element_type is not types.i32 or flag.shape or flag.element_shape:
        raise QuadrantsSyntaxError.at(
            f"{usage} needs an array of one qd.i32, and `{text}` has another type or shape",
            "declare it as qd.types.ndarray(qd.i32, ndim=0), and make it by qd.ndarray(qd.i32, shape=())",
        )
    return flag


def _copy(current: Program, flag: ArrayView, flag_at: int) -> None:
    """Copy a flag to where the host reads it."""
    current.task.effect()
    Pointer(Int32, current.scratch_address(flag_at), AddressSpace.gmem).store(flag[()].load())


def _sections(current: Program) -> Sections:
    if current.sections is None:
        current.sections = Sections()
    return current.sections
