"""`for` in kernels: a grid at the outermost scope, a loop of one thread elsewhere, unrolled where it is static."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from dsl.core.control_flow import statements
from dsl.core.errors import warn_at
from dsl.core.number.dtypes import Int32, Uint32, is_dynamic
from dsl.core.number.operators import operate
from dsl.core.unbound import UNUSED
from dsl.gpu.threads import index
from dsl.quadrants.errors.errors import QuadrantsSyntaxError
from dsl.quadrants.functions.task import LoopConfig, Program, blocks_for, program
from dsl.quadrants.syntax.iterate import Domain, StaticIterable, domain_of
from dsl.quadrants.values.assignable import Lvalue
from dsl.quadrants.values.matrix import Matrix
from dsl.span import here


def iterated(value: Any):
    """An iterator of the values that a comprehension iterates over."""
    if isinstance(value, Matrix):
        return iter(value.parts())
    return iter(value.static_items() if isinstance(value, Domain) else value)


def unroll(iterable: Any):
    """The values of `for ... in qd.static(...)`."""
    is_domain = isinstance(iterable, (Domain, StaticIterable))
    items = list(statements.counted(iterable.static_items() if is_domain else iterated(iterable)))
    if len(items) > program().unrolling_limit > 0:
        place = here()
        warnings.warn_explicit(
            f"You are unrolling {len(items)} iterations by qd.static, which takes long to compile",
            SyntaxWarning,
            place.file,
            place.line,
        )
    return items


def for_(
    evaluate: Callable,
    body: Callable,
    state: tuple,
    names: tuple,
    targets: int,
    has_static: bool,
    stop: Callable | None = None,
) -> tuple:
    """A `for`: a grid at the outermost scope, a loop elsewhere, unrolled where it is over something static."""
    current = program()
    config, current.config = current.config, LoopConfig()
    if current.is_top and not config.serialize:
        domain = current.on_host(lambda: domain_of(evaluate(), has_static))
        domain = domain_of(evaluate(), has_static) if domain is None else domain
    else:
        domain = domain_of(evaluate(), has_static)
    if isinstance(domain, StaticIterable):
        for value in domain.static_items():
            state = body(value, *state)
            flags = stop(*state) if stop is not None else ()
            if any(map(is_dynamic, flags)):
                raise QuadrantsSyntaxError.at(
                    "You are trying to `break` a static `for` loop, but the `break` "
                    "statement is inside "
                    "a non-static `if`.",
                    fix="decide by qd.static(...)",
                )
            if any(flags):
                break
        return state
    domain.check_targets(targets)
    if not current.is_top:
        if set(current.nest) == {"if"} and not config.serialize:
            warn_at(
                "this loop runs on one thread: a run-time `if` around it takes it out of the outermost scope. "
                "qd.static(...) in the test keeps it parallel, qd.loop_config(serialize=True) confirms one thread",
                UserWarning,
                here(),
            )
        return _serial(current, domain, body, state, names, stop)
    if config.serialize:
        return _serial(current, domain, body, state, names, stop)
    if stop is not None:
        raise QuadrantsSyntaxError.at(
            "Cannot break in the outermost loop: its iterations are threads",
            fix="write `qd.loop_config(serialize=True)` before it, which makes it serial",
        )
    _parallel(current, domain, lambda k: body(k, *state), config)
    return state


def _serial(
    current: Program, domain: Domain, body: Callable, state: tuple, names: tuple, stop: Callable | None
) -> tuple:
    count = domain.count()

    def trip(k, *inner):
        return body(domain.at(k), *inner)

    with current.nested("for"):
        return statements.for_(statements.Range(count), trip, state, names, UNUSED, stop)[:-1]


def _parallel(current: Program, domain: Domain, body: Callable, config: LoopConfig) -> None:
    count = domain.count_on(current)
    on_host = not isinstance(count, Lvalue)
    current.close()
    task = current.open(config.block_dim, is_parallel=True)
    with current.nested("parallel"):
        threads = config.block_dim
        first = index.block_idx()[0] * index.block_dim()[0] + index.thread_idx()[0]
        if on_host:
            task.grid = current.on_host(lambda: blocks_for(count, threads))
            statements.if_(operate("lt", first, Int32(count)), lambda: (body(domain.at(first)), ())[1], tuple, (), ())
        else:
            task.grid = current.most_blocks
            _stride(first, count.load(), index.block_dim()[0] * index.grid_dim()[0], lambda k: body(domain.at(k)))
    current.close()
    current.open()


def _stride(first: Int32, count: Int32, step: Int32, body: Callable) -> None:
    """The iterations first, first + step... below `count`; counted unsigned, as first + step may pass 2**31."""
    limit = Uint32(operate("max", count, Int32(0)))

    def trip(k):
        body(Int32(k))
        return (k + Uint32(step),)

    statements.while_(lambda k: operate("lt", k, limit), trip, (Uint32(first),), (("the trip", *_place()),))


def _place() -> tuple:
    at = here()
    return at.file, at.line, at.column, at.end_line, at.end_column
