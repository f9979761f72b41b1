"""Names, attributes and parameters that are not there: what may have been meant, for every name of the surface.

Modules tested here: dsl/core/diagnosis/argument_errors.py.
"""

import enum
import random
import re
import types

import pytest

import dsl.cutlass
from dsl.core.diagnosis import python_errors, spelling
from dsl.core.diagnosis.unsupported_names import RefusedWhenUsed
from dsl.core.errors import DSLUserCodeError
from dsl.core.number.dtypes import Int32
from dsl.cutlass import cute, upstream

LAZY = {
    "_mlir",
    "_mlir_helpers",
    "base_dsl",
    "cutlass_dsl",
    "experimental",
}  # modules of `cutlass` that are imported when they are asked for: another test may have done so, or not
NVIDIAS = "run the file with NVIDIA's compiler"
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def modules(module=dsl.cutlass, name="cutlass"):
    """Every module of the surface with the name the author has for it."""
    yield name, module
    for inner, value in vars(module).items():
        if inner in LAZY:
            continue
        if isinstance(value, types.ModuleType) and value.__name__ == f"{module.__name__}.{inner}":
            yield from modules(value, f"{name}.{inner}")


MODULES = {name: module for name, module in modules() if hasattr(module, "__getattr__")}


def misspelt(name: str, rng: random.Random) -> str:
    """`name` with one letter left out, doubled, changed, or swapped with the next."""
    at = rng.randrange(1, max(len(name), 2))
    return rng.choice(
        (
            name[:at] + name[at + 1 :],
            name[:at] + name[at] + name[at:],
            name[:at] + rng.choice(LETTERS) + name[at + 1 :],
            name[: at - 1] + name[at] + name[at - 1] + name[at + 1 :],
        )
    )


def public(space) -> list[str]:
    return [name for name in vars(space) if not name.startswith("_")]


@pytest.mark.slow
def test_every_name_of_every_module_is_found_from_a_misspelling():
    rng, tried = random.Random(7), 0
    for spelt, module in MODULES.items():
        theirs, own = upstream.names(spelt) or set(), public(module)
        for name in own:
            wrong = misspelt(name, rng) if len(name) > 3 else name
            if wrong in theirs or wrong in own or wrong == name:
                continue
            tried += 1
            with pytest.raises(AttributeError) as caught:
                getattr(module, wrong)
            error = caught.value
            assert (error.id, error.message) == ("UNKNOWN_NAME", f"{spelt} has no name `{wrong}`")
            found = re.fullmatch(r"did you mean `([\w.]+)`\?", error.fix)
            assert found and (found[1] == name or len(found[1]) - 2 <= len(wrong) <= len(found[1]) + 2), error.fix
    assert tried > 600


@pytest.mark.slow
def test_a_name_of_theirs_is_refused_by_name_and_no_other_is_sent_to_their_compiler():
    for spelt, module in MODULES.items():
        theirs = upstream.names(spelt)
        assert theirs is not None, spelt
        for name in theirs - set(vars(module)) - {"for_generate", "yield_out", "LayoutEnum", "block_copy", *LAZY}:
            if isinstance(getattr(module, name, None), types.ModuleType):
                continue  # one that is imported when it is asked for
            with pytest.raises(AttributeError) as caught:
                later = getattr(module, name)
                assert isinstance(later, RefusedWhenUsed)
                later._refuse()
            assert caught.value.id == "UNSUPPORTED_NAME"
            assert NVIDIAS in caught.value.fix or "Blackwell" in caught.value.fix, name
        with pytest.raises(AttributeError) as caught:
            module.quite_another_thing
        assert caught.value.id == "UNKNOWN_NAME" and NVIDIAS not in str(caught.value)


def test_a_name_of_another_module_is_spelled_as_the_author_writes_it():
    for wrong, fix in {
        "thread_idx": "cute.arch.thread_idx",
        "SmemAllocator": "cutlass.memory.SmemAllocator",
        "const_expr": "cutlass.const_expr",
        "make_ptr": None,
    }.items():
        space = {"cute": cute, "cutlass": dsl.cutlass, "make_ptr": 3}
        found = spelling.in_modules(wrong, space)
        assert found == fix or (fix is None and found == "cute.make_ptr")
    assert spelling.in_modules("nothing_at_all", {"cute": cute, "cutlass": dsl.cutlass}) is None


def instances() -> list[object]:
    """An object of each kind that plain Python can hold, and the classes."""
    import numpy as np

    tensor = cute.runtime.from_dlpack(np.zeros((4, 8), np.float32))
    made = [
        tensor,
        cute.make_layout((4, 8)),
        cute.make_swizzle(3, 3, 3),
        Int32(3),
        cute.E(0),
        cute.nvgpu.cpasync.CopyG2SOp(),
        cute.nvgpu.warp.LdMatrix8x8x16bOp(False, 4),
        cutlass_sym(),
    ]
    return made + [
        value
        for module in MODULES.values()
        for value in vars(module).values()
        if isinstance(value, type) and value.__module__.startswith("dsl.") and not issubclass(value, BaseException)
    ]


def cutlass_sym():
    return dsl.cutlass.sym_int(32)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::dsl.core.errors.PortabilityWarning")
def test_every_attribute_is_found_from_a_misspelling():
    rng, tried = random.Random(11), 0
    for value in {id(value): value for value in instances()}.values():
        is_enum = isinstance(value, enum.EnumType)
        names = list(value.__members__) if is_enum else [name for name in dir(value) if not name.startswith("_")]
        for name in names:
            wrong = misspelt(name, rng) if len(name) > 3 else name + "_"
            if hasattr(value, wrong):
                continue
            error = None
            try:
                getattr(value, wrong)
            except AttributeError as raised:
                error = python_errors.explained(raised)
            theirs = python_errors._upstream_members(value, value if isinstance(value, type) else type(value))
            if theirs and wrong in theirs:
                continue
            tried += 1
            assert error is not None and error.id == "UNKNOWN_NAME", (value, wrong)
            assert f"has no {'member' if is_enum else 'attribute'} `{wrong}`" in error.message
            assert re.match(r"did you mean `\w+`\?|it has `", error.fix), error.fix
    assert tried > 400


def test_python_errors_of_the_authors_own_stay():
    class Own:
        pass

    def raised(run):
        try:
            run()
        except Exception as error:
            return python_errors.explained(error)

    assert raised(lambda: Own().nothing) is None and raised(lambda: [].nothing) is None
    assert raised(lambda: (_ for _ in ()).throw(AttributeError("mine"))) is None
    assert raised(lambda: (lambda x: x)()) is None and raised(lambda: len()) is None


NAMES = [  # (what the author wrote, the variables it stands among, the fix)
    ("tdi", "tid", "write `tid`"),
    ("totl", "total", "write `total`"),
    ("idx_y", "idx_x", "write `idx_x`"),
    ("sharde_tile", "shared_tile", "write `shared_tile`"),
    ("lne", None, "write `len`"),
    ("enumarate", None, "write `enumerate`"),
    ("np", None, "write `import numpy as np` at the top"),
    ("thread_idx", None, "write `cute.arch.thread_idx`"),
    ("Int33", None, "write `Int32`"),
    ("make_layot", None, "assign or import `make_layot` before it is used"),
    ("zz", "xx", "assign or import `zz` before it is used"),
]
FORMS = (
    "    return {0} + n\n",
    "    for i in range(n):\n        n = {0} + i\n    return n\n",
    "    while n < {0}:\n        n = n + 1\n",
    "    if n > 1:\n        n = {0}\n    return n\n",
    "    def inner():\n        return {0}\n    return inner()\n",
    "    return [{0} for i in (1, 2)][0]\n",
    "    return (lambda: {0})()\n",
)


@pytest.mark.slow
def test_an_undefined_name_in_every_place_it_can_stand(tmp_path):
    import linecache

    for number, form in enumerate(FORMS):
        for wrong, near, fix in NAMES:
            text = f"@cute.jit\ndef program(n: Int32):\n    {near or 'unlike'} = n\n{form.format(wrong)}"
            file = str(tmp_path / f"author{number}_{wrong}.py")
            linecache.cache[file] = (len(text), None, text.splitlines(True), file)
            space = {"cute": cute, "cutlass": dsl.cutlass, "Int32": Int32, "__name__": "author"}
            exec(compile(text, file, "exec"), space)
            with pytest.raises(NameError) as caught:
                space["program"](3)
            assert (caught.value.message, caught.value.fix) == (f"`{wrong}` is not defined", fix), form
            assert caught.value.place.source_line()[caught.value.place.column - 1 :].startswith(wrong), form


def test_the_fix_of_a_name_is_never_the_function_around_it(tmp_path):
    import linecache

    for wrong in ("comput", "copmute", "computed", "Compute"):
        text = f"@cute.jit\ndef compute(n: Int32):\n    if n > 1:\n        n = {wrong}(n)\n    return n\n"
        file = str(tmp_path / f"{wrong}.py")
        linecache.cache[file] = (len(text), None, text.splitlines(True), file)
        space = {"cute": cute, "Int32": Int32, "__name__": "author"}
        exec(compile(text, file, "exec"), space)
        with pytest.raises(NameError) as caught:
            space["compute"](3)
        assert caught.value.fix == f"assign or import `{wrong}` before it is used"


CALLS = {
    "cute.make_layout(4, strides=1)": ("`make_layout` has no parameter `strides`", "did you mean `stride`?"),
    "cute.size()": ("`size` needs `x`", "call it as `size(x, mode=)`"),
    "cute.size(4, 1, 2)": ("`size` takes at most 2 arguments by position, got 3", "call it as `size(x, mode=)`"),
    "cute.size(4, x=1)": ("`size` gets `x` twice", "call it as `size(x, mode=)`"),
    "cute.math.sqrt(2.0, fastmat=True)": ("`sqrt` has no parameter `fastmat`", "did you mean `fastmath`?"),
    "cute.make_rmem_tensor()": (
        "`make_rmem_tensor` needs `layout_or_shape` and `dtype`",
        "call it as `make_rmem_tensor(layout_or_shape, dtype)`",
    ),
    "cute.arch.thread_idx(1)": ("`thread_idx` takes no arguments by position, got 1", "call it as `thread_idx()`"),
    "Int32(3).to()": ("`to` needs `dtype`", "call it as `to(dtype)`"),
    "Int32()": ("`Int32` needs `value`", "call it as `Int32(value)`"),
    "Int32(1, 2)": ("`Int32` takes at most 1 argument by position, got 2", "call it as `Int32(value)`"),
}


@pytest.mark.filterwarnings("ignore::dsl.core.errors.PortabilityWarning")
def test_a_call_that_does_not_fit(tmp_path):
    import linecache

    for number, (call, (what, fix)) in enumerate(CALLS.items()):
        text = f"@cute.jit\ndef program(n: Int32):\n    {call}\n"
        file = str(tmp_path / f"author{number}.py")
        linecache.cache[file] = (len(text), None, text.splitlines(True), file)
        space = {"cute": cute, "cutlass": dsl.cutlass, "Int32": Int32, "__name__": "author"}
        exec(compile(text, file, "exec"), space)
        with pytest.raises(DSLUserCodeError) as caught:
            space["program"](3)
        assert caught.value.message == what and caught.value.place.line == 3
        assert fix is None or caught.value.fix == fix
