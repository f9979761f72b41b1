"""T.ptx: PTX instructions, by the dotted names of PTX and by the names that apache-tvm 0.26 has for some of them.

`T.ptx.add.rn.f32(d, a, b)` is `add.rn.f32 d, a, b;`, as in apache-tvm 0.27. The instruction table has the
instructions, the modifiers that go together, and the operands. A modifier that Python cannot
spell has `_` after it (`global_`), or `__` in place of `::` (`shared__cta`); `T.ptx["ld.shared::cta.b32"]` takes PTX's
own text. A call that writes a register or an element is a statement (syntax/statements.py): `perform` gives what the
names hold after it.
"""

from __future__ import annotations

import inspect
import keyword
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from dsl.core import trace
from dsl.core.errors import DSLUserCodeError, DSLUserCodeTypeError, warn_of_old_name
from dsl.core.ir import mlir
from dsl.core.number.dtypes import Boolean, Int8, Int32, Numeric, Uint32, numeric
from dsl.core.number.operators import select
from dsl.gpu.inline import CONSTRAINTS, ptx as _text, raw_ptx
from dsl.tirx.errors.error_wording import type_name
from dsl.tirx.errors.unsupported import module_getattr
from dsl.tirx.functions.instruction_arguments import SINK, Named, Place, Written
from dsl.tirx.memory.buffer import Buffer
from dsl.tirx.values import dtypes, effects, vector_lanes
from dsl.tirx.values.promotion import as_register


class Namespace:
    """T.ptx. `own`: functions by their path, `newer`: what 0.27 has in their place, `names`: others of its names,
    `upstream`: names refused by name."""

    def __init__(
        self,
        own: dict[tuple[str, ...], Callable],
        newer: dict[str, str],
        names: dict[str, Any],
        upstream: frozenset,
        groups: frozenset,
    ):
        self._own, self._newer, self._upstream, self._upstream_groups = own, newer, upstream, groups
        vars(self).update(names)
        for path in own:
            vars(self).setdefault(path[0], Instruction(self, path[:1]))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if path := _path(name):
            return Instruction(self, path)
        known = {each: value for each, value in vars(self).items() if not each.startswith("_")}
        return module_getattr("T.ptx", known | dict.fromkeys(_opcodes()), self._upstream)(name)

    def __iter__(self) -> NoReturn:
        raise DSLUserCodeTypeError(
            "T.ptx is not iterated", id="PTX_FORM", fix="name an instruction: T.ptx.add.rn.f32(d, a, b)"
        )

    def find(self, text: str) -> Instruction | None:
        """The instruction of a text, None where its first word is none."""
        path = _path(text.partition(".")[0])
        return Instruction(self, (*path, *text.split(".")[1:])) if path else None

    def __getitem__(self, text: str) -> Instruction:
        """`T.ptx["st.shared::cta.b32"]`: an instruction by its text."""
        if not isinstance(text, str):
            raise DSLUserCodeTypeError(
                f"T.ptx[...] takes the text of an instruction, got {type_name(text)}",
                id="PTX_FORM",
                fix='T.ptx["st.shared::cta.b32"](address, value)',
            )
        first, *modifiers = text.split(".")
        return Instruction(self, (*(_path(first) or getattr(self, _python(first))._path), *modifiers))


def _operands() -> Any:
    """The module that reads the instruction table: that takes a while, and most programs name no instruction."""
    from dsl.tirx.functions import instruction_operands

    return instruction_operands


def _path(name: str) -> tuple[str, ...]:
    """An instruction's first name as its opcode and modifiers: `shfl_sync` is shfl.sync; () if it is none."""
    plain = _ptx(name)
    if plain in _opcodes():
        return (plain,)
    opcode, _, rest = plain.partition("_")
    return (
        (opcode, rest) if rest and opcode in _opcodes() and any(rest in row.modifiers for row in _rows(opcode)) else ()
    )


def _rows(opcode: str) -> Sequence:
    return _operands().table.ROWS.get(opcode, ())


def _opcodes() -> dict[str, list]:
    return {opcode: rows for opcode, rows in _operands().table.ROWS.items() if opcode not in _NO_CALL}


_NO_CALL = frozenset(
    "alloca bra brx call clusterlaunchcontrol exit ret stackrestore stacksave suld sust tcgen05 tex tld4 wmma".split()
)


def _ptx(name: str) -> str:
    """A modifier as PTX writes it."""
    return (name.removesuffix("_") if name.endswith("_") else name).replace("__", "::")


def _python(modifier: str) -> str:
    """A modifier as an attribute."""
    name = modifier.replace("::", "__")
    return f"{name}_" if keyword.iskeyword(name) else name


class Instruction:
    """An instruction by some or all of its names; called with its operands."""

    def __init__(self, namespace: Namespace, path: tuple[str, ...]):
        self._namespace, self._path = namespace, path
        self._function = namespace._own.get(path)
        self.__name__ = ".".join(path)
        if self._function is not None:
            self.__signature__ = inspect.signature(self._function)
            self.__doc__ = self._function.__doc__

    def __getattr__(self, name: str) -> Instruction:
        if name.startswith("_"):
            raise AttributeError(name)
        path = (*self._path, _ptx(name))
        if path in self._namespace._own or (*self._path, name) in self._namespace._own:
            return Instruction(self._namespace, path if path in self._namespace._own else (*self._path, name))
        self._check_modifier(name, path[-1])
        return Instruction(self._namespace, path)

    def _check_modifier(self, name: str, modifier: str) -> None:
        """Raise for a modifier that is in no form of the instruction."""
        own = {path[len(self._path)] for path in self._namespace._own if path[: len(self._path)] == self._path != path}
        known = own | {each for row in _rows(self._path[0]) for each in row.modifiers}
        if modifier not in known:
            places = {_python(each): each for each in known}
            module_getattr(f"T.ptx.{'.'.join(map(_python, self._path))}", places, self._namespace._upstream_groups)(
                name
            )

    @property
    def text(self) -> str:
        """Its name in PTX so far."""
        return ".".join(self._path)

    @property
    def layouts(self) -> Sequence:
        """The lists of operands that it may have; none where more modifiers must follow."""
        opcode, *modifiers = (*(_path(self._path[0]) or self._path[:1]), *self._path[1:])
        return _operands().layouts(opcode, tuple(modifiers))

    def written(self, count: int) -> int:
        """How many of the first arguments a call with `count` may write; all where `perform` will raise."""
        if self._function is not None and self._takes((None,) * count, {}):
            return 0
        return max((each.written for each in self.layouts if each.arguments == count), default=count)

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        if self._function is not None and not (self._is_other_form(arguments, options)):
            self._note()
            return self._function(*arguments, **options)
        perform(self, arguments, options)
        return None

    def _note(self) -> None:
        """Warn of a name that apache-tvm 0.27 has no more."""
        if newer := self._namespace._newer.get(self.text):
            text = f"apache-tvm 0.27 has no T.ptx.{self.text} like this: write `{newer}`"
            warn_of_old_name(text)

    def _is_other_form(self, arguments: tuple, options: dict) -> bool:
        """Whether a call is not one of 0.26's function, but of an instruction of the same name."""
        return not self._takes(arguments, options) and any(each.arguments == len(arguments) for each in self.layouts)

    def _takes(self, arguments: tuple, options: dict) -> bool:
        """Whether 0.26's function takes these arguments."""
        try:
            self.__signature__.bind(*arguments, **options)
        except TypeError:
            return False
        return True

    def __repr__(self) -> str:
        return f"T.ptx.{'.'.join(map(_python, self._path))}"


# --- calls that write ------------------------------------------------------------------------------------------------


def perform(instruction: Instruction, arguments: Sequence, options: dict[str, Any]) -> tuple:
    """Execute an instruction; what each argument that is a Named holds after it."""
    effects.note()
    vector_lanes.refuse(f"it calls T.ptx.{instruction.text}")
    if unknown := sorted(options.keys() - {"pred", "preserve_dst"}):
        raise DSLUserCodeTypeError(
            f"T.ptx.{instruction.text} has no parameter `{unknown[0]}`", id="PTX_OPERANDS", fix="pred=x > 0 guards it"
        )
    layout, values = _chosen(instruction, arguments)
    if layout.need.target:
        trace.kernel().need(layout.need.target, f"executes {layout.text}")
    results = _emitted(instruction, layout, values, options.get("pred"))
    after = dict(zip([k for k, each in enumerate(values) if isinstance(each, Written)], results))
    found = []
    for k, argument in enumerate(arguments):
        if isinstance(argument, Place) and k in after:
            argument.buffer[argument.index] = after[k]
        if isinstance(argument, Named):
            if k in after and isinstance(argument.content, Buffer):
                argument.content[0] = after[k]
                found.append(argument.content)
            else:
                found.append(as_register(after[k]) if k in after else argument.content)
    return tuple(found)


def _chosen(instruction: Instruction, arguments: Sequence) -> tuple[Any, list]:
    """The list of operands that the arguments fit, and the arguments as it takes them."""
    operands = _operands()

    if not instruction.layouts:
        _refuse_form(instruction)
    counts = sorted({each.arguments for each in instruction.layouts})
    wrong: list = []
    for layout in instruction.layouts:
        if layout.arguments != len(arguments):
            continue
        try:
            return layout, _prepared(layout, arguments)
        except operands.Mismatch as error:
            wrong.append((error.place, error, layout))
    if not wrong:
        for each in instruction.layouts:
            is_value = not any(isinstance(argument, (Named, Place)) for argument in arguments)
            if is_value and each.written and each.arguments == len(arguments) + each.written:
                raise DSLUserCodeTypeError(
                    f"{instruction!r} has no value: it writes its first argument",
                    id="PTX_OPERANDS",
                    fix=f"declare a register, `d: T.{_dtype_of(each.slots[0])}`, and write `{instruction!r}(d, ...)`",
                )
        lists = " or ".join(
            sorted({f"({', '.join(slot.shown for slot in each.slots)})" for each in instruction.layouts})
        )
        takes = f"{' or '.join(map(str, counts))} argument{'s' * (counts != [1])}"
        raise DSLUserCodeTypeError(
            f"{instruction!r} takes {takes}, got {len(arguments)}", id="PTX_OPERANDS", fix=f"its operands are {lists}"
        )
    _, error, _ = max(wrong, key=lambda each: each[0])
    raise DSLUserCodeTypeError(f"{instruction!r}: {error.message}", id="PTX_OPERANDS", fix=error.fix)


def _refuse_form(instruction: Instruction) -> NoReturn:
    opcode, *modifiers = instruction._path
    why = _operands().table.problem_of(opcode, tuple(modifiers)) or f"it has no form with .{'.'.join(modifiers)}"
    raise DSLUserCodeError(
        f"{instruction!r} is not a whole instruction: {why}",
        id="PTX_FORM",
        fix="drop it, or write another form of the instruction"
        if "not go with" in why
        else "write it too, in PTX's order",
    )


def _prepared(layout: Any, arguments: Sequence) -> list:
    """For each register, constant and address of the text what it takes."""
    operands = _operands()

    rest, place, values = list(arguments), 0, []
    for slot in layout.slots:
        kinds = [slot] * (slot.arguments - slot.paired)
        if not slot.count:
            values.append(str(slot.values[0]))
        if slot.sunk:
            values.append(SINK)
        if slot.kind == operands.TENSOR:
            kinds = [operands.Slot(operands.ADDRESS), *[operands.Slot(operands.READS, "s32")] * slot.count]
        if slot.paired:
            kinds.append(operands.Slot(operands.WRITES, "pred"))
        for each in kinds:
            argument, place = rest.pop(0), place + 1
            if each.kind == operands.WRITES:
                values.append(argument if argument is SINK else _destination(place, each, argument))
                continue
            argument = _content(argument)
            if each.kind == operands.READS:
                values.append(operands.number_for(place, each, argument))
            elif each.kind == operands.POINTER:
                values.append(operands.pointer_for(place, each, argument))
            elif each.kind == operands.CONSTANT:
                values.append(operands.constant_for(place, each, argument))
            else:
                values.append(operands.address_for(place, each, argument))
    return values


def _content(argument: Any) -> Any:
    """An argument that is read."""
    if isinstance(argument, Place):
        return argument.buffer[argument.index]
    if isinstance(argument, Named):
        return argument.content._raise() if hasattr(argument.content, "filled") else argument.content
    return argument


def _destination(place: int, slot: Any, argument: Any) -> Written:
    operands = _operands()

    if isinstance(argument, Place) and isinstance(argument.buffer, Buffer):
        dtype = argument.buffer.dtype
        old = lambda: argument.buffer[argument.index]  # noqa: E731
    elif isinstance(argument, Named) and hasattr(argument.content, "filled"):
        dtype, old = argument.content.dtype, argument.content.filled
    elif isinstance(argument, Named) and isinstance(argument.content, Buffer) and argument.content.is_single:
        dtype = argument.content.dtype
        old = lambda: argument.content[0]  # noqa: E731
    elif isinstance(argument, Named) and isinstance(argument.content, Numeric):
        dtype = dtypes.of(argument.content)
        old = lambda: argument.content  # noqa: E731
    else:
        wanted = _dtype_of(slot)
        shown = argument.name if isinstance(argument, Named) else "d"
        shown = argument.index if isinstance(argument, Place) and argument.buffer is None else shown
        raise operands.Mismatch(
            place,
            f"argument {place} is written, so it must be a register or an element of a buffer",
            f"declare a register before: `{shown}: T.{wanted}`",
        )
    if not _holds(dtype, slot):
        wanted = "bool or uint32" if slot.type == "pred" else f"of .{slot.type}"
        name = "uint32" if slot.type == "pred" else dtypes.find(operands.class_of(slot.type))
        raise operands.Mismatch(
            place, f"argument {place} is written and must be {wanted}, got {dtype}", f"declare it so: `d: T.{name}`"
        )
    return Written(dtype, slot.type, old)


def _dtype_of(slot: Any) -> Any:
    """A dtype whose registers take what an operand writes."""
    if slot.type in ("f16", "bf16"):
        return "float16" if slot.type == "f16" else "bfloat16"
    return "bool" if slot.type == "pred" else dtypes.find(_operands().class_of(slot.type))


def _holds(dtype: Any, slot: Any) -> bool:
    """Whether a register of `dtype` takes what an operand writes."""
    operands = _operands()

    given = dtype.scalar
    if dtype.lanes != 1:
        return False
    if slot.type == "pred":
        return given in (Boolean, Uint32, Int32)
    wanted = operands.class_of(slot.type)
    if given.width != wanted.width or given is Boolean:
        return slot.is_loose and wanted.is_integer and given.is_integer and given.width > wanted.width
    if operands.is_bits(slot.type):
        return True
    return given is wanted if wanted.is_float else given.is_integer


# --- the text --------------------------------------------------------------------------------------------------------

_WORD = {8: mlir.i32, 16: mlir.i16, 32: mlir.i32, 64: mlir.i64}  # the value for a register, by its bits


def _emitted(instruction: Instruction, layout: Any, values: list, pred: Any) -> list[Numeric]:
    """Write an instruction; the values of its destinations, converted to their dtypes."""
    operands = _operands()

    destinations = [each for each in values if isinstance(each, Written)]
    text = _Text([_carrier(each.type) for each in destinations])
    tied = layout.text.startswith("wgmma.mma_async")
    for k, each in enumerate(destinations if tied else ()):
        text.operand(operands.class_of(each.type)(each.old()).ir(), str(k))
    guard = _guard(pred)
    marked = f"@{text.predicate(guard)} " if guard is not None else ""
    names, index = [], 0
    for slot in layout.slots:
        parts = []
        for _ in range(slot.arguments + slot.sunk + (not slot.count)):
            value = values[index]
            index += 1
            if value is SINK:
                parts.append("_")
            elif isinstance(value, Written):
                parts.append(text.result(value.type))
            elif isinstance(value, str):
                parts.append(value)
            elif isinstance(value, tuple):
                address, letter, offset = value
                parts.append(f"{text.operand(address, letter)}{f'+{offset}' if offset else ''}")
            elif type(value) is Boolean:
                parts.append(text.predicate(value))
            else:
                parts.append(text.number(value))
        names.append(_operand(slot, parts))
    whole = text.written(f"{marked}{layout.text}{' ' if names else ''}{', '.join(names)};")
    found = [_converted(value, each) for value, each in zip(whole, destinations)]
    if guard is not None and found:
        found = [
            each.dtype.scalar(select(guard, new, each.dtype.scalar(each.old())))
            for new, each in zip(found, destinations)
        ]
    return found


def _operand(slot: Any, parts: list[str]) -> str:
    """An operand as PTX writes it."""
    if slot.kind == "address":
        return f"[{parts[0]}]"
    if slot.kind == "tensor":
        return f"[{parts[0]}, {{{', '.join(parts[1:])}}}]"
    if slot.paired:
        return f"{parts[0]}|{parts[1]}"
    return f"{{{', '.join(parts)}}}" if slot.in_braces else parts[0]


def _guard(pred: Any) -> Boolean | None:
    if pred is None:
        return None
    number = numeric(getattr(pred, "value", pred) if not isinstance(pred, Numeric) else pred)
    if number is None or not number.is_integer:
        raise DSLUserCodeTypeError(
            f"the predicate of an instruction must be a bool, got {type_name(pred)}",
            id="PTX_OPERANDS",
            fix="pred=x > 0",
        )
    return Boolean(number)


def _carrier(kind: str) -> mlir.Type:
    if kind in ("f32", "f64"):
        return mlir.f32 if kind == "f32" else mlir.f64
    return mlir.i32 if kind == "pred" else _WORD[_operands().TYPE_BITS[kind]]


class _Text:
    """Inline PTX as it is put together: results first, then operands, and predicates in registers that it declares."""

    def __init__(self, results: list[mlir.Type]):
        self.types, self.constraints = results, [f"={CONSTRAINTS[each]}" for each in results]
        self.operands: list[mlir.Value] = []
        self.before: list[str] = []
        self.after: list[str] = []
        self.predicates = self.given = 0

    def operand(self, value: mlir.Value, letter: str) -> str:
        self.operands.append(value)
        self.constraints.append(letter)
        return f"${len(self.constraints) - 1}"

    def number(self, value: Numeric) -> str:
        value = self._in_register(value)
        return self.operand(value, CONSTRAINTS[value.type])

    @staticmethod
    def _in_register(value: Numeric) -> mlir.Value:
        if type(value).width == 8:
            return (Int32 if type(value) is Int8 else Uint32)(value).ir()
        if type(value).width == 16 and type(value).is_float:
            return mlir.result("arith.bitcast", mlir.i16, value.ir()) if value.ir().type != mlir.i16 else value.ir()
        return value.ir()

    def predicate(self, value: Boolean) -> str:
        name = self._new()
        self.before.append(f"setp.ne.b32 {name}, {self.operand(Int32(value).ir(), 'r')}, 0; ")
        return name

    def result(self, kind: str) -> str:
        register, self.given = f"${self.given}", self.given + 1
        if kind != "pred":
            return register
        name = self._new()
        self.after.append(f" selp.b32 {register}, 1, 0, {name};")
        return name

    def _new(self) -> str:
        self.predicates += 1
        return f"%dsl_p{self.predicates}"

    def written(self, instruction: str) -> list[mlir.Value]:
        text = f"{''.join(self.before)}{instruction}{''.join(self.after)}"
        if self.predicates:
            names = ", ".join(f"%dsl_p{k + 1}" for k in range(self.predicates))
            text = f"{{ .reg .pred {names}; {text} }}"
        constraints = ",".join(self.constraints)
        if not self.types:
            _text(text, None, constraints, *self.operands)
            return []
        if len(self.types) == 1:
            return [raw_ptx(text, self.types[0], constraints, *self.operands)]
        whole = raw_ptx(text, mlir.struct(*self.types), constraints, *self.operands)
        return [mlir.field(whole, k, each) for k, each in enumerate(self.types)]


def _converted(value: mlir.Value, destination: Written) -> Numeric:
    """A result as its destination holds it."""
    operands = _operands()

    wanted = destination.dtype.scalar
    if destination.type == "pred":
        return wanted(Int32(value) != 0) if wanted is Boolean else wanted(Uint32(value))
    made = operands.class_of(destination.type)
    if made.width == 8:
        return wanted((Int32 if made is Int8 else Uint32)(value))
    if made.is_float and made.width == 16:
        number = operands.class_of("u16")(value)
        return number.bitcast(wanted)
    number = made(value)
    if wanted.width == made.width:
        return number if wanted is made else number.bitcast(wanted)
    return wanted(number)
