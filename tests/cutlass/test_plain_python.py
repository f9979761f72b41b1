"""Layouts, shapes and coordinate tensors in plain Python: the same as inside a jit function,
and every name is tried.

Modules tested here: dsl/cutlass/cute/pointers.py.
"""

import re
from pathlib import Path

import pytest

from dsl.core.errors import DSLUserCodeError
from dsl.cutlass import Constexpr, Float32, Int32, cute, range as dynamic_range

DOCS = (Path(__file__).parents[2] / "docs" / "cute.md").read_text()
L = cute.make_layout((4, 8), stride=(8, 1))
EXPRESSIONS = """\
make_layout((4,8))
append(L, cute.make_layout(2))
prepend(L, cute.make_layout(2))
append_ones(L)
prepend_ones(L)
blocked_product(L,cute.make_layout((2,2)))
raked_product(L,cute.make_layout((2,2)))
ceil_div(7,3)
complement(cute.make_layout(4,stride=2),32)
composition(L,cute.make_layout(4))
composition(L,(2,4))
cosize(L)
crd2idx((1,2),L)
crd2idx(5,(4,8))
depth(L)
dice(L,(1,None))
elem_less((1,2),(3,4))
filter(L)
filter_zeros(L)
find((1,2),1)
flat_divide(L,(2,4))
flat_product(L,cute.make_layout(2))
flatten(L)
flatten_to_tuple((1,(2,3)))
get(L,[0])
group_modes(cute.make_layout((2,3,4)),0,2)
idx2crd(5,(4,8))
increment_coord((1,2),(4,8))
is_congruent((1,2),(3,4))
is_major(0,(1,4))
is_static(L)
is_weakly_congruent(1,(2,3))
leading_dim((4,8),(8,1))
left_inverse(cute.make_layout((4,8)))
logical_divide(L,(2,4))
logical_product(L,cute.make_layout(2))
make_composed_layout(cute.make_swizzle(2,3,3),0,L)
make_identity_layout((4,8))
make_identity_tensor((4,8))
make_identity_tensor((4,8))[1,2]
make_layout_like(L)
make_layout_tv(cute.make_layout(4),cute.make_layout(2))
make_ordered_layout((4,8),order=(1,0))
max_common_layout(L,L)
max_common_vector(L,L)
nullspace(L)
product((2,3))
product_each(((2,3),4))
rank(L)
recast_layout(16,32,L)
repeat_like(1,(2,3))
right_inverse(cute.make_layout((4,8)))
round_up(7,4)
select(L,[1])
shape(L)
shape_div(8,2)
size(L)
size((4,8))
slice_(L,(1,None))
slice_and_offset((1,None),L)
tile_to_shape(cute.make_layout((2,2)),(4,8),(0,1))
tiled_divide(L,(2,4))
tiled_product(L,cute.make_layout(2))
transform_leaf(lambda x:x+1,(1,(2,3)))
unflatten((1,2,3),(4,(5,6)))
zipped_divide(L,(2,4))
zipped_product(L,cute.make_layout(2))
coalesce(L)
assume(8,4)
basis_get(cute.E(1),(1,2))
basis_value(cute.E(1))
E(0)
domain_offset((1,2),cute.make_identity_tensor((4,8)))
local_tile(cute.make_identity_tensor((4,8)),(2,2),(1,1))
local_partition(cute.make_identity_tensor((4,8)),cute.make_layout((2,2)),1)
size_in_bytes(Float32,L)
zipped_divide(cute.make_identity_tensor((4,8)),(2,4))
make_tensor((0,0),cute.make_identity_layout((4,8)))
tuple_cat((1,2),(3,4))
transform_apply((1,2,3),f=lambda x:x+1,g=lambda *a:sum(a))
filter_tuple((1,2,3,4),f=lambda x:(x,) if x%2==0 else ())
find_if((1,(2,3)),lambda x,p:x==3)
has_underscore((1,(2,None)))
product_like((2,3,4),(1,1,1))
repeat(1,3)
repeat_as_tuple(1,3)
get_leaves(L)
get_divisibility(12)
pretty_str(L)
unwrap(((1,2,3),))
wrap(5)
front(((4,2),3))
get_swizzle_portion(cute.make_composed_layout(cute.make_swizzle(2,0,3),0,L))
get_nonswizzle_portion(cute.make_composed_layout(cute.make_swizzle(2,0,3),0,L))
make_layout_image_mask(cute.make_layout((2,2)),(0,0),1)
""".splitlines()
NAMES = {**vars(cute), "cute": cute, "L": L, "Float32": Float32}


def evaluate(expression: str) -> str:
    return str(eval(expression, dict(NAMES)))


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_same_as_inside_a_jit_function(expression):
    found = []

    @cute.jit
    def host(text: Constexpr):
        found.append(evaluate(text))

    host(expression)
    assert [evaluate(expression)] == found


def test_every_layout_function_is_tried():
    row = next(line for line in DOCS.splitlines() if line.startswith("|") and ": layouts |" in line)
    listed = set(re.findall(r"`(\w+)`", row.split("|")[2]))
    called = set(re.findall(r"(\w+)\(", " ".join(EXPRESSIONS)))
    assert listed - called == set()


def test_numbers_of_the_dsl_fold():
    assert [int(Int32(3) + 1), float(Int32(3) * Float32(2)), int(Int32(7) // 2)] == [4, 6.0, 3]
    assert bool(Int32(3) < 4) and int(-Int32(3)) == -3
    assert str(cute.make_layout((Int32(4), 8))) != "" and cute.size(cute.make_layout((Int32(4), 8))) == 32


@pytest.mark.parametrize(
    "call, id",
    [
        (lambda: cute.make_rmem_tensor(4, Float32), "CALL_OUTSIDE_JIT"),
        (lambda: cute.make_ptr(Float32, 64), "CALL_OUTSIDE_JIT"),
        (lambda: cute.printf("{}", 3), "CALL_OUTSIDE_JIT"),
        (lambda: cute.arch.sync_threads(), "CALL_OUTSIDE_KERNEL"),
        (lambda: cute.arch.thread_idx(), "CALL_OUTSIDE_KERNEL"),
        (lambda: list(dynamic_range(3)), "DSLUserCodeError"),
    ],
)
def test_calls_outside_a_function_are_refused(call, id):
    with pytest.raises(DSLUserCodeError) as error:
        call()
    assert f": {id}\n" in str(error.value) and error.value.place.file == __file__ and error.value.fix
