"""Names that math, numpy and torch have, and what CuTe DSL has in their place."""

from __future__ import annotations

_STATIC = "or pass the value as cutlass.Constexpr"
_HOST = "make random numbers on the host, and pass them to the kernel as a tensor"
_MATH = set(
    "sqrt exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh erf "
    "erfc floor ceil trunc pow copysign fma cbrt isnan isinf isfinite abs rsqrt max min rem roundeven clamp".split()
)
_RENAMED = {  # functions that have another name here
    "fabs": "abs", "absolute": "abs", "power": "pow", "arcsin": "asin", "arccos": "acos", "arctan": "atan",
    "arctan2": "atan2", "arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh", "maximum": "max", "minimum": "min",
    "fmax": "max", "fmin": "min", "fmod": "rem", "rint": "roundeven", "clip": "clamp",
}  # fmt: skip
_LIBRARIES = {  # of which no function has a place in a kernel
    "random": _HOST,
    "secrets": _HOST,
    "time": "leave it out; `cute.arch.clock64()` counts cycles in a kernel",
}
_MAKERS = set("zeros ones empty full zeros_like ones_like empty_like full_like tensor array arange eye".split())
_REDUCED = "reduce the elements in registers, `t.load().reduce(cute.ReductionOp.{}, init, 0)`, or write a loop"
_OPERATORS = {
    name: operator
    for operator, names in (("ADD", "sum mean"), ("MAX", "amax"), ("MIN", "amin"), ("MUL", "prod"))
    for name in names.split()
}
_REDUCTIONS = {name: _REDUCED.format(operator) for name, operator in _OPERATORS.items()}
_VIEW = "make another view of the memory: `cute.make_tensor(t.iterator, layout)`"
_METHODS = {  # of a torch tensor or a numpy array, that a Tensor has not
    **_REDUCTIONS,
    "max": _REDUCED.format("MAX"),
    "min": _REDUCED.format("MIN"),
    **dict.fromkeys("reshape view flatten ravel squeeze unsqueeze permute transpose T mT swapaxes".split(), _VIEW),
    **dict.fromkeys("to astype type_as float half int long bfloat16".split(), "convert elements: `t.load().to(dtype)`"),
    **dict.fromkeys("numel nelement".split(), "write `cute.size(t)`"),
    **dict.fromkeys("dim ndim ndimension".split(), "write `cute.rank(t)`"),
    "size": "write `t.shape`, or `cute.size(t)` for the number of elements",
    "strides": "write `t.stride`",
    "data_ptr": "write `t.iterator`; `t.iterator.toint()` is its address",
    "item": "index it: `t[0]`",
    "fill_": "write `t.fill(value)`",
    "zero_": "write `t.fill(0)`",
    **dict.fromkeys("copy_ clone copy".split(), "write `cute.autovec_copy(source, target)`"),
    **dict.fromkeys("numpy cpu cuda tolist".split(), "read it on the host, after the launch"),
}
_METHODS_OF_VALUES = {  # that a TensorSSA has not
    **{
        name: f"write `x.reduce(cute.ReductionOp.{operator}, init, 0)`"
        for name, operator in {**_OPERATORS, "max": "MAX", "min": "MIN"}.items()
    },
    **dict.fromkeys("astype type_as float half int long bfloat16".split(), "write `x.to(dtype)`"),
}

BUILTINS = {
    **dict.fromkeys(
        "ascii bin chr format hex oct repr".split(), 'print it when the program runs: `cute.printf("{}", x)`'
    ),
    "range": f"write a loop, `for i in range(n):`, {_STATIC}",
    "sorted": "compare and exchange elements in the kernel, with `cute.math.min` and `cute.math.max`",
}


def of_function(library: str, name: str, arguments: str) -> str:
    """The fix for a call of `name` of `library` with these arguments on values known only at run time."""
    if library == "Python":
        return BUILTINS[name]
    if library in _LIBRARIES:
        return _LIBRARIES[library]
    here = _RENAMED.get(name, name)
    if here in _MATH:
        return f"write `cute.math.{here}({arguments})`"
    if name in _MAKERS:
        return "write `cute.make_rmem_tensor(shape, dtype)` for registers; their shape must be known while compiling"
    return _REDUCTIONS.get(name) or f"compute with operators, `cute.math` and loops, {_STATIC}"


def instead_of(owner: str, name: str) -> str:
    """The fix for an attribute `name` that torch and numpy know and class `owner` has not; "" for any other."""
    return {"Tensor": _METHODS, "TensorSSA": _METHODS_OF_VALUES}.get(owner, {}).get(name, "")
