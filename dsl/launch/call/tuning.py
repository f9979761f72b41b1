"""The fastest of several configurations: measured where the program runs, once for each kind of call."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterator
from typing import Any

from dsl.core import trace
from dsl.core.diagnosis.author_traceback import guarded
from dsl.core.errors import DSLUserCodeError, DSLUserCodeTypeError
from dsl.core.number.operators import type_name
from dsl.launch.call.compiling.compiler import Options
from dsl.launch.call.jit import CompiledFunction, JitFunction
from dsl.launch.call.timing import JitArguments, benchmark


class CantImplementError(Exception):
    """The error that a tuned function raises for an impossible configuration: the next one is tried."""


@guarded
def tune(
    func: Callable[..., Callable],
    params_dict: dict[str, list] | None = None,
    kernel_arguments: JitArguments | None = None,
    warmup_iterations: int = 10,
    iterations: int = 100,
    stream: Any = None,
) -> dict[str, Any]:
    """The configuration, one value for each name in `params_dict`, for which what `func` returns runs fastest.

    `func(*arguments, **configuration)` returns a function without arguments. A configuration for which it, or that,
    raises is left out. Raises what the first raised where all do.
    """
    arguments = kernel_arguments or JitArguments()

    def runs(configuration: dict) -> Callable:
        return func(*arguments.args, **arguments.kwargs, **configuration)

    return _fastest(runs, params_dict or {}, warmup_iterations, iterations)[0]


def _fastest(
    runs: Callable[[dict], Callable], params: dict, warmup_iterations: int, iterations: int
) -> tuple[dict, Callable]:
    """The fastest configuration, and what `runs` gave for it."""
    best: tuple[float, dict, Callable] | None = None
    failed: Exception | None = None
    for configuration in _configurations(params):
        try:
            run = runs(configuration)
            took_us = benchmark(run, warmup_iterations=warmup_iterations, iterations=iterations)
        except Exception as error:  # upstream's contract: this configuration is left out
            failed = failed or error
            continue
        if best is None or took_us < best[0]:
            best = took_us, configuration, run
    if best is None:
        assert failed is not None  # there is a configuration at least
        raise failed
    return best[1], best[2]


def _configurations(params: dict) -> Iterator[dict]:
    for name, values in params.items():
        if not values or isinstance(values, str):
            raise DSLUserCodeTypeError(
                f"values of `{name}` must be a list, got {type_name(values)}", fix=f'params_dict={{"{name}": [1, 2]}}'
            )
    return (dict(zip(params, values)) for values in itertools.product(*params.values()))


class autotune_jit:
    """A decorator over @cute.jit: the first call with other values of the arguments that `update_on_change` names runs
    every configuration of `params_dict`; later calls run the fastest."""

    def __init__(
        self,
        params_dict: dict[str, list] | None = None,
        update_on_change: list[str] | None = None,
        warmup_iterations: int = 10,
        iterations: int = 100,
    ):
        self.params, self.names = params_dict or {}, tuple(update_on_change or ())
        self.warmup_iterations, self.iterations = warmup_iterations, iterations

    @guarded
    def __call__(self, function: JitFunction) -> TunedFunction:
        if not isinstance(function, JitFunction):
            raise DSLUserCodeTypeError(
                f"autotune_jit decorates a @cute.jit function, got {type_name(function)}",
                fix="write @cute.jit below it",
            )
        parameters = function.signature.parameters
        if unknown := [name for name in (*self.params, *self.names) if name not in parameters]:
            raise DSLUserCodeError(
                f"`{function.__name__}` has no parameter `{unknown[0]}`", fix=f"one of {', '.join(parameters)}"
            )
        return TunedFunction(function, self)


class TunedFunction(JitFunction):
    """A jit function whose calls from Python run its fastest configuration."""

    def __init__(self, function: JitFunction, tuning: autotune_jit):
        super().__init__(function.function, function.grammar, function.static_marker)
        self._tuning, self._found = tuning, {}

    def __call__(self, *args, **keywords):
        if trace.active():
            return super().__call__(*args, **keywords)
        return self._tuned(*args, **keywords)

    @guarded
    def _tuned(self, *args, **keywords):
        bound = self.bind(args, keywords)
        key = tuple(bound.arguments[name] for name in self._tuning.names)
        if key not in self._found:
            self._found[key] = _fastest(
                lambda configuration: self._compiled(bound, configuration),
                self._tuning.params,
                self._tuning.warmup_iterations,
                self._tuning.iterations,
            )
        configuration, compiled = self._found[key]
        return compiled.with_arguments(_with(bound, configuration))

    def _compiled(self, bound: inspect.BoundArguments, configuration: dict) -> _Call:
        chosen = _with(bound, configuration)
        return _Call(CompiledFunction(self, chosen.args, chosen.kwargs, Options()))


class _Call:
    """A compiled function, which runs with the arguments it was compiled for, or with others of their types."""

    def __init__(self, compiled: CompiledFunction):
        self.with_arguments = compiled.call_bound
        self._bound = compiled.bound

    def __call__(self):
        return self.with_arguments(self._bound)


def _with(bound: inspect.BoundArguments, configuration: dict) -> inspect.BoundArguments:
    return inspect.BoundArguments(bound.signature, {**bound.arguments, **configuration})
