"""How values of a compiler's runtime were made."""

import sys
import types

from harness.capture.arguments import makings


class Argument:
    def __init__(self, source):
        self.source = source
        self._kind = None

    def mark_dynamic(self, mode):
        return self

    @property
    def kind(self):
        return self._kind

    @kind.setter
    def kind(self, value):
        self._kind = value


def test_makers_are_wrapped_wherever_they_are_bound_and_changes_are_kept(monkeypatch):
    runtime, program = types.ModuleType("runtime_of_a_compiler"), types.ModuleType("authors_program")
    runtime.from_there = program.from_there = lambda source, align=None: Argument(source)
    for module in (runtime, program):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    makings.watch_functions(runtime, "compiler.runtime", ("from_there", "not_there"))
    makings.watch_methods(Argument, ("mark_dynamic",), ("kind",))
    value = program.from_there([1], align=16).mark_dynamic(mode=1)
    value.kind = int
    made = makings.of(value)
    assert (made.function, made.args, made.keywords) == ("compiler.runtime.from_there", ([1],), {"align": 16})
    assert made.changes == [("mark_dynamic", (), {"mode": 1}), ("kind =", (int,), {})]
    assert makings.of(Argument(2)) is None


def test_a_value_that_is_gone_is_forgotten():
    value = Argument(1)
    makings.note(value, makings.Making("f", (), {}))
    key = id(value)
    del value
    assert key not in makings._by_id
