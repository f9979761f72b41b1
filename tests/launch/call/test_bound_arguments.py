"""Arguments bound to a signature as one list, and back."""

import inspect

import pytest

from dsl.launch.call.bound_arguments import gather, spread


def plain(a, b=2):
    pass


def only_positional(a, /, b, *, c=3):
    pass


def many(a, *rest, key=1, **more):
    pass


@pytest.mark.parametrize(
    "function, args, keywords, names",
    [
        (plain, (1,), {}, ["a", "b"]),
        (only_positional, (1, 2), {"c": 5}, ["a", "b", "c"]),
        (many, (1,), {}, ["a", "key"]),
        (many, (1, 2, 3), {"x": 4, "y": 5}, ["a", "rest", "rest", "key", "more", "more"]),
    ],
)
def test_spread_arguments_are_gathered_again(function, args, keywords, names):
    bound = inspect.signature(function).bind(*args, **keywords)
    bound.apply_defaults()
    spread_names, values = spread(bound)
    assert spread_names == names
    assert gather(bound, values) == (bound.args, bound.kwargs)
    new_args, new_keywords = gather(bound, [f"new {value}" for value in values])
    rebound = inspect.signature(function).bind(*new_args, **new_keywords)
    assert spread(rebound) == (names, [f"new {value}" for value in values])
