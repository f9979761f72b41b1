"""Hooks of the compilers: which calls are seen, by which names, and how they are written."""

import importlib.util
import sys
import types
from pathlib import Path

import pytest

from dsl import alias
from harness.capture import cute_hooks, importing
from harness.capture.recorder import Call, Recorder, Wanted

PROGRAM = Path(__file__).parent / "program_of_an_author.py"


@pytest.fixture
def program():
    """The program as a module, under our compiler."""
    alias.install("emulator")
    spec = importlib.util.spec_from_file_location("program_of_an_author", PROGRAM)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    alias.uninstall()


def test_names_that_a_call_is_chosen_by(program):
    function = cute_hooks.plain(program.scale)
    assert {"scale", "scale_kernel", "helper"} <= cute_hooks.names_of(function, ())
    kernel = program.Scaled(2)
    call = cute_hooks.plain(program.Scaled.__call__)
    assert {"Scaled", "scale", "scale_kernel"} <= cute_hooks.names_of(call, (kernel,))


def test_decorated_functions_are_recognised(program):
    assert cute_hooks.is_decorated(program.scale) and cute_hooks.is_decorated(program.scale_kernel)
    assert not cute_hooks.is_decorated(program.main)
    assert cute_hooks.plain(program.scale).__name__ == "scale" and cute_hooks.plain(program.main) is program.main


def test_a_direct_call_as_text(program):
    from harness.capture.arguments.spelling import Spelling

    call = cute_hooks.direct_call(cute_hooks.plain(program.scale), (1, 2.5), {"n": 3})
    speller = Spelling(call.plain)
    text = speller.finished(call.text(speller), {id(root): root.__name__ for root in speller.roots}, set())
    assert (call.name, text) == ("scale", "scale(1, 2.5, n=3)")


def test_a_method_is_called_on_its_instance(program):
    from harness.capture.arguments.spelling import Spelling

    call = cute_hooks.direct_call(cute_hooks.plain(program.Scaled.__call__), (program.Scaled(2), 1, 2), {})
    speller = Spelling(call.plain)
    text = speller.finished(call.text(speller), {id(root): root.__name__ for root in speller.roots}, set())
    assert (call.name, text) == ("Scaled", "instance(1, 2)")


def test_hooks_wait_for_the_compilers(monkeypatch):
    waiting: dict = {}
    monkeypatch.setattr(importing, "_waiting", waiting)
    monkeypatch.setattr(
        sys,
        "modules",
        {name: m for name, m in sys.modules.items() if "cutlass" not in name and not name.startswith("dsl")},
    )
    cute_hooks.install(Recorder(Wanted(), list))
    assert {"dsl.launch.call.jit", "cutlass.base_dsl.dsl", "cutlass.base_dsl.compiler"} <= set(waiting)


def test_a_call_that_a_base_class_refuses(monkeypatch):
    """A class of compiled functions may try its base's call, and then make another one."""

    class Compiled:
        def __call__(self, x):
            raise ValueError("not so")

    class Forgiving(Compiled):
        def __call__(self, x):
            try:
                return super().__call__(x)
            except ValueError:
                return x + 1

    monkeypatch.setattr(cute_hooks, "_hooked", set())
    first, second, taken = Compiled(), Forgiving(), []
    made = cute_hooks.Compiled(cute_hooks.plain, (), (), {}, (), [])
    monkeypatch.setattr(cute_hooks, "_compiled", {id(each): (each, made) for each in (first, second)})
    monkeypatch.setattr(cute_hooks, "compiled_call", lambda *rest: Call("f", set, lambda spelling: "f(1)"))
    recorder = Recorder(Wanted(), taken.append)
    for each in (first, second):
        cute_hooks._hook_result(type(each), recorder)
    assert second(1) == 2
    (one,) = taken
    assert (one.outcome, [value for _, _, value in one.returned]) == (None, [2])


def test_functions_of_object_files_are_named(monkeypatch):
    module = types.ModuleType("a_runtime")
    module.load_module = lambda path: path
    monkeypatch.setitem(sys.modules, "a_runtime", module)
    recorder = Recorder(Wanted(), print)
    cute_hooks._watch_loading(module, recorder)
    assert [module.load_module("f.o") for _ in range(2)] == ["f.o"] * 2
    (problem,) = recorder.problems
    assert problem.startswith("functions were loaded from object files")
