"""`%load_ext dsl.notebook`: this compiler in IPython and Jupyter.

Afterwards `import cutlass` (quadrants, tvm) in a cell finds this compiler, an error calls a cell what IPython calls it
(`In[3]`), functions defined under %%time and %%timeit or by exec have source, and the line magic %dsl is known.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import inspect
import linecache
import warnings
from typing import Any

from dsl import alias, span
from dsl.core.errors import PortabilityWarning
from dsl.core.syntax import function_source
from dsl.launch import session
from dsl.launch.devices.protocol import DeviceMissing

STAGES = ("mlir", "cuda", "llvm", "ptx", "sass")
_MOST_TEXTS = 4  # %%timeit parses three texts before it compiles one


def load_ipython_extension(shell: Any) -> None:
    """What %load_ext calls. Raises IPython's UsageError where another `cutlass` was imported before."""
    try:
        alias.install(None)
    except (RuntimeError, DeviceMissing) as error:
        raise _usage(f"{error}; or restart the kernel, and load dsl.notebook before") from None
    if hasattr(shell.compile, "_texts"):  # %reload_ext
        return
    shell.compile.__class__ = _compiler_class(type(shell.compile))
    texts = contextlib.ExitStack()
    texts.enter_context(function_source.executed_texts_kept())  # in the rest of this cell
    shell.events.register("pre_execute", lambda: texts.enter_context(function_source.executed_texts_kept()))
    shell.events.register("post_execute", texts.close)
    magic = _Magic()
    shell.events.register("pre_run_cell", magic.cell_begins)
    shell.register_magic_function(magic, "line", "dsl")


def _usage(text: str) -> Exception:
    from IPython.core.error import UsageError

    return UsageError(text)


def _compiler_class(base: type) -> type:
    """IPython's compiler of cells, `base`, which also keeps what magics compile."""

    class Compiler(base):
        _texts: tuple[str, ...] = ()
        _number = 0

        def cache(self, transformed_code: str, number: int = 0, raw_code: str | None = None) -> str:
            name = super().cache(transformed_code, number, raw_code)
            self._number = number
            span.name_file(name, f"In[{number}]")
            return name

        def ast_parse(self, source: str, *rest, **options) -> ast.AST:
            self._texts = (*self._texts[1 - _MOST_TEXTS :], source)
            return super().ast_parse(source, *rest, **options)

        def __call__(self, source: Any, filename: str, symbol: str, *rest, **options):
            if isinstance(source, ast.AST) and filename.startswith("<") and filename not in linecache.cache:
                filename = self._kept(source, filename)
            return super().__call__(source, filename, symbol, *rest, **options)

        def _kept(self, tree: ast.AST, file: str) -> str:
            """The name under which the text that a magic's `tree` was parsed from can be read; `file` without one."""
            wanted = _definitions(tree)
            best = max(reversed(self._texts), key=lambda text: len(wanted & _definitions(ast.parse(text))), default="")
            if not best or not wanted & _definitions(ast.parse(best)):
                return file
            return function_source.keep_text(best, f"<In[{self._number}]>")

    return Compiler


def _definitions(tree: ast.AST) -> set[tuple[str, int]]:
    """The functions of a text, by name and line."""
    return {
        (getattr(node, "name", ""), node.lineno)
        for node in ast.walk(tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
    }


class _Magic:
    """%dsl [--show STAGE] [--device emulator|cuda] [--portable | --no-portable]

    --show: print this stage of the kernels that the last cell compiled which compiled one (may be repeated).
    --device: where kernels run from now on. --portable: refuse what NVIDIA's compiler rejects, instead of warning.
    """

    def __init__(self):
        self.__doc__ = type(self).__doc__
        self.__name__ = "dsl"
        self._first = self._seen = 0

    def cell_begins(self, *_: Any) -> None:
        """Kernels from here on belong to the next cell."""
        count = len(session.current().kernels)
        if count > self._seen:
            self._first, self._seen = self._seen, count

    def __call__(self, line: str) -> None:
        parser = argparse.ArgumentParser(prog="%dsl", add_help=False, exit_on_error=False)
        parser.add_argument("--show", choices=STAGES, action="append", default=[])
        parser.add_argument("--device", choices=("emulator", "cuda"))
        parser.add_argument("--portable", action=argparse.BooleanOptionalAction)
        try:
            options, unknown = parser.parse_known_args(line.split())
        except argparse.ArgumentError as error:
            raise _usage(f"%dsl: {error}") from None
        if unknown or not line.strip():
            problem = f"unknown: {unknown[0]}" if unknown else "what of this?"
            raise _usage(f"%dsl: {problem} {inspect.cleandoc(self.__doc__ or '')}")
        if options.device:
            self._run_on(options.device)
        if options.portable is not None:
            warnings.simplefilter("error" if options.portable else "default", PortabilityWarning)
        kernels = session.current().kernels
        for stage in options.show:
            print(session.texts(kernels[self._seen :] or kernels[self._first :], stage))

    def _run_on(self, device: str) -> None:
        try:
            session.start(device)
        except DeviceMissing as error:
            raise _usage(f"%dsl: {error}") from None
        self._first = self._seen = 0
