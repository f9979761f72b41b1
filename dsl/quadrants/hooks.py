"""What rewritten code calls: statements, variables and the expressions that Python would decide itself.

Control flow is core's (branch, loop); here is which of it is a run-time statement, and which loop is a grid.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from dsl.core.control_flow import statements
from dsl.core.errors import tell
from dsl.core.number.dtypes import Boolean, Int32, Numeric, Uint32, is_dynamic
from dsl.core.number.operators import operate
from dsl.core.unbound import UNUSED
from dsl.gpu import index
from dsl.quadrants import captured, dtypes as types, errors
from dsl.quadrants.assignable import Lvalue, Variable, value_of
from dsl.quadrants.errors import (
    QuadrantsCompilationError,
    QuadrantsIndexError,
    QuadrantsSyntaxError,
    QuadrantsTypeError,
)
from dsl.quadrants.iterate import Domain, StaticIterable, domain_of
from dsl.quadrants.matrix import Matrix
from dsl.quadrants.task import LoopConfig, Program, blocks_for, program
from dsl.quadrants.wording import an, described
from dsl.span import here

bound, guard, surely = statements.bound, statements.guard, statements.surely
unless, use, returned = statements.unless, statements.use, statements.returned


def refuse(message: str, fix: str, kind: str):
    """Raise what the rewriter found where it is reached."""
    raise getattr(errors, kind).at(message, fix)


# --- variables -------------------------------------------------------------------------------------------------------


def declare(value: Any, name: str) -> Any:
    """What the first assignment of a name binds it to: a variable for numbers, else the thing itself."""
    if isinstance(value, Matrix):
        return value.variable()
    number = types.number(value_of(value))
    if number is not None:
        return Variable(type(number), number)
    if value is None:
        return None
    if type(value).__module__ == "numpy" and getattr(value, "shape", ()) != ():
        raise QuadrantsTypeError.at(
            "Only 0-dimensional numpy array can be used to initialize a scalar expression",
            fix="qd.Matrix(array) makes a matrix of it, a qd.types.ndarray() argument brings it",
        )
    return [declare(part, name) for part in value] if type(value) is list else value


def store(variable: Any, value: Any, name: str) -> Any:
    """A later assignment of a name."""
    if isinstance(variable, (Lvalue, Matrix)):
        if isinstance(variable, Lvalue) and types.number(value_of(value)) is None:
            raise QuadrantsTypeError.at(
                f"`{name}` is {an(variable.dtype)}, but is assigned {described(value)}",
                "give it a number, or use another name",
            )
        variable.store(value)
        return variable
    if isinstance(variable, Numeric):
        raise QuadrantsSyntaxError.at(
            f"`{name}` cannot be assigned: it is a loop index or a kernel argument",
            fix=f"copy it first: `copy = {name}`",
        )
    kind = QuadrantsTypeError if isinstance(variable, str) else QuadrantsSyntaxError
    raise kind.at(
        f"`{name}` is {described(variable)}, known while compiling, so it cannot be assigned again", "use another name"
    )


def annotated(value: Any, annotation: Any) -> Any:
    """The value of `name: annotation = value`."""
    dtype = types.of(annotation)
    return value if dtype is None else dtype(value)


def copied(value: Any) -> Any:
    return value.load() if isinstance(value, Matrix) else value_of(value)


def converted(value: Any, annotation: Any) -> Any:
    """A returned value, read, in the annotated type."""
    if isinstance(value, tuple):
        parts = annotation if isinstance(annotation, tuple) else getattr(annotation, "__args__", ())
        return tuple(converted(part, parts[k] if k < len(parts) else None) for k, part in enumerate(value))
    value = copied(value)
    dtype = types.of(annotation) if annotation is not None else None
    if dtype is not None and types.number(value) is not None:
        return dtype(value)
    if isinstance(value, Matrix) and getattr(annotation, "element_shape", None) and annotation.dtype is not None:
        return value.cast(annotation.dtype)
    return value


def ended() -> Any:
    """What a real_func gives that reaches its end without a `return`: zeros."""

    def zero(annotation: Any) -> Any:
        parts = annotation if isinstance(annotation, tuple) else getattr(annotation, "__args__", None)
        return tuple(map(zero, parts)) if parts else annotation(0) if hasattr(annotation, "element_shape") else 0

    return returned_value(zero(program().returns[-1]))


def loaded_parts(value: Any) -> Any:
    """A returned value with its places read."""
    return tuple(map(loaded_parts, value)) if isinstance(value, tuple) else copied(value)


def loaded(value: Any) -> Any:
    """A value to be returned from inside a run-time statement."""
    if isinstance(value, tuple):
        return tuple(map(loaded, value))
    value = copied(value)
    number = types.number(value)
    return value if number is None else types.dynamic(number)


def taken(value: Any, count: int, is_static: bool) -> list:
    """The parts of a value that is assigned to `count` names, read before any of them is stored."""
    if not isinstance(value, (Matrix, list, tuple, range, str)) and not hasattr(type(value), "__iter__"):
        raise QuadrantsSyntaxError.at(
            f"{described(value)} cannot be unpacked", "unpack a vector or a tuple of as many parts"
        )
    parts = list(value.parts()) if isinstance(value, Matrix) else list(value)
    if len(parts) != count:
        raise QuadrantsSyntaxError.at(
            f"Number of targets does not match value length: {count} and {len(parts)}",
            f"name {len(parts)} target{'s' * (len(parts) != 1)}",
        )
    return parts if is_static else [copied(part) for part in parts]


def set_item(container: Any, key: Any, value: Any) -> None:
    if type(container) in (list, dict):
        place = container[_static_key(key)] if type(container) is list else None
        if isinstance(place, Lvalue):
            place.store(value)
        else:
            container[_static_key(key)] = value
        return
    place = item(container, key)
    if not isinstance(place, (Lvalue, Matrix)):
        raise QuadrantsTypeError.at(
            f"an element of {described(container)} cannot be assigned in a kernel",
            "assign to an element of a field, an array or a vector",
        )
    place.store(value)


def set_attribute(owner: Any, name: str, value: Any) -> None:
    place = attribute(owner, name) if hasattr(owner, name) else None
    if not isinstance(place, (Lvalue, Matrix)):
        raise QuadrantsSyntaxError.at(
            f"`{name}` of {described(owner)} cannot be assigned in a kernel: it is not on the device",
            "keep what a kernel changes in a field: `qd.field(dtype, shape=())`",
        )
    place.store(value)


def augment(operator: str, place: Any, value: Any, name: str = "it") -> None:
    """`place op= value`: atomic for + - & | ^ where other threads see the place."""
    from dsl.quadrants.atomic import ATOMIC, update

    if isinstance(place, Matrix):
        place.augment(operator, value)
        return
    if not isinstance(place, Lvalue):
        store(place, None, name)
    if isinstance(value, Matrix):
        raise QuadrantsTypeError.at(f"a number cannot be changed by {described(value)}", "use one element of it")
    if operator in ATOMIC:
        update(operator, place, value)
    else:
        place.store(operate(operator, place.load(), types.number(value_of(value))))


def augment_item(operator: str, container: Any, key: Any, value: Any) -> None:
    augment(operator, item(container, key), value)


def augment_attribute(operator: str, owner: Any, name: str, value: Any) -> None:
    augment(operator, attribute(owner, name), value, name)


def attribute(owner: Any, name: str) -> Any:
    """`owner.name`, where the owner comes from a parameter."""
    return captured.reached(owner, getattr(owner, name), ".", name)


def _static_key(key: Any) -> Any:
    key = value_of(key)
    if is_dynamic(key):
        raise QuadrantsTypeError.at(
            "a list, tuple or dict is looked up while compiling, but the index is a run-time value",
            fix="use a qd.Vector, or a static index",
        )
    return key.value if isinstance(key, Numeric) else key


def item(container: Any, key: Any) -> Any:
    """`container[key]`: an element's place for fields, arrays and matrices, Python's own for others."""
    if isinstance(container, (list, tuple, dict, str, range)):
        found = _static_key(key)
        try:
            return captured.reached(container, container[found], "[", found)
        except (LookupError, TypeError):
            raise _not_there(container, found) from None
    if isinstance(container, (Numeric, Lvalue)):
        raise QuadrantsTypeError.at(f"{described(container)} has no elements", "index a field, an array or a vector")
    return container[key]


def _not_there(container: Any, key: Any) -> QuadrantsCompilationError:
    """The error for a list or dict without that index or key."""
    if isinstance(container, dict):
        known = ", ".join(map(repr, list(container)[:5]))
        return QuadrantsCompilationError.at(
            f"this dict has no key {key!r}", f"use one of {known}" if known else "give it that key before"
        )
    if type(key) in (int, bool):
        count = len(container)
        return QuadrantsIndexError.at(
            f"index {key} is out of range of {described(container)} of {count}",
            f"index from 0 to {count - 1}" if count else "it is empty",
        )
    return QuadrantsTypeError.at(
        f"{described(container)} is indexed by integers, got {described(key)}", "give an integer known while compiling"
    )


def slice_(lower: Any, upper: Any, step: Any) -> slice:
    return slice(*(None if part is None else _static_key(part) for part in (lower, upper, step)))


def iterated(value: Any):
    """What a comprehension iterates over."""
    return value.parts() if isinstance(value, Matrix) else value.static_items() if isinstance(value, Domain) else value


def returned_value(value: Any) -> Any:
    """The value of a `return`."""
    returns = program().returns
    value = loaded_parts(value)  # an access that fails does so at this line
    if type(value) in (int, float):
        types.number(value)  # a literal that no type holds is refused here
    return converted(value, returns[-1]) if returns else value


# --- tests -----------------------------------------------------------------------------------------------------------


def truth(value: Any) -> Any:
    """The test of a run-time statement as a Boolean."""
    value = value_of(value)
    number = types.number(value)
    if number is None:
        if isinstance(value, Matrix):
            raise QuadrantsTypeError.at(
                f"a test must be a number, got {described(value)}", fix="test its elements, or `v.any()`, `v.all()`"
            )
        number = Boolean(bool(value))
    if number.is_float:
        raise QuadrantsTypeError.at(
            f"a test must be an integer, got {an(types.of_core(type(number)))}", fix="compare it: `x != 0`"
        )
    return Boolean(number)


def if_(test: Any, then: Callable, orelse: Callable, state: tuple, names: tuple) -> tuple:
    with program().nested("if"):
        return statements.if_(test, then, orelse, state, names)


def while_(test: Callable, body: Callable, state: tuple, names: tuple) -> tuple:
    with program().nested("while"):
        return statements.while_(test, body, state, names)


# --- loops -----------------------------------------------------------------------------------------------------------


def unroll(iterable: Any):
    """What `for ... in qd.static(...)` iterates over."""
    items = list(iterable.static_items() if isinstance(iterable, (Domain, StaticIterable)) else iterated(iterable))
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
            tell(
                "this loop runs on one thread: a run-time `if` around it takes it out of the outermost scope. "
                "qd.static(...) in the test keeps it parallel, qd.loop_config(serialize=True) says that it is meant",
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
