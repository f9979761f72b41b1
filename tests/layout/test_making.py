"""Layouts by an order: compact, one to one, strides increasing in that order."""

import itertools

import pytest

from dsl.layout import Layout, LayoutError
from dsl.layout.int_tuple import flatten_to_tuple
from dsl.layout.making import make_fragment_layout, make_identity_layout, make_layout_like, make_ordered_layout


def indices(layout: Layout) -> list[int]:
    return (
        [layout(k) for k in range(layout.size())]
        if callable(getattr(layout, "size", None))
        else [layout(k) for k in range(len(list(itertools.product(*map(range, flatten_to_tuple(layout.shape))))))]
    )


@pytest.mark.parametrize("shape", [(2, 3), (4, 3, 2), (2, (3, 2), 5)])
def test_a_permutation_as_order_gives_every_index_once_and_steps_in_that_order(shape):
    for order in itertools.permutations(range(len(shape))):
        layout = make_ordered_layout(shape, order)
        assert sorted(indices(layout)) == list(range(len(indices(layout))))
        strides = [
            flatten_to_tuple(layout.stride[mode] if isinstance(layout.stride[mode], tuple) else (layout.stride[mode],))
            for mode in range(len(shape))
        ]
        firsts = [stride[0] for stride in strides]
        assert [firsts[mode] for mode in sorted(range(len(shape)), key=order.__getitem__)] == sorted(firsts)


def test_a_layout_like_another_is_compact_in_the_order_of_its_strides():
    like = make_layout_like(Layout((4, 8, 2), (100, 7, 0)))
    assert (like.shape, like.stride) == ((4, 8, 2), (8, 1, 0))
    assert make_layout_like(Layout((4, 8), (1, 4))).stride == (1, 4)
    assert make_layout_like(Layout((1, 8), (5, 3))).stride == (0, 1)  # an extent of 1 needs no step


def test_a_fragments_first_mode_is_in_front():
    fragment = make_fragment_layout(Layout(((2, 2), 4, 2), ((16, 0), 1, 64)))
    assert fragment.stride == ((1, 0), 2, 8)
    assert make_fragment_layout(Layout((4, 8, 2), (2, 8, 1))).stride == (1, 8, 4)


def test_strides_of_run_time_come_last_and_negative_ones_first():  # as NVIDIA's compiler orders them
    n, m = object(), object()  # known when the kernel runs: nobody compares or adds them
    assert make_layout_like(Layout((4, 8, 2), (n, 1, m))).stride == (8, 1, 32)
    assert make_layout_like(Layout(((2, 2), 8), ((1, -8), 16))).stride == ((2, 1), 4)
    assert make_layout_like(Layout(((2, 2), 8), ((-8, 16), 1))).stride == ((1, 16), 2)
    assert make_fragment_layout(Layout((4, 8, 2), (n, m, 1))).stride == (1, 8, 4)
    assert make_fragment_layout(Layout(((2, 2, 2), 1, (2, 2)), ((512, n, 1), 0, (m, 8)))).stride == (
        (1, 2, 4),
        0,
        (16, 8),
    )


def test_an_identity_layout_gives_the_coordinate():
    identity = make_identity_layout((3, (2, 2)))
    for i, j, k in itertools.product(range(3), range(2), range(2)):
        assert identity((i, (j, k))) == (i, (j, k))


def test_orders_that_are_refused():
    with pytest.raises(LayoutError) as error:
        make_ordered_layout((2, 3), (0, 1, 2))
    assert error.value.message == "make_ordered_layout: the order (0,1,2) does not fit the shape (2,3)"
    with pytest.raises(LayoutError, match="an order must be static"):
        make_ordered_layout((2, 3), (0, "x"))
