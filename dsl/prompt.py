"""`python -m dsl -i`: Python's prompt, which keeps the text of what is typed, so that functions have source."""

from __future__ import annotations

import code
import linecache
import sys
from collections.abc import Callable


class Prompt(code.InteractiveConsole):
    """A prompt over `names`; `failure(error)` is the text of what went wrong."""

    def __init__(self, names: dict, failure: Callable[[BaseException], str]):
        super().__init__(names)
        self._failure, self._number = failure, 1

    def runsource(self, source: str, filename: str = "", symbol: str = "single") -> bool:
        """Compile and run a statement; whether it is not complete yet."""
        name = f"<input {self._number}>"
        try:
            compiled = self.compile(source, name, symbol)
        except (OverflowError, SyntaxError, ValueError):
            self.showsyntaxerror(name)
            return False
        if compiled is None:
            return True
        linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
        self._number += 1
        self.runcode(compiled)
        return False

    def showtraceback(self) -> None:
        error = sys.exc_info()[1]
        assert error is not None and error.__traceback__ is not None
        self.write(self._failure(error.with_traceback(error.__traceback__.tb_next)) + "\n")  # without runcode's frame


def ask(names: dict, failure: Callable[[BaseException], str]) -> None:
    """Read and run statements until the input ends."""
    if sys.stdin.isatty():
        try:
            import readline  # noqa: F401
        except ImportError:
            pass
    Prompt(names, failure).interact(banner="", exitmsg="")
