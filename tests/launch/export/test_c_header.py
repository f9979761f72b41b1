"""The parameters of an exported function in its C header."""

import pytest

from dsl.core.number.dtypes import Boolean, Float16, Float32, Int32, Uint64
from dsl.core.number.pointer import AddressSpace
from dsl.core.traced_program import Kernel, Traced
from dsl.launch.argument.abi import PointerType, ScalarType, Static, StreamType, TensorType
from dsl.launch.argument.containers import ContainerType
from dsl.launch.argument.signature import Signature
from dsl.launch.argument.symbolic_int import SymInt
from dsl.launch.export.c_header import NotExported, header


def tensor(shape, stride):
    return TensorType(Float32, shape, stride, 4)


def sequence(*types):
    return ContainerType(list, tuple(f"[{index}]" for index in range(len(types))), types, list, list)


def text_of(**types):
    letters = "".join(type_.slot_formats() for type_ in types.values())
    traced = Traced("f", "", "", (Kernel("kernel_f_0", ()),), letters)
    return header("f", Signature("f", list(types), list(types.values())), traced)


def test_parameters_have_types_of_c_and_slots_in_their_order():
    text = text_of(
        x=ScalarType(Int32),
        half=ScalarType(Float16),
        flag=ScalarType(Boolean),
        none=Static(None),
        at=PointerType(Float32, AddressSpace.gmem, 4),
        register=ScalarType(Uint64),
        current=StreamType(from_environment=True),
        stream=StreamType(),
    )
    assert (
        "cute_dsl_f_wrapper(f_Kernel_Module_t *module, int32_t x, uint16_t half, int8_t flag, void *at, "
        "uint64_t register_, struct CUstream_st *stream) {" in text
    )
    stores = [line.strip() for line in text.splitlines() if line.startswith("    memcpy(&block[")]
    assert [line.partition("&block[")[2].partition(", sizeof")[0] for line in stores] == [
        "0], &handle",
        "1], &x",
        "2], &half",
        "3], &flag",
        "4], &at",
        "5], &register_",
        "7], &stream",
    ]


def test_a_tensor_has_its_dynamic_extents_and_strides():
    n, wide = SymInt(), SymInt(64)
    text = text_of(a=tensor((n, 4, n), (wide, 1, 8)), b=tensor((128, 2), (2, 1)))
    assert (
        "typedef struct {\n    void *data;\n    int32_t dynamic_shapes[2];\n    int64_t dynamic_strides[1];\n} f_Tensor_a_t;"
        in text
    )
    assert "typedef struct {\n    void *data;\n} f_Tensor_b_t;" in text
    assert "memcpy(&block[4], &a->dynamic_strides[0], sizeof a->dynamic_strides[0]);" in text
    assert "memcpy(&block[5], &b->data" in text


def test_a_list_is_an_array():
    n = SymInt()
    text = text_of(many=sequence(tensor((n,), (1,)), tensor((n,), (1,))), shape=sequence(*[ScalarType(Int32)] * 2))
    assert "const f_Tensor_many_t *many, const int32_t *shape)" in text
    assert "memcpy(&block[4], &many[1].dynamic_shapes[0]" in text and "memcpy(&block[6], &shape[1]" in text


@pytest.mark.parametrize(
    "types, words",
    [
        ({"a": tensor((SymInt(), SymInt(64)), (1, 1))}, "the dynamic extents of `a` have to be of the same width"),
        ({"a": sequence(tensor((SymInt(),), (1,)), tensor((SymInt(64),), (1,)))}, "differ in dynamic shape width"),
        ({"a": sequence(ScalarType(Int32), ScalarType(Float32))}, "the parts of `a` have different types"),
        ({"a": ContainerType(dict, ("['k']",), (ScalarType(Int32),), list, dict)}, "`a` is a dict(int32)"),
    ],
)
def test_parameters_that_c_cannot_declare_are_refused(types, words):
    with pytest.raises(NotExported, match=words.replace("(", r"\(").replace(")", r"\)")):
        text_of(**types)
