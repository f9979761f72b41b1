"""The meaning of a T program's statements: values of T decide at run time, values of Python while compiling.

A name is a register of one dtype, or a Python value. A name that a run-time branch or loop binds first ends with it.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

from dsl.core.control_flow import statements
from dsl.core.control_flow.hooks import Hooks
from dsl.core.control_flow.statements import Range, Unbound
from dsl.core.control_flow.undecorated.undecorated import Helpers
from dsl.core.errors import DSLUserCodeError, DSLUserCodeTypeError
from dsl.core.number.dtypes import Boolean, Numeric, is_dynamic
from dsl.core.syntax.rewrite_expression import Grammar
from dsl.span import Span, here
from dsl.tile.vector.ssa import TensorSSA
from dsl.tirx.errors.error_wording import type_name
from dsl.tirx.functions import instruction_arguments, instructions
from dsl.tirx.memory.buffer import Buffer
from dsl.tirx.syntax import choice, device_part, loops, registers, statement_names
from dsl.tirx.syntax.registers import Filling
from dsl.tirx.values.vector_lanes import Ramp, refuse

LOOP_VARIABLE = "the loop variable"


class Ended(Unbound):
    """A name that a branch or loop has bound, after its end."""

    __slots__ = ("_place",)

    def __init__(self, name: str, place: Span):
        super().__init__(name)
        self._place = place

    def _raise(self):
        if self._name == LOOP_VARIABLE:
            raise DSLUserCodeError(
                "the loop variable ends with its loop",
                id="SCOPE_UNBOUND_NAME",
                also=((self._place, "the loop"),),
                fix="keep it in a register that is declared before the loop: `last = i`",
            )
        raise DSLUserCodeError(
            f"`{self._name}` is not defined here: what a branch or loop binds first ends with it",
            id="SCOPE_UNBOUND_NAME",
            also=((self._place, "it begins here"),),
            fix=f"declare it before: `{self._name}: T.int32 = 0`",
        )


def _open(state: tuple) -> tuple:
    """A state for core, which knows one kind of names without a value."""
    return tuple(Unbound(value._name) if type(value) is Ended else value for value in state)


def _scoped(body: Callable, outer: Callable[[tuple], tuple]) -> Callable:
    """`body(...) -> state`, where the names it binds first have no value again. `outer(arguments)` is its state."""

    def scoped(*arguments):
        return tuple(
            before if type(before) is Unbound and not before._name.startswith("__dsl_") else after
            for before, after in zip(outer(arguments), body(*arguments))
        )

    return scoped


def _filling(unset: Filling, body: Callable, first: int) -> Callable:
    """`body(...) -> state` of a statement that core makes; `first` arguments come before its state."""

    def filling(*arguments):
        return unset.fill(body(*arguments[:first], *unset.clear(arguments[first:])))

    return filling


def _closed(after: tuple, names: tuple) -> tuple:
    """The state after a statement: names that still have no value are the names it bound first."""
    return tuple(
        Ended(name[0], Span(*name[1:6])) if type(value) is Unbound and not name[0].startswith("__dsl_") else value
        for name, value in zip(names, after)
    )


class TirxHooks(Hooks):
    """core's hooks with TIRx's meaning."""

    callee: Callable[[Any], Any]  # what a call of an undecorated function calls

    # --- registers ---

    first = staticmethod(registers.first)
    assign = staticmethod(registers.assign)
    rebound = staticmethod(registers.rebound)
    declared = staticmethod(registers.declared)
    augmented = staticmethod(registers.augmented)
    read = staticmethod(registers.read)
    stored = staticmethod(registers.stored)
    unused = staticmethod(registers.unused)

    perform = staticmethod(instructions.perform)
    Named = staticmethod(instruction_arguments.Named)
    Place = staticmethod(instruction_arguments.Place)

    @staticmethod
    def parts(value: Any, count: int) -> tuple:
        """The values of `a, b = value`."""
        items = tuple(value) if isinstance(value, (tuple, list)) else ()
        if len(items) != count:
            what = f"{len(items)} values" if items else type_name(value)
            raise DSLUserCodeTypeError(
                f"{count} names are assigned, got {what}",
                id="ASSIGN_COUNT",
                fix="as many names as extents: `bx, by = T.cta_id([2, 3])`",
            )
        return items

    # --- parts of a function ---

    @staticmethod
    def device(function: Callable, *arguments: Any) -> None:
        device_part.run(function, *arguments)

    # --- branches ---

    @staticmethod
    def if_(test: Any, then: Callable, orelse: Callable, state: tuple, names: tuple) -> tuple:
        if not isinstance(test, Numeric):
            _refuse_vector(test)
            return then(*state) if test else orelse(*state)
        flag, state = choice.truth(test, "if"), _open(state)
        arms = [_scoped(arm, lambda arguments: arguments) for arm in (then, orelse)]
        if not is_dynamic(flag):
            return _closed(arms[0 if flag.value else 1](*state), names)
        unset = Filling(state)
        then, orelse = (_filling(unset, arm, 0) for arm in arms)
        values = statements.if_(flag, then, orelse, unset.fill(state), names)
        return _closed(unset.clear(values), names)

    ifexp = staticmethod(choice.ifexp)
    if_then_else = staticmethod(choice.if_then_else)
    and_ = staticmethod(choice.and_)
    or_ = staticmethod(choice.or_)
    not_ = staticmethod(choice.not_)

    @staticmethod
    def address_of(buffer: Any, index: Any):
        if not isinstance(buffer, Buffer):
            raise DSLUserCodeTypeError(
                f"T.address_of takes an element of a buffer, got one of {type_name(buffer)}",
                fix="T.address_of(A[i])",
                id="ADDRESS_OF",
            )
        return buffer.ptr_to(index if isinstance(index, tuple) else (index,))

    # --- loops ---

    Range = staticmethod(loops.python_range)
    Serial = staticmethod(loops.serial)
    Unroll = staticmethod(loops.unroll)
    Vectorized = staticmethod(loops.vectorized)
    Thread = staticmethod(loops.thread)
    axes = staticmethod(loops.axes)
    axis = staticmethod(loops.axis)

    @staticmethod
    def for_(
        domain: Any, body: Callable, state: tuple, names: tuple, target: Any = None, stop: Callable | None = None
    ) -> tuple:
        scoped, state = _scoped(body, lambda arguments: arguments[1:]), _open(state)
        if isinstance(domain, Range):
            unset = Filling(state)
            after = unset.clear(
                statements.for_(domain, _filling(unset, scoped, 1), unset.fill(state), names, statements.UNUSED, stop)[
                    :-1
                ]
            )
        else:
            after = domain.run(scoped, state, names, stop)
        return (*_closed(after, names), Ended(LOOP_VARIABLE, here()))

    @staticmethod
    def while_(test: Callable, body: Callable, state: tuple, names: tuple) -> tuple:
        def flag(*inner):
            value = test(*inner)
            return choice.truth(value, "while") if isinstance(value, Numeric) else Boolean(bool(value))

        state = _open(state)
        unset = Filling(state)
        scoped = _filling(unset, _scoped(body, lambda arguments: arguments), 0)
        after = statements.while_(lambda *inner: flag(*unset.clear(inner)), scoped, unset.fill(state), names)
        return _closed(unset.clear(after), names)


def _refuse_vector(test: Any) -> None:
    if isinstance(test, (TensorSSA, Ramp)):
        refuse("a branch in it goes one way in some trips and another in others")
        raise DSLUserCodeTypeError(
            "condition must be scalar, got vector", id="BRANCH_VECTOR", fix="T.Select chooses lane by lane"
        )


_HOOKS = TirxHooks()
_WORDS = {
    "hooks": _HOOKS,
    "ranges": {
        builtins.range: "Range",
        statement_names.serial: "Serial",
        statement_names.parallel: "Serial",
        statement_names.unroll: "Unroll",
        statement_names.vectorized: "Vectorized",
        statement_names.thread_binding: "Thread",
        _HOOKS.axis: "axis",
    },
    "calls": {builtins.any: "any_", builtins.all: "all_", builtins.bool: "bool_"},
    "named": {builtins.print: "print_", builtins.str: "str_", builtins.repr: "repr_", builtins.format: "format_"},
}


def grammar(rewriter: type, **different: Any) -> Grammar:
    """What T.prim_func and T.inline functions mean, rewritten by `rewriter`; `different`: other fields of a Grammar."""
    return Grammar(**{**_WORDS, **different}, rewriter=rewriter)


UNDECORATED = Grammar(**_WORDS, by_value=True)
_HOOKS.callee = Helpers(UNDECORATED).callee
