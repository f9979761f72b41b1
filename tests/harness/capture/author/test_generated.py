"""The text that a slice gives computes what the program computes: for generated programs of two to four modules."""

import contextlib
import importlib
import itertools
import linecache
import random
import sys

import pytest
from hypothesis import HealthCheck, assume, example, given, settings, strategies as st

from harness.capture.author import slicer

NAMES = ("a", "b", "c", "max", "value", "x")
_numbers = itertools.count()


class Program:
    """Modules as text. A function calls only functions that were made before it, so every call ends."""

    def __init__(self, draw: random.Random, prefix: str):
        self.draw = draw
        self.modules = [f"{prefix}_{letter}" for letter in "pqrs"[: draw.randint(2, 4)]]
        self.heads: dict[str, dict[str, None]] = {name: {} for name in self.modules}
        self.bodies: dict[str, list[str]] = {name: [] for name in self.modules}
        self.taken: dict[str, set[str]] = {name: set() for name in self.modules}
        self.functions: list[tuple[str, str]] = []  # (module, name) of callables of one number
        self.constants: list[tuple[str, str]] = []
        self.classes: list[tuple[str, str]] = []
        kinds = [self.constant, self.function, self.function, self.closure, self.counter, self.klass, self.table]
        kinds += [self.decorated, self.patch, self.defaults, self.lazy]
        self.constant(self.modules[0])
        self.function(self.modules[-1])
        for _ in range(draw.randint(3, 9)):
            draw.choice(kinds)(draw.choice(self.modules))
        self.function(self.modules[0])

    def text(self, module: str) -> str:
        return "\n".join(["import functools", *self.heads[module], *self.bodies[module]]) + "\n"

    def new(self, module: str) -> str:
        free = [name for name in NAMES if name not in self.taken[module]] or [f"n{len(self.taken[module])}"]
        name = self.draw.choice(free)
        self.taken[module].add(name)
        return name

    def reference(self, module: str, to: tuple[str, str], at_import: bool = False) -> str:
        """How a module names something of a module; `at_import`: while it is imported."""
        other, name = to
        if other == module:
            return name
        earlier = self.modules.index(other) > self.modules.index(module)  # later modules import nothing of earlier ones
        ways = ["module", "alias"] + (["from", "renamed"] if earlier else [])
        assert earlier or not at_import
        way = self.draw.choice(ways)
        if way == "module":
            self.heads[module][f"import {other}"] = None
            return f"{other}.{name}"
        if way == "alias":
            alias = self.new(module)
            self.heads[module][f"import {other} as {alias}"] = None
            return f"{alias}.{name}"
        if way == "from" and name not in self.taken[module]:
            self.taken[module].add(name)
            self.heads[module][f"from {other} import {name}"] = None
            return name
        alias = self.new(module)
        self.heads[module][f"from {other} import {name} as {alias}"] = None
        return alias

    def expression(self, module: str, x: str) -> str:
        """A number made of a parameter, constants and calls."""
        parts = [x]
        for _ in range(self.draw.randint(0, 2)):
            if self.constants and self.draw.random() < 0.5:
                parts.append(self.reference(module, self.draw.choice(self.constants)))
            elif self.functions:
                parts.append(f"{self.reference(module, self.draw.choice(self.functions))}({x} % 7)")
        return f" {self.draw.choice('+-*')} ".join(parts)

    def local(self, module: str, *texts: str) -> str:
        """A name for a parameter that hides nothing which these texts use."""
        used = set(" ".join(texts).replace(".", " ").replace("(", " ").replace(")", " ").split())
        return self.draw.choice([name for name in (*NAMES, "y", "z") if name not in used])

    def body(self, module: str) -> tuple[str, str]:
        """A parameter and an expression of it."""
        text = self.expression(module, "PARAMETER")
        name = self.local(module, text)
        return name, text.replace("PARAMETER", name)

    def constant(self, module: str) -> None:
        name = self.new(module)
        value = self.draw.choice([f"{self.draw.randint(2, 9)}", f"int('{self.draw.randint(2, 9)}')", "1 + 1"])
        self.bodies[module].append(f"{name} = {value}")
        self.constants.append((module, name))

    def function(self, module: str) -> None:
        parameter, text = self.body(module)
        name = self.new(module)
        lines = [f"    return {text}"]
        if self.draw.random() < 0.3:
            local = self.local(module, text, parameter)
            lines = [f"    {local} = {text}  # kept", f"    return {local}"]
        self.bodies[module].append(f"def {name}({parameter}):\n" + "\n".join(lines))
        self.functions.append((module, name))

    def closure(self, module: str) -> None:
        parameter, text = self.body(module)
        factor = self.local(module, text, parameter)
        maker, name = self.new(module), self.new(module)
        self.bodies[module].append(
            f"def {maker}({factor}):\n    def inner({parameter}):\n        return ({text}) * {factor}\n    return inner\n"
            f"{name} = {maker}({self.draw.randint(2, 5)})"
        )
        self.functions.append((module, name))

    def counter(self, module: str) -> None:
        maker, name = self.new(module), self.new(module)
        self.bodies[module].append(
            f"def {maker}():\n    count = 0\n    def inner(x):\n        nonlocal count\n        count += x\n"
            f"        count -= x\n        return count + {self.draw.randint(1, 5)}\n    return inner\n{name} = {maker}()"
        )
        self.functions.append((module, name))

    def klass(self, module: str) -> None:
        bases = [one for one in self.classes if self.modules.index(one[0]) >= self.modules.index(module)]
        base = self.reference(module, self.draw.choice(bases), at_import=True) if bases else ""
        parameter, text = self.body(module)
        kind, name = self.new(module), self.new(module)
        above = f" + super().m({parameter})" if base else ""
        value = self.draw.choice(["3", "int('4')"])
        self.bodies[module].append(
            f"class {kind}({base}):\n    # of the class\n    size = {value}\n    def m(self, {parameter}):\n"
            f"        return {text} + self.size{above}\n    def unused(self):\n        return {kind}\n"
            f"def {name}(q):\n    return {kind}().m(q)"
        )
        self.classes.append((module, kind))
        self.functions.append((module, name))

    def table(self, module: str) -> None:
        parameter, text = self.body(module)
        table, name, entry = self.new(module), self.new(module), self.new(module)
        self.bodies[module].append(
            f"{table} = {{}}\ndef {entry}({parameter}):\n    return {text}\n{table}['k'] = {entry}\n"
            f"def {name}(q):\n    return {table}['k'](q)"
        )
        self.functions.append((module, name))

    def decorated(self, module: str) -> None:
        parameter, text = self.body(module)
        decorator, name = self.new(module), self.new(module)
        wraps = self.draw.choice(["    @functools.wraps(f)\n", ""])
        self.bodies[module].append(
            f"def {decorator}(f):\n{wraps}    def wrapped(q):\n        return f(q) + 1\n    return wrapped\n"
            f"@{decorator}\ndef {name}({parameter}):\n    return {text}"
        )
        self.functions.append((module, name))

    def defaults(self, module: str) -> None:
        name = self.new(module)
        number = self.draw.randint(2, 5)
        self.bodies[module].append(f"{name} = [lambda x, i=i: x * i for i in range({number})][-1]")
        self.functions.append((module, name))

    def lazy(self, module: str) -> None:
        """A function that imports what it calls."""
        other, called = self.draw.choice(self.functions)
        name = self.new(module)
        if other == module:
            return
        text = self.draw.choice(
            [
                f"    import {other}\n    return {other}.{called}(x)",
                f"    import {other} as o\n    return o.{called}(x)",
                f"    from {other} import {called} as o\n    return o(x)",
            ]
        )
        self.bodies[module].append(f"def {name}(x):\n{text}")
        self.functions.append((module, name))

    def patch(self, module: str) -> None:
        """Another module's name is changed from outside: a number, or a function that was made before it."""
        later = [one for one in self.constants if self.modules.index(one[0]) > self.modules.index(module)]
        if later and self.draw.random() < 0.5:
            other, name = self.draw.choice(later)
            self.heads[module][f"import {other}"] = None
            self.bodies[module].append(f"{other}.{name} = {self.draw.randint(10, 20)}")
            return
        places = [
            place
            for place, one in enumerate(self.functions)
            if place and self.modules.index(one[0]) > self.modules.index(module)
        ]
        if places:
            place = self.draw.choice(places)
            other, name = self.functions[place]
            by = self.draw.choice(self.functions[:place])
            if self.modules.index(by[0]) >= self.modules.index(module):
                self.heads[module][f"import {other}"] = None
                self.bodies[module].append(f"{other}.{name} = {self.reference(module, by, at_import=True)}")


@contextlib.contextmanager
def imported(files, folder):
    """The first of these modules; none of them is left afterwards."""
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    try:
        yield importlib.import_module(next(iter(files)))
    finally:
        sys.path.remove(str(folder))
        for name in files:
            sys.modules.pop(name, None)
            (folder / f"{name}.py").unlink()
        linecache.checkcache()


def check(draw, folder):
    program = Program(draw, f"generated_{next(_numbers)}")
    files = {name: program.text(name) for name in program.modules}
    shown = "\n".join(f"# {name}\n{text}" for name, text in files.items())
    with contextlib.ExitStack() as stack:
        _, name = program.functions[-1]
        try:
            function = getattr(stack.enter_context(imported(files, folder)), name)
            wanted = [function(x) for x in (0, 3, 8)]
        except (RecursionError, TypeError, AttributeError, ImportError):
            assume(False)  # an import came too early, or took the name of something that is defined later
        part = slicer.slice_of([function], called={"m"})
    namespace = dict(part.values)
    shown += f"\n# slice of {name}, with {part.values}\n{part.text}"
    try:
        exec(compile(part.text, "<slice>", "exec"), namespace)
        got = [eval(part.names[id(function)], namespace)(x) for x in (0, 3, 8)]
    except Exception as error:
        raise AssertionError(f"{type(error).__name__}: {error}\n{shown}") from error
    assert got == wanted and part.missing == [], f"{got} for {wanted}, {part.missing}\n{shown}"


@pytest.mark.slow
@settings(deadline=None, max_examples=150, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 1 << 32))
@example(0)
@example(4459)  # a function and its parameter have one name, which is another module's function too
def test_a_slice_of_a_generated_program_computes_what_the_program_does(tmp_path_factory, seed):
    check(random.Random(seed), tmp_path_factory.getbasetemp())
