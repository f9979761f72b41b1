"""Loops over several axes: which iterations there are, whatever the extents, the bounds and the order of the axes."""

import quadrants as qd


def _visits(rank, loop):
    """How often each place is visited: fields over -3 to 12 along each axis, as the places and their numbers."""
    seen = qd.field(qd.i32, shape=(16,) * rank)
    loop(seen)
    found = seen.to_numpy()
    return [[*(int(part) - 3 for part in place), int(found[tuple(place)])] for place in zip(*found.nonzero())]


def bounds_around_zero():
    @qd.kernel
    def k(seen: qd.template()):
        for i, j in qd.ndrange((-3, 4), (-2, 9)):
            seen[i + 3, j + 3] += 1 + i * i

    return _visits(2, k)


def bounds_of_the_call():
    @qd.kernel
    def k(seen: qd.template(), a: int, b: int, c: int, d: int):
        for i, j in qd.ndrange((a, b), (c, d)):
            seen[i + 3, j + 3] += 1

    return [
        _visits(2, lambda seen: k(seen, *bounds))
        for bounds in ((-3, 2, 0, 12), (5, 5, 0, 3), (0, 3, 4, 4), (3, -1, 0, 4), (0, 1, -3, 13))
    ]


def three_axes_with_a_guard():
    @qd.kernel
    def k(seen: qd.template(), n: int):
        for i, j, l in qd.ndrange((1, 6), n, (-1, 4)):
            if 1 < j < n - 1 and i != 3:
                seen[i + 3, j + 3, l + 3] += 1

    return [_visits(3, lambda seen: k(seen, n)) for n in (0, 3, 7)]


def four_axes():
    @qd.kernel
    def k(seen: qd.template(), n: int):
        for i, j, l, m in qd.ndrange(n, 3, (-1, 2), 2):
            seen[i + 3, j + 3, l + 3, m + 3] += 1

    return [_visits(4, lambda seen: k(seen, n)) for n in (0, 1, 5)]


def axes_in_another_order():
    @qd.kernel
    def k(seen: qd.template(), n: int):
        for i, j, l in qd.ndrange(n, 5, (2, 9), axes=(2, 0, 1)):
            seen[i + 3, j + 3, l + 3] += 1 + i + 2 * j + 4 * l

    return [_visits(3, lambda seen: k(seen, n)) for n in (0, 4)]


def grouped_over_a_field():
    seen = qd.field(qd.i32, shape=(3, 130))

    @qd.kernel
    def k():
        for place in qd.grouped(seen):
            seen[place] += 1 + place[0] * 1000 + place[1]

    k()
    return seen.to_numpy().tolist()


def a_guard_inside_rows():
    out = qd.field(qd.i32, shape=(4, 140))

    @qd.kernel
    def k():
        for i, j in out:
            if 0 < i < 3 and 0 < j < 139:
                out[i, j] = i * 1000 + j

    k()
    return out.to_numpy().tolist()
