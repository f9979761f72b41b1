"""The hooks of core that rewritten code calls as `__dsl__`, by their names; a surface puts its own in their place."""

from __future__ import annotations

from dsl.core.control_flow import assertions, covered, expressions, statements
from dsl.core.control_flow.objects import dynamic_index
from dsl.core.control_flow.text import runtime_text, trace_output
from dsl.core.syntax import closures

_MODULES = (closures, statements, expressions, assertions, covered, dynamic_index, trace_output, runtime_text)


class Hooks:
    """core's hooks; a surface's subclass has its own as methods."""

    def __getattr__(self, name: str):
        if (value := next((vars(module)[name] for module in _MODULES if name in vars(module)), None)) is None:
            raise AttributeError(f"no hook is called {name}")
        setattr(self, name, value)
        return value
