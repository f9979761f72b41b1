"""Kernels: a call takes the arguments, `.launch` traces and launches it."""

from __future__ import annotations

import ast
import inspect
from typing import Any

from dsl.core import trace
from dsl.core.diagnosis import author_traceback
from dsl.core.errors import DSLUserCodeRuntimeError, DSLUserCodeTypeError, DSLWarning, warn_at
from dsl.core.number.dtypes import Float, Float32, Numeric, NumericMeta, is_dynamic, of_python
from dsl.core.syntax import function_source
from dsl.launch.argument import abi, containers, kinds
from dsl.launch.argument.abi import Static
from dsl.launch.call.argument_checks import check_traced
from dsl.launch.call.bound_arguments import gather, spread
from dsl.launch.call.decorated_function import DecoratedFunction
from dsl.launch.call.limits import launch_keywords, launch_limits
from dsl.span import Span, here


class KernelFunction(DecoratedFunction):
    """A `@kernel` function. A call makes a Call, which `.launch(...)` traces and launches."""

    @author_traceback.guarded
    def __call__(self, *args, **keywords) -> Call:
        place = here()
        if not trace.active():
            raise DSLUserCodeRuntimeError(
                f"kernel `{self.__name__}` is called from plain Python",
                fix="launch it from a @cute.jit function, and call that",
                id="LAUNCH_OUTSIDE_JIT",
            )
        if trace.in_kernel():
            raise DSLUserCodeRuntimeError(
                f"kernel `{self.__name__}` is called inside a kernel",
                fix="make it a @cute.jit function to inline it",
                id="LAUNCH_OUTSIDE_JIT",
            )
        bound = self.bind(args, keywords)
        names, values = spread(bound)
        return Call(self, bound, [self._parameter(name, value) for name, value in zip(names, values)], place)

    __iter__ = None  # `kernel[grid, block]` is refused; nothing is iterated

    @author_traceback.guarded
    def __getitem__(self, extents: Any) -> None:
        """Raises DSLUserCodeTypeError: extents are arguments of the launch."""
        raise DSLUserCodeTypeError(
            f"kernel `{self.__name__}` takes no extents in brackets",
            fix=f"`{self.__name__}(...).launch(grid=..., block=...)`",
            id="CALL_EXTRA_ARG",
        )

    def launch(self, *_, **__) -> None:
        """Raises DSLUserCodeTypeError: a launch belongs to a call of the kernel."""
        name = "kernel" if self.__name__ == "<lambda>" else self.__name__
        raise DSLUserCodeTypeError(
            f"`{name}.launch` has no arguments for the kernel: they belong to a call of it",
            fix=f"call it first: `{name}(...).launch(grid=..., block=...)`",
            id="CALL_MISSING_ARG",
        )

    def seen(self, name: str, value: Any) -> Any:
        """The value of a parameter as the author sees it."""
        return value

    def _parameter(self, name: str, value: Any) -> Any:
        """A Python number becomes a typed number (a kernel parameter) unless it is annotated static."""
        annotation = self.annotations.get(name)
        if self.is_static(name):
            if is_dynamic(value):
                raise DSLUserCodeTypeError(
                    f"passes a dynamic {type(value).__name__} for `{name}`, which is Constexpr",
                    fix=f"annotate `{name}` with its type, or pass a Python value",
                    id="PHASE_REQUIRES_CONSTANT",
                )
            return Static(value)
        check_traced(self.__name__, name, value, annotation)
        value = self.converted(name, value)
        return containers.map_parts(
            value, lambda part, hint: self._number(part, hint, name), annotation, self.static_marker
        )

    def _number(self, value: Any, annotation: Any, name: str) -> Any:
        """A part of a parameter: a Python number as a number of the DSL."""
        if containers.keeps_ints(annotation):
            return value
        if annotation in kinds.FAMILIES:
            annotation = Float32 if annotation is Float and of_python(value) else type(value)
        if isinstance(annotation, NumericMeta) and isinstance(value, Numeric):
            return annotation(value)
        if isinstance(annotation, type) and issubclass(annotation, Numeric) and of_python(value):
            number = annotation(value)
            signed = abi.as_python_number(annotation)
            if signed is not annotation:
                number = signed(signed.wrapped(number.value))
                if number.value < 0 < value:
                    abi.warn_of_sign(value, annotation, number.value, name)
            return number
        dtype = of_python(value)
        return dtype(value) if dtype else value


class Call:
    """A kernel and its arguments, waiting for `.launch`."""

    def __init__(self, kernel: KernelFunction, bound: inspect.BoundArguments, values: list, place: Span):
        self.kernel, self.bound, self.values = kernel, bound, values
        self.pending = (kernel.__name__, place)
        trace.host().pending.append(self.pending)

    @property
    def type_text(self) -> str:
        return f"call of kernel `{self.kernel.__name__}`"

    @author_traceback.guarded
    def launch(
        self,
        *positional,
        grid=(1, 1, 1),
        block=(1, 1, 1),
        cluster=None,
        smem=None,
        stream=None,
        cooperative=False,
        use_pdl=False,
        min_blocks_per_mp=0,
        max_number_threads=(0, 0, 0),
        async_deps=None,
        **others,
    ) -> None:
        """Run the kernel on `grid` blocks of `block` threads (one, unless given),
        with `smem` bytes of dynamic shared memory.

        `smem` defaults to what the kernel's SmemAllocators allocated. `cooperative`: all blocks run at once. `use_pdl`:
        the kernel may start before the one ahead of it in the stream has ended (programmatic dependent launch).
        `min_blocks_per_mp` and `max_number_threads` bound its registers. `others`: launch_keywords.
        """
        name = self.kernel.__name__
        launch_keywords.check_others(name, others)
        if positional:
            raise DSLUserCodeTypeError(
                f"the launch of `{name}` takes its arguments by name",
                fix="launch(grid=(x, y, z), block=(x, y, z))",
                id="CALL_EXTRA_ARG",
            )
        if not trace.active():
            raise DSLUserCodeRuntimeError(
                f"kernel `{name}` is launched from plain Python",
                fix="launch it in the @cute.jit function that called it",
                id="LAUNCH_OUTSIDE_JIT",
            )
        state = trace.host()
        names = [n for n, value in zip(spread(self.bound)[0], self.values) if not isinstance(value, Static)]
        if self.pending in state.pending:
            state.pending.remove(self.pending)
        cluster = (1, 1, 1) if cluster is None else cluster
        launch_limits.check_launch(name, grid, block, cluster)
        flags = trace.COOPERATIVE * bool(cooperative) | trace.PROGRAMMATIC * bool(use_pdl)
        config = trace.Launch(
            grid,
            block,
            cluster,
            smem,
            launch_keywords.stream_of(name, stream, async_deps),
            flags,
            launch_keywords.min_blocks(name, min_blocks_per_mp),
            launch_keywords.max_threads(name, max_number_threads, block),
            launch_keywords.events(name, others),
        )
        trace.launch(
            self.kernel.symbol,
            self._body,
            [v for v in self.values if not isinstance(v, Static)],
            config,
            lambda allocated_bytes: launch_limits.check_asked(name, smem, allocated_bytes),
            names,
        )

    def _body(self, *dynamic) -> None:
        remaining = iter(dynamic)
        values = [
            value.value if isinstance(value, Static) else self.kernel.seen(name, next(remaining))
            for name, value in zip(spread(self.bound)[0], self.values)
        ]
        args, keywords = gather(self.bound, values)
        if self.kernel.rewritten(*args, **keywords) is not None:
            _warn_of_return(self.kernel)


def _warn_of_return(kernel: KernelFunction) -> None:
    """Warn, at its first `return` with a value, that nobody gets what a kernel returns."""
    definition = function_source.find_definition(inspect.unwrap(kernel.function))
    found = [node for node in ast.walk(definition) if isinstance(node, ast.Return) and node.value is not None]
    place = function_source.place_in(kernel.function.__code__.co_filename, found[0] if found else definition)
    warn_at(
        f"RETURN_IN_KERNEL: what kernel `{kernel.__name__}` returns is lost (store it in a tensor: `out[i] = ...`)",
        DSLWarning,
        place,
    )
