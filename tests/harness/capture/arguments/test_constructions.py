"""How instances of classes with GPU functions were constructed."""

import dataclasses

import pytest

from harness.capture.arguments import constructions


@pytest.fixture(autouse=True)
def watching(monkeypatch):
    import builtins

    monkeypatch.setattr(builtins, "__build_class__", builtins.__build_class__)
    monkeypatch.setattr(constructions, "_is_watching", [])
    constructions.watch(lambda value: hasattr(value, "is_gpu_function"), lambda value: value)


def decorated(function):
    function.is_gpu_function = True
    return function


def test_the_arguments_of_a_constructor_are_kept():
    class Model:
        def __init__(self, width, depth=2):
            self.width, self.depth = width, depth

        @decorated
        def __call__(self):
            pass

    model = Model(3, depth=4)
    made = constructions.of(model)
    assert (made.kind, made.args, made.keywords) == (Model, (3,), {"depth": 4})
    model.width = 5
    assert constructions.of(model) is None


def test_of_a_subclass_its_own_constructor_counts():
    class Base:
        def __init__(self, width):
            self.width = width

        @decorated
        def __call__(self):
            pass

    class Twice(Base):
        def __init__(self, width):
            super().__init__(2 * width)

        @decorated
        def more(self):
            pass

    made = constructions.of(Twice(3))
    assert (made.kind, made.args) == (Twice, (3,))


def test_a_constructor_that_a_decorator_adds_to_a_subclass():
    """The base's must not be in the way of the one that `dataclass` makes."""

    class Base:
        def __init__(self):
            self.width = 1

        @decorated
        def base(self):
            pass

    @dataclasses.dataclass
    class Data(Base):
        depth: int

        @decorated
        def more(self):
            pass

    assert Data(5).depth == 5 and constructions.of(Base()).kind is Base


def test_a_constructor_of_a_base_class():
    class Base:
        def __init__(self, width):
            self.width = width

    class Model(Base):
        @decorated
        def __call__(self):
            pass

    made = constructions.of(Model(3))
    assert (made.kind, made.args) == (Model, (3,)) and constructions.of(Base(3)) is None


def test_other_classes_are_left_alone():
    class Plain:
        def __init__(self, width):
            self.width = width

    assert constructions.of(Plain(1)) is None
