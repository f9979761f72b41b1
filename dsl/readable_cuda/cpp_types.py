"""The C++ types of MLIR types, and the error for what has no spelling in CUDA C++."""

from __future__ import annotations

from dsl.span import Span

TYPES = {
    "i1": "bool",
    "i8": "signed char",
    "i16": "short",
    "i32": "int",
    "i64": "long long",
    "f16": "__half",
    "bf16": "__nv_bfloat16",
    "f32": "float",
    "f64": "double",
    "i128": "__int128",
}
UNSIGNED = {
    "i8": "unsigned char",
    "i16": "unsigned short",
    "i32": "unsigned",
    "i64": "unsigned long long",
    "i128": "unsigned __int128",
}
VECTORS = {
    ("f32", 2): "float2",
    ("f32", 4): "float4",
    ("f32", 3): "float3",
    ("f64", 2): "double2",
    ("i32", 2): "int2",
    ("i32", 3): "int3",
    ("i32", 4): "int4",
    ("i64", 2): "longlong2",
    ("i16", 2): "short2",
    ("i16", 4): "short4",
    ("i8", 2): "char2",
    ("i8", 4): "char4",
}


class Unsupported(Exception):
    """An op or type that is not written as CUDA C++ yet, and the author's line that it comes from."""

    def __init__(self, what: str, place: Span | None):
        super().__init__(f"--show cuda does not print {what} yet")
        self.what, self.place = what, place


def vector_type(type_: str) -> tuple[int, str] | None:
    """Count and element type of `vector<4xf32>`."""
    if not type_.startswith("vector<"):
        return None
    count, _, element = type_[7:-1].rpartition("x")
    return (int(count), element) if count.isdigit() else None


def count_and_element(type_: str) -> tuple[int, str]:
    """Count and element type of a type that is a vector."""
    vector = vector_type(type_)
    assert vector is not None, type_
    return vector


def registers_of(type_: str) -> list[str] | None:
    """The member types of a struct whose members all have one type, which matrix instructions return."""
    if not (type_.startswith("!llvm.struct<(") and type_.endswith(")>")):
        return None
    members = type_[14:-2].split(", ")
    return members if len(set(members)) == 1 else None


def c_type(type_: str, place: Span | None = None) -> str:
    """The C++ type of an MLIR type. Raises Unsupported."""
    if type_ in TYPES:
        return TYPES[type_]
    if type_.startswith("!llvm.struct<(") and type_.endswith(", i1)>"):  # of cmpxchg: what was there
        return c_type(type_[14:].partition(",")[0], place)
    members = registers_of(type_)
    if members is not None:
        return f"Vector<{c_type(members[0], place)}, {len(members)}>"
    vector = vector_type(type_)
    if vector is not None and vector[1] in TYPES:
        count, element = vector
        return VECTORS.get((element, count)) or f"Vector<{TYPES[element]}, {count}>"
    raise Unsupported(f"the type {type_}", place)
