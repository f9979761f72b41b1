"""The meaning of the statements of an undecorated function: Python's own meaning if a value is static,
the surface's meaning if it is dynamic."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

from dsl import span
from dsl.core import trace
from dsl.core.control_flow import statements
from dsl.core.control_flow.branches.merge import Scratch
from dsl.core.control_flow.branches.truth_value import truth_in_python
from dsl.core.control_flow.loops import loop
from dsl.core.control_flow.loops.speculation import Attempt
from dsl.core.control_flow.objects.mutable_state import Heap
from dsl.core.errors import warn_not_portable
from dsl.core.ir import mlir
from dsl.core.number.dtypes import is_dynamic

span.stands_for_python(__file__)


def _probe(test: Callable, state: tuple, names: tuple) -> Any:
    """The result of the test of a `while`. If it is dynamic, its evaluation is undone: it belongs in the loop."""
    if not trace.active():
        return test(*state)
    heap = Heap((test,), [(name.name, value) for name, value in zip(statements.Name.all(names), state)])
    with Attempt() as attempt:
        scratch = Scratch()
        with mlir.inside(scratch.block):
            value = test(*state)
        if not is_dynamic(value) and len(scratch.block.operations) == 0:
            return value
        heap.restore(heap.changes())
        attempt.discard([scratch.holder])
    return value if is_dynamic(value) else test(*state)  # in place: its ops may be used after the loop


def _by_test(name: str) -> Callable:
    """A hook that calls `_met` if its first argument is dynamic."""

    def hook(self: ByValue, test: Any, *rest):
        if is_dynamic(test):
            self._met()
        return getattr(self.hooks, name)(test, *rest)

    return hook


def _by_result(name: str) -> Callable:
    """A hook that calls `_met` if its result is dynamic."""

    def hook(self: ByValue, *arguments, **options):
        result = getattr(self.hooks, name)(*arguments, **options)
        if is_dynamic(result):
            self._met()
        return result

    return hook


class ByValue:
    """The hooks of one undecorated function called `name`; `hooks` are the hooks of the surface.

    The first dynamic statement met is a PortabilityWarning: NVIDIA's compiler rejects it in such a function.
    """

    def __init__(self, hooks, name: str):
        self.hooks, self.name = hooks, name
        self.met: tuple[str, str, span.Span] | None = None

    def __getattr__(self, name: str):
        value = getattr(self.hooks, name)
        setattr(self, name, value)
        return value

    def _met(self, what: str = "decides by a dynamic value", id: str = "PHASE_DYNAMIC_TO_STATIC_BOOL") -> None:
        if self.met is None:
            self.met = f"`{self.name}` is not decorated and {what}", id, span.here()
        what, id, place = self.met
        warn_not_portable(what, id, fix="decorate it with @cute.jit", place=place)

    # --- statements ---

    def if_(self, test: Any, then: Callable, orelse: Callable, state: tuple, names: tuple) -> tuple:
        if not is_dynamic(test):
            return then(*state) if truth_in_python(test) else orelse(*state)
        self._met()
        return self.hooks.if_(test, then, orelse, state, names)

    def Range(self, *bounds, **options):
        """Python's range over static bounds, a dynamic one otherwise."""
        if options or any(map(is_dynamic, bounds)):
            return self.hooks.Range(*bounds, **options)
        return builtins.range(*bounds)

    def for_(
        self,
        domain: statements.Range | range,
        body: Callable,
        state: tuple,
        names: tuple,
        target: Any = None,
        stop: Callable | None = None,
    ) -> tuple:
        if isinstance(domain, statements.Range):
            self._met("counts by a dynamic value", "PHASE_DYNAMIC_INDEX")
            return self.hooks.for_(domain, body, state, names, target, stop)
        return loop.unrolled(domain, body, state, names, stop, target)

    def while_(self, test: Callable, body: Callable, state: tuple, names: tuple) -> tuple:
        while True:
            probe = _probe(test, state, names)
            if is_dynamic(probe):
                self._met()
                return self.hooks.while_(test, body, state, names)
            if not probe:
                return state
            state = body(*state)

    # --- expressions ---

    ifexp, and_, or_, not_ = map(_by_test, ("ifexp", "and_", "or_", "not_"))

    def compared(self, name: str, a: Any, b: Any):
        result = self.hooks.compared(name, a, b)
        if isinstance(a, (tuple, list)) and is_dynamic(result):
            self._met()
        return result

    compare, min_, max_, any_, all_ = map(_by_result, ("compare", "min_", "max_", "any_", "all_"))
