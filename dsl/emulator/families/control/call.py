"""call: device functions are inlined; vprintf, __assertfail, malloc and free go to the host. PTX ISA 9.7.12.5."""

from __future__ import annotations

from dsl.emulator.families.control.emit import fault
from dsl.emulator.families.control.recursion import TOO_DEEP
from dsl.emulator.ir.body import Frame
from dsl.emulator.machine import context
from dsl.emulator.machine.numbers import calls
from dsl.emulator.ptx.syntax import TYPE_BITS, PtxError, Reg, Sym, Vec

_LAUNCHES = ("__cudaCDP2", "cudaGetParameterBuffer", "cudaLaunchDevice")  # of the device runtime


def call(body, instr):
    """call[.uni] [(ret),] name[, (arguments)]; a register that names no function of pointers.py is a fault."""
    operands = list(instr.operands)
    results = operands.pop(0).items if isinstance(operands[0], Vec) else ()
    name = operands.pop(0)
    arguments = operands.pop(0).items if operands and isinstance(operands[0], Vec) else ()
    if not isinstance(name, Sym):
        fault(body, instr, context.ILLEGAL, context.BAD_FUNCTION)
        body.start(body.fresh("dead"))
        return
    if name.name in _HOST:
        _HOST[name.name](body, instr, results, arguments)
        return
    function = body.module.functions.get(name.name)
    if function is None:
        raise PtxError(f"`{name.name}` is not declared")
    if not function.items:
        if name.name.startswith(_LAUNCHES):
            why = f"a kernel that launches kernels is not emulated (`{name.name}`)"
            raise body.refuse(instr, why, "launch the kernel from the host, after this one")
        raise body.refuse(instr, f"`{name.name}` has no body in this PTX")
    _inline(body, instr, function, results, arguments)


def _inline(body, instr, function, results, arguments) -> None:
    if len(results) != len(function.returns) or len(arguments) != len(function.params):
        raise PtxError(f"`{function.name}` takes other arguments")
    caller = body.frame
    body.frame_count += 1
    called_at = (instr.loc, *instr.callers, *caller.callers) if instr.loc else caller.callers
    frame = Frame(function, body.frame_count, leave=body.fresh("return"), callers=called_at)
    moves_in = []
    for formal, actual in zip([*function.returns, *function.params], [*results, *arguments]):
        if formal.space == "param":
            if not isinstance(actual, Sym) or actual.name not in caller.params:
                raise PtxError("a .param argument is not a .param variable")
            frame.params[formal.name] = caller.params[actual.name]
        elif formal not in function.returns:
            bits = TYPE_BITS[formal.type]
            moves_in.append((Reg(formal.name, bits), body.read(actual, bits), bits))
    body.frames.append(frame)
    for register, value, bits in moves_in:
        body.write(register, value, bits)
    body.emit_function(function)
    body.branch(frame.leave)
    body.start(frame.leave)
    returned = [
        (actual, body.read(Reg(formal.name, TYPE_BITS[formal.type]), TYPE_BITS[formal.type]), formal)
        for formal, actual in zip(function.returns, results)
        if formal.space == "reg"
    ]
    body.frames.pop()
    for actual, value, formal in returned:
        body.write(actual, value, TYPE_BITS[formal.type])


def _pointer_argument(body, argument) -> str:
    if isinstance(argument, Sym) and argument.name in body.frame.params:
        pointer, size = body.frame.params[argument.name]
        return body.op(f"load i64, ptr {pointer}") if size >= 8 else body.op(f"load i32, ptr {pointer}")
    return body.read_address(argument)


def _callback(body, instr, which: int, values: list[str]) -> str:
    """Call the host: (which, site, thread, two words); not 0 ends the launch."""
    body.uses.add("print")
    function = body.cast("inttoptr", body.load("print", constant=True), "i64", "ptr")
    words = ", ".join(f"i64 {v}" for v in (values + ["0", "0"])[:2])
    arguments = f"i32 {which}, i32 {body.site(instr)}, i32 {body.threads['linear']}, {words}"
    return body.op(f"call i32 {function}({arguments})")


def _print(body, instr, results, arguments) -> None:
    """vprintf(format, packed arguments): the text is written at once; returns the number of arguments it printed."""
    values = [_pointer_argument(body, a) for a in arguments]
    answer = _callback(body, instr, calls.PRINT, values)
    body.stop_unless(body.cmp("sge", answer, 0), kind="i1")
    for result in results:
        if isinstance(result, Sym):
            body.do(f"store i32 {answer}, ptr {body.frame.params[result.name][0]}")
        else:
            body.write(result, answer, 32)


def _assert_fail(body, instr, results, arguments) -> None:
    """__assertfail(message, file, line, function, charsize): the launch ends with a trap."""
    values = [_pointer_argument(body, a) for a in arguments[:1]]
    body.do(f"; answer of the host is {_callback(body, instr, calls.ASSERT, values)}")
    site = body.site(instr)
    thread = body.threads["linear"]
    body.do(f"call void @emu_fault(ptr %ctx, i32 {context.TRAP}, i32 {site}, i32 {thread}, i64 0, i64 0, i64 0)")
    body.branch("stop")
    body.start(body.fresh("dead"))


def _malloc(body, instr, results, arguments) -> None:
    """malloc(bytes): the host writes the address into a word here."""
    slot = body.alloca("i64")
    size = _pointer_argument(body, arguments[0])
    answer = _callback(body, instr, calls.MALLOC, [size, body.cast("ptrtoint", slot, "ptr", "i64")])
    body.stop_unless(body.cmp("sge", answer, 0), kind="i1")
    for result in results:
        if isinstance(result, Sym):
            body.do(f"store i64 {body.get(slot, 'i64')}, ptr {body.frame.params[result.name][0]}")
        else:
            body.write(result, body.get(slot, "i64"), 64)


def _free(body, instr, results, arguments) -> None:
    answer = _callback(body, instr, calls.FREE, [_pointer_argument(body, arguments[0])])
    body.stop_unless(body.cmp("sge", answer, 0), kind="i1")


def _too_deep(body, instr, results, arguments) -> None:
    fault(body, instr, context.ILLEGAL, context.RECURSION)
    body.start(body.fresh("dead"))


_HOST = {TOO_DEEP: _too_deep, "vprintf": _print, "__assertfail": _assert_fail, "malloc": _malloc, "free": _free}
