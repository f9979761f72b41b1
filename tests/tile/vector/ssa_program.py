"""Prints values of TensorSSA expressions, in one host function a case; run under both compilers by test_ssa.py."""

import operator

import cutlass
import cutlass.cute as cute
import numpy as np
from cutlass.cute.runtime import from_dlpack

NUMBERS = [-7, 3, -1, 2, 1, 3]
ARRAYS = {
    name: np.array(NUMBERS).astype(name).reshape(2, 3)
    for name in ("int8", "uint8", "int32", "uint32", "float16", "float32", "bool")
}
ARITHMETIC = {"+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv, "%": operator.mod}
COMPARISONS = {"<": operator.lt, "<=": operator.le, "==": operator.eq, "!=": operator.ne, ">": operator.gt}
BITS = {"&": operator.and_, "|": operator.or_, "^": operator.xor}
OP = cute.ReductionOp


def show(value):
    if isinstance(value, cute.TensorSSA):
        count = cute.size(value.shape)
        elements = [value.reshape((count,))[i] for i in range(count)]
        if value.element_type.is_float and value.element_type.width < 32:
            elements = [cutlass.Float32(element) for element in elements]
        cute.printf(f"{value.element_type} {value.shape}:" + " {}" * count, *elements)
    else:
        cute.printf("{}", value)


@cute.jit
def one(function: cutlass.Constexpr, *arguments):
    show(function(*arguments))


def case(label, function, *arguments):
    cute_arguments = [from_dlpack(a) if isinstance(a, np.ndarray) else a for a in arguments]
    print(label, flush=True)
    one(function, *cute_arguments)


def counting(shape, dtype=cutlass.Int32, start=0):
    tensor = cute.make_rmem_tensor(shape, dtype)
    for i in range(cute.size(tensor.layout)):
        tensor[i] = dtype(i + start)
    return tensor.load()


def operators():
    for name, array in ARRAYS.items():
        truth, floating = name == "bool", "float" in name
        signs = {} if truth else {**ARITHMETIC, **COMPARISONS}
        for sign, op in {**signs, **({} if floating else BITS)}.items():
            case(f"{name} {sign} {name}", lambda a, b: op(a.load(), b.load()), array, array)
            case(f"{name} {sign} 2", lambda a: op(a.load(), 2), array)
            case(f"2 {sign} {name}", lambda a: op(2, a.load()), array)
        for number in (2.5, True, cutlass.Int64(3), cutlass.Float16(1.5), cutlass.Uint32(7)):
            case(f"{name} + {type(number).__name__}", lambda a: a.load() + number, array)
        case(f"{name} / 2.5", lambda a: a.load() / 2.5, array)
        case(f"-{name}", lambda a: -a.load(), array)
        case(f"abs {name}", lambda a: abs(a.load()), array)
        for dtype in (cutlass.Int8, cutlass.Uint32, cutlass.Int64, cutlass.Float16, cutlass.Float64):
            if not floating or dtype.is_float or dtype.signed:
                case(f"{name} to {dtype}", lambda a: a.load().to(dtype), array)
    case("float32 to BFloat16", lambda a: a.load().to(cutlass.BFloat16), ARRAYS["float32"])
    case("int32 to Boolean", lambda a: a.load().to(cutlass.Boolean), ARRAYS["int32"])
    case("bool + bool", lambda a: a.load() + a.load(), ARRAYS["bool"])


def shapes():
    for a, b in [
        ((2, 3), (1, 3)),
        ((2, 1), (1, 3)),
        ((2, 3), (2,)),
        ((2, 3), (2, 3, 4)),
        (1, (2, 2)),
        ((1,), (4,)),
        (((2, 2), 3), ((2, 2), 1)),
        (((2, 1), 3), ((1, 2), 3)),
        (4, (4,)),
        (4, (4, 1)),
        ((4, 1), 4),
        (4, (4, 3)),
        (1, 4),
        (4, 1),
        (1, 1),
        ((1,), 1),
        ((2, 2), (1, 1, 5)),
        ((2, 3), (2, 1, 1)),
        ((2, 1, 1), (2, 3)),
    ]:
        case(f"{a} + {b}", lambda: counting(a) + counting(b, start=100))
    for a, b in [((1, 3), (4, 3)), (1, (2, 2)), ((4, 1), (4, 3)), ((1, (1, 2)), (3, (2, 2))), ((2, 3), (2, 3))]:
        case(f"{a} broadcast to {b}", lambda: counting(a).broadcast_to(b))
    for a, b in [((2, 3), 6), ((2, 3), (3, 2)), (6, (2, 3)), ((2, 3), ((2, 3),)), ((2, (2, 2)), (4, 2))]:
        case(f"{a} reshaped {b}", lambda: counting(a).reshape(b))
    array = np.arange(24, dtype=np.int32).reshape(2, 3, 4)
    for coord in (0, 5, (0, 1, 2), (None, 1, None), (1, None, None), (None, None, 0), None, (1, 2, None)):
        case(f"[{coord}]", lambda a: a.load()[coord], array)
    case("[dynamic]", lambda a, i: a.load()[i], array, cutlass.Int32(7))
    case("[1, dynamic, 2]", lambda a, i: a.load()[1, i, 2], array, cutlass.Int32(2))
    for coord in (((0, 1), None), ((None, 1), None), (None, 1), 5, ((None, None), 1), ((1, None), 0), ((1, 0), 1)):
        case(f"nested [{coord}]", lambda: counting(((2, 3), 2))[coord])


def reductions():
    for profile in (0, 1, None, (None, 1), (1, None), (None, None), (0, None)):
        case(f"sum {profile}", lambda: counting((2, 3), cutlass.Float32).reduce(OP.ADD, 100.0, profile))
        case(f"product {profile}", lambda: counting((2, 3), start=1).reduce(OP.MUL, 2, profile))
    for profile in ((None, 1), ((None, 1), None), ((None, 1), 1), ((None, None), 1), ((1, None), None)):
        case(f"nested {profile}", lambda: counting(((2, 3), 4), cutlass.Float16).reduce(OP.ADD, 0.5, profile))
    nan = float("nan")
    for op in (OP.MIN, OP.MAX, OP.ADD, OP.MUL):
        for row in ([1, nan, 3], [-0.0, 0.0, 0.0], [1e8, 1, -1e8]):
            case(f"{op} {row}", lambda a: a.load().reduce(op, -1.0, 0), np.array(row, np.float32))
    case("Boolean", lambda: (counting((2, 2)) > 1).reduce(OP.ADD, 0, (None, 1)))


def made():
    for value in (3, 3.75, True, cutlass.Int32(3), cutlass.Float32(2.5)):
        for dtype in (cutlass.Int32, cutlass.Float32, cutlass.Boolean, cutlass.Float16, cutlass.Uint8):
            case(f"full {type(value).__name__} {dtype}", lambda: cute.full((3,), value, dtype))
    case("zeros_like", lambda a: cute.zeros_like(a, cutlass.Int8), ARRAYS["float32"])
    case("ones_like", lambda a: cute.ones_like(a.load()), ARRAYS["float32"])
    case("where", lambda: cute.where(counting(4) > 1, counting(4), 2))
    case("where 2", lambda: cute.where(counting(4) > 1, 2, counting(4)))
    case("where 3", lambda: cute.where(counting((2, 1)) > 0, counting((2, 3)), counting((1, 3), start=100)))
    for test in (cute.any_, cute.all_):
        for bound in (-1, 2, 9):
            case(f"{test.__name__} > {bound}", lambda: test(counting(4) > bound))
        case(f"{test.__name__} even", lambda: test(counting(4) * 2 + 2))
    case("apply_op", lambda: counting(4).apply_op(operator.sub, 1, flip=True))
    case("bitcast", lambda: counting(4, cutlass.Float32).bitcast(cutlass.Int32))


operators()
shapes()
reductions()
made()
