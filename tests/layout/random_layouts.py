"""Random layouts for the law tests: nested shapes of small extents, strides compact, padded or overlapping."""

from itertools import product as cross

from hypothesis import strategies as st

from dsl import layout as lay
from dsl.layout import Layout

extents = st.sampled_from((1, 2, 2, 3, 4, 4, 6, 8))
shapes = st.recursive(extents, lambda inner: st.lists(inner, min_size=1, max_size=3).map(tuple), max_leaves=4).filter(
    lambda shape: lay.size(shape) <= 96
)
randoms = st.randoms(use_true_random=False)


def _compact(shape, random, gaps=(1,)):
    leaves = lay.flatten_to_tuple(shape)
    order = list(range(len(leaves)))
    random.shuffle(order)
    strides, running = [0] * len(leaves), 1
    for i in order:
        strides[i] = running
        running *= leaves[i] * random.choice(gaps)
    return Layout(shape, lay.unflatten(strides, shape))


def _overlapping(shape, random):
    layout = _compact(shape, random, (1, 1, 2, 3))
    strides = [d if random.random() < 0.8 else random.choice((0, 1, 5)) for d in lay.flatten_to_tuple(layout.stride)]
    return Layout(shape, lay.unflatten(strides, shape))


layouts = st.builds(_overlapping, shapes, randoms)  # any strides
compact_layouts = st.builds(_compact, shapes, randoms)  # bijections onto 0..size-1
injective_layouts = st.builds(lambda s, r: _compact(s, r, (1, 1, 2, 3)), shapes, randoms)
powers = st.recursive(
    st.sampled_from((1, 2, 4, 8)), lambda inner: st.lists(inner, min_size=1, max_size=3).map(tuple), max_leaves=4
).filter(lambda shape: lay.size(shape) <= 128)
power_layouts = st.builds(_overlapping, powers, randoms)
compact_power_layouts = st.builds(_compact, powers, randoms)  # every boundary falls on one of the other layout


def coords(shape) -> list:
    """Every hierarchical coordinate of a shape, column-major."""
    if not isinstance(shape, tuple):
        return list(range(shape))
    return [tuple(reversed(c)) for c in cross(*map(coords, reversed(shape)))]


def image(layout) -> list[int]:
    """The indices of a layout, in column-major order of its coordinates."""
    return [layout(i) for i in range(lay.size(layout))]
