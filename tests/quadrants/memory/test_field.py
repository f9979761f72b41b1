"""Fields that a FieldsBuilder places; copies between fields, arrays, numpy and torch; bit functions of qd.math.

Modules tested here: dsl/quadrants/memory/dense.py, dsl/quadrants/memory/fields_builder.py, dsl/quadrants/runtime.py.
"""

import functools
import random
from typing import Any

import numpy as np
import pytest

import dsl.quadrants as qd
from dsl.launch import session
from dsl.quadrants.runtime import Runtime

pytestmark = pytest.mark.usefixtures("running")


def test_a_builder_places_finalizes_and_destroys():
    builder = qd.FieldsBuilder()
    x, y, z = qd.field(qd.f32), qd.Vector.field(3, qd.i32), qd.field(qd.f64)
    node = builder.dense(qd.ij, (2, 3))
    node.place(x)
    node.dense(qd.k, 4).place(y, offset=(1, 0, 0))
    builder.place(z)
    assert (x.shape, y.shape, z.shape) == ((2, 3), (2, 3, 4), ())
    for use in (lambda: x[0, 0], lambda: x.fill(1), x.to_numpy):
        with pytest.raises(qd.QuadrantsRuntimeError, match="is not finalized"):
            use()
    tree = builder.finalize()
    x[1, 2], z[None] = 3.0, 4.0

    @qd.kernel
    def k():
        for i, j in x:
            x[i, j] += z[None]

    k()
    assert x.to_numpy().tolist() == [[4, 4, 4], [4, 4, 7]] and not tree.destroyed
    for again in (builder.finalize, lambda: builder.dense(qd.i, 3), lambda: builder.place(z)):
        with pytest.raises(qd.QuadrantsRuntimeError, match="FieldsBuilder finalized"):
            again()
    tree.destroy()
    assert tree.destroyed
    for use in (lambda: x[0, 0], x.to_numpy, lambda: z.fill(2), tree.destroy):
        with pytest.raises(qd.QuadrantsRuntimeError, match="destroyed"):
            use()
    other = qd.FieldsBuilder()
    w = qd.field(qd.i32)
    other.dense(qd.i, 2).place(w)
    other.finalize()
    assert w.to_numpy().tolist() == [0, 0]
    with pytest.raises(qd.QuadrantsRuntimeError, match="sparse"):
        qd.FieldsBuilder().pointer(qd.i, 4)


# Of quadrants 1.3.3: the shape of an element without and with keep_dims.
SHAPES = [
    (lambda: qd.Vector.field(3, qd.f32, 2), (3,), (3, 1)),
    (lambda: qd.Matrix.field(3, 1, qd.f32, 2), (3,), (3, 1)),
    (lambda: qd.Vector.field(1, qd.f32, 2), (1,), (1, 1)),
    (lambda: qd.Matrix.field(2, 2, qd.f32, 2), (2, 2), (2, 2)),
    (lambda: qd.Matrix.field(1, 3, qd.f32, 2), (1, 3), (1, 3)),
]


@pytest.mark.parametrize("make, plain, kept", SHAPES)
def test_the_dimensions_of_elements(make, plain, kept):
    field = make()
    values = np.arange(2 * np.prod(kept), dtype=np.float32)
    for shape in ((2, *plain), (2, *kept)):
        field.fill(0)
        field.from_numpy(values.reshape(shape))
        assert field.to_numpy().shape == (2, *plain) and field.to_numpy(keep_dims=True).shape == (2, *kept)
        assert (field.to_numpy().ravel() == values).all()
    assert tuple(field.to_torch().shape) == (2, *plain) and tuple(field.to_torch(keep_dims=True).shape) == (2, *kept)
    assert field.to_numpy(dtype=np.float64).dtype == np.float64 and field.to_numpy(qd.i32).dtype == np.int32
    copy = make()
    copy.copy_from(field)
    assert (copy.to_numpy() == field.to_numpy()).all()


def test_copies_and_fills_that_do_not_fit():
    x, v = qd.field(qd.f32, 3), qd.Vector.field(3, qd.f32, 2)
    v.fill([1, 2, 3])
    assert v.to_numpy().tolist() == [[1, 2, 3]] * 2
    for wrong, kind, text in (
        (
            lambda: x.copy_from(qd.field(qd.f32, 4)),
            ValueError,
            "the field must have the shape of the field, (3,), got (4,)",
        ),
        (
            lambda: x.copy_from(np.zeros(3)),
            TypeError,
            "a field is copied from a field or array, got a numpy array of shape (3,)",
        ),
        (lambda: x.from_numpy(np.zeros(4)), ValueError, "the array must have the shape of the field, (3,), got (4,)"),
        (lambda: v.fill([1, 2]), ValueError, "the elements of this field have the shape (3,), got a vector of 2"),
        (lambda: qd.field(qd.f32).to_numpy(), RuntimeError, "These field(s) are not placed"),
    ):
        with pytest.raises(kind) as raised:
            wrong()
        assert raised.value.message == text and raised.value.fix and raised.value.place.file == __file__
    narrow = qd.field(qd.i32, 3)
    x.fill(2.7)
    narrow.copy_from(x)
    assert narrow.to_numpy().tolist() == [2, 2, 2]


@qd.kernel
def bits_of(mask: qd.i32, base: qd.u32, offset: qd.i32, out: qd.types.ndarray()):
    out[0], out[1], out[2] = qd.math.ffs(mask), qd.math.popcnt(mask), qd.math.clz(mask)
    out[3] = qd.i32(qd.math.fns(qd.u32(mask), base, offset))


def test_bits_against_counting():
    out = np.zeros(4, np.int32)
    for mask in (0, 1, 0xF0, 0x80000001, 0xFFFFFFFF, 0x00FF00FF, 0x12345678):
        at = [bit for bit in range(32) if mask >> bit & 1]
        for base in (0, 4, 5, 31):
            for offset in (-33, -5, -2, -1, 0, 1, 2, 5, 32):
                bits_of(int(np.int32(np.uint32(mask))), base, offset, out)
                above, below = [bit for bit in at if bit >= base], [bit for bit in reversed(at) if bit <= base]
                rank, found = abs(offset) - 1, above if offset > 0 else below
                if offset == 0:
                    rank, found = 0, [base] if base in at else []
                assert out.tolist() == [
                    at[0] + 1 if at else 0,
                    len(at),
                    31 - at[-1] if at else 32,
                    found[rank] if rank < len(found) else -1,
                ], (mask, base, offset)


def test_bits_of_narrow_and_wide_numbers():
    @qd.kernel
    def k(a: qd.i8, b: qd.i64) -> qd.types.vector(2, qd.i64):
        return qd.Vector([qd.math.ffs(a), qd.math.ffs(b)], qd.i64)

    assert [list(k(a, b)) for a, b in ((8, 1 << 40), (0, 0), (-128, -(2**63)))] == [[4, 41], [0, 0], [8, 64]]


def _tree(dtype=qd.i32, count=4):
    placed, builder = qd.field(dtype), qd.FieldsBuilder()
    builder.dense(qd.i, count).place(placed)
    return placed, builder.finalize()


@qd.data_oriented
class Owner:
    shared = None

    @qd.kernel
    def of_self(self, value: qd.i32):
        for i in range(4):
            self.own[i] = value + i

    @qd.kernel
    def of_class(self, value: qd.i32):
        for i in range(4):
            self.shared[i] = value + i

    @qd.kernel
    def of_global(self, value: qd.i32):
        for i in range(4):
            everywhere[i] = value + i

    @qd.kernel
    def of_template(self, field: qd.template(), value: qd.i32):
        for i in range(4):
            field[i] = value + i


everywhere: Any = None


@pytest.mark.parametrize("seed", [*range(8), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(8, 100))])
def test_no_kernel_writes_a_field_that_was_destroyed(seed):
    """Fields are built, destroyed, replaced and dropped at random: a call writes the live field or raises an error."""
    global everywhere
    choose, owner, trees = random.Random(seed), Owner(), {}
    qd.init(arch=qd.cpu)
    places = ["own", "shared", "everywhere", "template"]

    def keep(place, field):
        global everywhere
        if place == "everywhere":
            everywhere = field
        else:
            setattr(Owner if place == "shared" else owner, place, field)

    for place in places:
        trees[place] = _tree()
        keep(place, trees[place][0])
    calls = {"own": owner.of_self, "shared": owner.of_class, "everywhere": owner.of_global}
    for step in range(25):
        place = choose.choice(places)
        field, tree = trees[place]
        if choose.random() < 0.3 and not tree.destroyed:
            tree.destroy()
        elif choose.random() < 0.4 and tree.destroyed:
            trees[place] = _tree(choose.choice([qd.i32, qd.f64]), choose.choice([4, 9]))
            keep(place, trees[place][0])
        elif choose.random() < 0.1:
            qd.init(arch=qd.cpu)
            for each in places:
                trees[each] = _tree()
                keep(each, trees[each][0])
        else:
            others = {each: f.to_numpy() for each, (f, t) in trees.items() if each != place and not t.destroyed}
            call = calls.get(place) or functools.partial(owner.of_template, field)
            if tree.destroyed:
                with pytest.raises(
                    qd.QuadrantsRuntimeError, match="this field is gone: its SNode tree has been destroyed"
                ):
                    call(step)
            else:
                call(step)
                assert field.to_numpy().tolist()[:4] == [step, step + 1, step + 2, step + 3]
            for each, before in others.items():
                np.testing.assert_array_equal(trees[each][0].to_numpy(), before)


def test_a_kernel_that_has_other_fields_is_not_compiled_again():
    qd.init(arch=qd.cpu)
    kept, other = qd.field(qd.i32, shape=4), _tree()[1]

    @qd.kernel
    def fill(value: qd.i32):
        for i in range(4):
            kept[i] = value

    fill(1)
    first = fill._last
    other.destroy()
    fill(2)
    fill(3)
    assert fill._last is first and first.epoch == Runtime.epoch and kept.to_numpy().tolist() == [3] * 4


def test_reports_call_memory_by_the_author_s_name():
    class Tables:
        cells = None

    tables, counts, many = Tables(), qd.field(qd.i32, 4), [qd.field(qd.i32, 4)]
    tables.cells = qd.field(qd.i32, 4)
    counts.fill(0), tables.cells.fill(0), many[0].fill(0)
    labels = {each.address: each.label for each in session.current().device.memory.allocations()}
    addresses = [each.memory.address for each in (counts, tables.cells, many[0])]
    assert [labels[each] for each in addresses] == ["counts", "tables.cells", "field"]


def test_python_prints_the_contents():
    """As the real package does."""
    x, v = qd.field(qd.f32, (2, 2)), qd.Vector.field(2, qd.i32, shape=2)
    pairs = qd.types.struct(a=qd.i32, b=qd.f32).field(shape=2)
    x[0, 1], v[1] = 1.5, qd.Vector([3, 4])
    assert [str(each) for each in (x, v, pairs, v[1], [qd.Vector([1, 2.5])])] == [
        "[[0.  1.5]\n [0.  0. ]]",
        "[[0 0]\n [3 4]]",
        "{'a': array([0, 0], dtype=int32), 'b': array([0., 0.], dtype=float32)}",
        "[3 4]",
        "[[1.  2.5]]",
    ]
    assert [repr(each) for each in (x, pairs)] == [
        "<ScalarField f32 (2, 2)>",
        "<StructField a=<ScalarField i32 (2,)>, b=<ScalarField f32 (2,)>>",
    ]
    assert str(qd.field(qd.f32)) == "<ScalarField f32 None>"
