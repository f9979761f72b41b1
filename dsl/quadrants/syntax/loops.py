"""`for` in kernels: a grid at the outermost scope, a loop of one thread elsewhere, unrolled where it is static."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from dsl.core.control_flow import statements
from dsl.core.errors import warn_at
from dsl.core.number.dtypes import Int32, Uint32, is_dynamic
from dsl.core.number.operators import operate
from dsl.core.unbound import UNUSED
from dsl.gpu.threads import index
from dsl.quadrants.errors.errors import QuadrantsSyntaxError
from dsl.quadrants.functions.task import BLOCK_DIM, LoopConfig, Program, Task, blocks_for, position, program
from dsl.quadrants.syntax.boxes import boxes_of
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
    boxes = None if config.block_dim else current.on_host(lambda: boxes_of(domain))
    if boxes is None:
        return _rows(current, domain, body, config.block_dim or BLOCK_DIM)
    with _task(current, boxes.block) as task:
        task.grid = current.on_host(boxes.grid)
        place = boxes.position()
        task.number = lambda: boxes.number(place)
        _where(boxes.inside(place), lambda: body(domain.values(dict(zip(domain.order, place)))))


def _rows(current: Program, domain: Domain, body: Callable, threads: int) -> None:
    """Blocks of consecutive iterations."""
    count = domain.count_on(current)
    with _task(current, (threads, 1, 1)) as task:
        first = position()
        if isinstance(count, Lvalue):
            task.grid = current.most_blocks
            _stride(first, count.load(), index.block_dim()[0] * index.grid_dim()[0], lambda k: body(domain.at(k)))
        else:
            task.grid = current.on_host(lambda: blocks_for(count, threads))
            _where(_below(first, count), lambda: body(domain.at(first)))


def _below(first: Int32, count: Any) -> Any:
    """Whether there is an iteration of this number."""
    if is_dynamic(count):
        return operate("lt", first, Int32(count))
    return operate("lt", Uint32(first), Uint32(max(count, 0)))  # the compiler then knows that it is not negative


@contextlib.contextmanager
def _task(current: Program, block: tuple) -> Iterator[Task]:
    """Trace a task of many threads; then another task of one thread begins."""
    current.close()
    task = current.open(block, is_parallel=True)
    with current.nested("parallel"):
        yield task
    current.close()
    current.open()


def _where(flag: Any, body: Callable) -> None:
    """Run `body` in the threads whose flag holds; in all threads if it is None."""
    if flag is None:
        body()
    else:
        statements.if_(flag, lambda: (body(), ())[1], tuple, (), ())


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
