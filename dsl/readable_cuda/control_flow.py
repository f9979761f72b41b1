"""Traced scf as statements that C++ has: flags of early exits become `break`, `continue` and `return` again.

An early exit was traced as a flag: the arm that leaves sets it, what follows is guarded by it, and the test of the loop
asks it. If the rest of the way from such an arm, with the flag known, does nothing but leave or go on, the arm ends
with the jump, and the flag is false wherever control still gets to. Nothing is guessed: the rest of the way is followed
with what is known, and an exit that does more than leave keeps its flag.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from dsl.analysis.mlir_reader import Block, Op, Value
from dsl.readable_cuda.ranges import Ranges
from dsl.readable_cuda.statements import Branch, Compute, Copies, Jump, Loop, constant_of, is_pure, names_of

FLAGS = ("__dsl_broke", "__dsl_continued", "__dsl_returned")


@dataclass
class _Frame:
    """The rest of a block: its ops from `index` on."""

    block: Block
    index: int


@dataclass
class _Exit:
    word: str
    pairs: list[tuple[Value, Value]]


@dataclass
class _Around:
    """A loop being made: its op, the variables that a trip starts with and those that it leaves, how many frames are
    around it, which variables are false at every start, what each way back to the start gives them.
    """

    op: Op
    starts: list[Value]
    leaves: list[Value]
    depth: int
    false: list[int] = field(default_factory=list)
    edges: list[list[Value]] = field(default_factory=list)
    broken: list[list[Value]] = field(default_factory=list)

    def back(self, values: list[Value]) -> list[tuple[Value, Value]]:
        """The copies of a way back to the start."""
        self.edges.append(values)
        return [
            (variable, value)
            for index, (variable, value) in enumerate(zip(self.starts, values))
            if value is not variable and index not in self.false
        ]


def _bool(value: bool, like: Op) -> Value:
    return Op("arith.constant", [], ["i1"], {"value": value}, like.place).result


class Flow:
    """Makes the statements of one kernel."""

    def __init__(self, kernel: Op):
        self.kernel = kernel
        self.loops: list[_Around] = []
        self.ranges = Ranges()
        self.returns = False  # whether the jump being looked for belongs to a `return`

    def statements(self) -> list:
        body = self.kernel.blocks[0]
        out: list = []
        self._run(body, 0, {}, out, [])
        return out

    # --- emission ---

    def _run(self, block: Block, index: int, env: dict, out: list, frames: list[_Frame]) -> list[Value] | None:
        """Emit the ops of `block` from `index` on; the operands of its terminator, None where nothing gets there."""
        for at in range(index, len(block.ops)):
            op = block.ops[at]
            if op.name in ("scf.yield", "llvm.return", "scf.condition"):
                return [_resolve(env, operand) for operand in op.operands]
            if op.name == "scf.if":
                if self._if(op, env, out, [*frames, _Frame(block, at + 1)]):
                    return None
            elif op.name == "scf.for":
                self._for(op, env, out, [*frames, _Frame(block, at + 1)])
            elif op.name == "scf.while":
                self._while(op, env, out, [*frames, _Frame(block, at + 1)])
            else:
                self._op(op, env, out)
        return []

    def _op(self, op: Op, env: dict, out: list) -> None:
        folded = _folded(op, env)
        if folded is None and self._is_surely_false(op, env):
            folded = _bool(False, op)
        if folded is not None:
            env[op.result] = folded
            return
        resolved = Op(
            op.name,
            [_resolve(env, operand) for operand in op.operands],
            [r.type for r in op.results],
            op.attributes,
            op.place,
        )
        env.update(zip(op.results, resolved.results))
        resolved.blocks = op.blocks
        if resolved.callee == "vprintf":
            _print_values(resolved, out)
        out.append(Compute(resolved))

    def _is_surely_false(self, op: Op, env: dict) -> bool:
        """Whether an op asks if two numbers that are not negative differ in their signs, as `//` and `%` do."""
        if (
            op.name != "arith.cmpi"
            or op.attributes["predicate"] != 2
            or constant_of(_resolve(env, op.operands[1])) != 0
        ):
            return False
        signs = _resolve(env, op.operands[0])
        return signs.op is not None and signs.op.name == "arith.xori" and self.ranges.is_natural(signs)

    def _if(self, op: Op, env: dict, out: list, frames: list[_Frame]) -> bool:
        """Emit an scf.if. Returns True if no path goes on after it."""
        condition = _resolve(env, op.operands[0])
        constant = constant_of(condition)
        if constant is not None:
            block = op.blocks[0 if constant else 1] if len(op.blocks) > (0 if constant else 1) else None
            values = self._run(block, 0, env, out, frames) if block is not None and block.ops else []
            if values is None:
                return True
            env.update(zip(op.results, values))
            return False
        sides = [self._arm(op, side, condition, env, frames) for side in (0, 1)]
        arms, ends = [statements for statements, _ in sides], [values for _, values in sides]
        if ends[0] is None and ends[1] is None:
            out.append(Branch(condition, arms[0], arms[1], op))
            return True
        if ends[0] is None or ends[1] is None:
            side = 1 if ends[0] is None else 0
            env.update(zip(op.results, ends[side] or []))
            _assume(condition, side == 0, env)
            out.append(Branch(condition, arms[0], [], op) if side else Branch(condition, [], arms[1], op))
            out.extend(arms[side])
            return False
        out.append(self._meeting(op, condition, arms, (ends[0], ends[1]), env))
        return False

    def _arm(
        self, op: Op, side: int, condition: Value, env: dict, frames: list[_Frame]
    ) -> tuple[list, list[Value] | None]:
        """The statements of an arm, and the values at its end; None where it leaves."""
        block = op.blocks[side] if len(op.blocks) > side else Block(op)
        inner, statements = dict(env), []
        _assume(condition, side == 0, inner)
        values = self._run(block, 0, inner, statements, frames)
        if values is None or not (self._sets_flag(op, block) or _is_flag_test(condition)):
            return statements, values
        leaves = self._escape(op, values, inner, frames)
        if leaves is None:
            return statements, values
        if leaves.pairs:
            statements.append(Copies(leaves.pairs))
        statements.append(Jump(leaves.word))
        return statements, None

    def _meeting(
        self, op: Op, condition: Value, arms: list[list], ends: tuple[list[Value], list[Value]], env: dict
    ) -> Branch:
        """A branch whose arms both go on: a variable for each result in which they differ."""
        joined, into = [], ([], [])
        for result, left, right in zip(op.results, *ends):
            if _same(left, right):
                env[result] = left
                continue
            variable = Op("joined", [], [result.type], {"name": names_of(op)[result.index]}, op.place).result
            joined.append(variable)
            env[result] = variable
            into[0].append((variable, left))
            into[1].append((variable, right))
        if joined:
            arms = [[*arm, Copies(pairs)] for arm, pairs in zip(arms, into)]
        return Branch(condition, arms[0], arms[1], op, joined)

    def _sets_flag(self, op: Op, block: Block) -> bool:
        return any(name.startswith(FLAGS) for name in names_of(op)[: len(op.results)])

    def _variables(self, op: Op, types: list[Value], names: list[str]) -> list[Value]:
        return [Op("carried", [], [value.type], {"name": name}, op.place).result for value, name in zip(types, names)]

    def _for(self, op: Op, env: dict, out: list, frames: list[_Frame]) -> None:
        bounds = tuple(_resolve(env, operand) for operand in op.operands[:3])
        initial = [_resolve(env, operand) for operand in op.operands[3:]]
        body = op.blocks[0]
        variables = self._variables(op, op.results, names_of(op))
        names = op.attributes.get("dsl.names", "").split(",")
        counter = Op(
            "counter",
            [],
            [body.arguments[0].type],
            {"name": names[len(op.results)] if len(names) > len(op.results) else ""},
            op.place,
        ).result
        if isinstance(step := constant_of(bounds[2]), int) and step > 0:
            self.ranges.sources[counter] = list(bounds[:2])
        inner = dict(env)
        inner.update(zip(body.arguments, [counter, *variables]))
        statements: list = []
        around = _Around(op, variables, variables, len(frames))
        self.loops.append(around)
        values = self._run(body, 0, inner, statements, frames)
        self.loops.pop()
        if values:
            statements.append(Copies(around.back(values)))
        if initial:
            out.append(Copies(list(zip(variables, initial))))
        out.append(Loop(op, statements, variables, counter, bounds))
        env.update(zip(op.results, variables))

    def _while(self, op: Op, env: dict, out: list, frames: list[_Frame]) -> None:
        initial = [_resolve(env, operand) for operand in op.operands]
        names = names_of(op)
        false = [
            index
            for index, value in enumerate(initial)
            if constant_of(value) is False and index < len(names) and names[index].startswith(FLAGS)
        ]
        loop, around = self._while_with(op, env, false, frames)
        if any(constant_of(values[index]) is not False for values in around.edges for index in false):
            false = []
            loop, around = self._while_with(op, env, false, frames)
        kept = [(variable, value) for variable, value in zip(loop.variables, initial)]
        out.append(Copies(kept))
        out.append(loop)
        env.update(zip(op.results, loop.leaves))
        for index in false:  # no way out of the loop sets the flag
            if loop.leaves[index] is loop.variables[index] and all(
                constant_of(values[index]) is False for values in around.broken
            ):
                env[op.results[index]] = _bool(False, op)

    def _while_with(self, op: Op, env: dict, false: list[int], frames: list[_Frame]) -> tuple[Loop, _Around]:
        """The loop, where the variables numbered `false` are that at every test; what its ways back and out give."""
        before, after = op.blocks
        variables = self._variables(op, op.operands, names_of(op))
        inner = dict(env)
        starts = [_bool(False, op) if index in false else variable for index, variable in enumerate(variables)]
        inner.update(zip(before.arguments, starts))
        head: list = []
        values = self._run(before, 0, inner, head, frames)
        assert values is not None  # the test of a loop does not leave it
        test, passed = values[0], values[1:]
        leaves, copies = [], []
        for index, value in enumerate(passed):
            if index < len(variables) and (value is variables[index] or value is starts[index]):
                leaves.append(variables[index])
            else:
                variable = self._variables(op, [value], [names_of(op)[index]])[0]
                leaves.append(variable)
                copies.append((variable, value))
        if copies:
            head.append(Copies(copies))
        body_env = dict(inner)
        body_env.update(
            zip(
                after.arguments,
                [starts[i] if i < len(starts) and leaf is variables[i] else leaf for i, leaf in enumerate(leaves)],
            )
        )
        _assume(test, True, body_env)
        for argument, passes in zip(after.arguments, passed):
            if passes in body_env and constant_of(body_env[passes]) is not None:
                body_env[argument] = body_env[passes]
        around = _Around(op, variables, leaves, len(frames), false)
        self.loops.append(around)
        statements: list = []
        values = self._run(after, 0, body_env, statements, frames)
        self.loops.pop()
        if values is not None:
            statements.append(Copies(around.back(values)))
        return Loop(op, statements, variables, head=head, test=test, leaves=leaves), around

    # --- the rest of the way ---

    def _escape(self, op: Op, values: list[Value], env: dict, frames: list[_Frame]) -> _Exit | None:
        """The jump that replaces the rest of the way from an arm of `op`, None where that does more than jump."""
        flags = [name.startswith(FLAGS) and constant_of(value) is True for name, value in zip(names_of(op), values)]
        knows = any(flags) or any(constant_of(value) is True and _is_flag(key) for key, value in env.items())
        if not knows:
            return None
        set_here = [name for name, value in zip(names_of(op), values) if constant_of(value) is True]
        self.returns = any(name.startswith(FLAGS[2]) for name in set_here) or any(
            constant_of(value) is True and _is_flag(key, FLAGS[2]) for key, value in env.items()
        )
        env = dict(env)
        env.update(zip(op.results, values))
        return self._follow(frames, env, set(), len(self.loops))

    def _follow(self, frames: list[_Frame], env: dict, unknown: set[Value], loops: int) -> _Exit | None:
        """Follow the ops of `frames`, innermost last; `loops` of the loops being made are around."""
        for at in range(len(frames) - 1, -1, -1):
            frame = frames[at]
            values = self._passed(frame.block, frame.index, env, unknown)
            if values is None:
                return None
            owner = frame.block.owner
            if owner.name == "llvm.func":
                return _Exit("return", [])
            if owner.name == "scf.if":
                env.update(zip(owner.results, values))
                continue
            if owner.name == "scf.while" and frame.block is owner.blocks[0]:
                return None  # in its test nothing is left
            around = self.loops[loops - 1]
            if owner.name == "scf.for":
                return self._back(around, values, unknown, loops)
            return self._after_trip(around, values, frames[: around.depth], env, unknown, loops)
        return None

    def _back(self, around: _Around, values: list[Value], unknown: set[Value], loops: int) -> _Exit | None:
        if loops != len(self.loops) or any(value in unknown for value in values):
            return None
        return _Exit("continue", around.back(values))

    def _after_trip(
        self, around: _Around, values: list[Value], outer: list[_Frame], env: dict, unknown: set[Value], loops: int
    ) -> _Exit | None:
        """The target of a `while` at its next test: back, or out of the loop."""
        before = around.op.blocks[0]
        tested = dict(env)
        tested.update(zip(before.arguments, values))
        seen = set(unknown)
        passed = self._passed(before, 0, tested, seen)
        if passed is None or constant_of(passed[0]) is not False:
            return self._back(around, values, unknown, loops)
        results = passed[1:]
        if outer and self.returns:
            beyond = dict(env)
            beyond.update(zip(around.op.results, results))
            jump = self._follow(outer, beyond, set(seen), loops - 1)
            if jump is not None and jump.word == "return":
                return jump
        if loops != len(self.loops) or any(value in seen for value in results):
            return None
        around.broken.append(results)
        return _Exit("break", _changed(around.leaves, results))

    def _passed(self, block: Block, index: int, env: dict, unknown: set[Value]) -> list[Value] | None:
        """The operands of the terminator of `block`, where its ops from `index` on do nothing but compute."""
        for op in block.ops[index:]:
            if op.name in ("scf.yield", "llvm.return", "scf.condition"):
                return [_resolve(env, operand) for operand in op.operands]
            if op.name == "scf.if":
                constant = constant_of(_resolve(env, op.operands[0]))
                if constant is None:
                    return None
                side = 0 if constant else 1
                inner = op.blocks[side] if len(op.blocks) > side else None
                values = self._passed(inner, 0, env, unknown) if inner is not None and inner.ops else []
                if values is None:
                    return None
                env.update(zip(op.results, values))
            elif is_pure(op):
                folded = _folded(op, env)
                if folded is not None:
                    env[op.result] = folded
                elif op.name == "arith.constant":
                    pass
                else:
                    unknown.update(op.results)
            else:
                return None
        return []


def _print_values(op: Op, out: list) -> None:
    """Give a call of vprintf the values that were stored in its buffer, in place of the stores."""
    buffer, stored = op.operands[1], {}
    for at in range(len(out) - 1, -1, -1):
        store = out[at].op if isinstance(out[at], Compute) else None
        if store is None or store.callee:
            break
        if store.name == "llvm.store" and (offset := _offset(store.operands[1], buffer)) is not None:
            stored.setdefault(offset, store.operands[0])
            del out[at]
    op.operands = [op.operands[0], *(stored[offset] for offset in sorted(stored))]
    op.attributes = {**op.attributes, "printed": True}


def _offset(address: Value, buffer: Value) -> int | None:
    """The number of bytes from `buffer` to an address, None if it is not known."""
    if address is buffer:
        return 0
    op = address.op
    if op is None or op.name != "llvm.getelementptr" or op.operands != [buffer]:
        return None
    return op.attributes["rawConstantIndices"][0] if op.attributes["elem_type"] == "i8" else None


# --- what is known of conditions -------------------------------------------------------------------------------------


def _resolve(env: dict, value: Value) -> Value:
    while value in env:
        value = env[value]
    return value


def _same(a: Value, b: Value) -> bool:
    if a is b:
        return True
    x, y = constant_of(a), constant_of(b)
    if x is None or y is None or a.type != b.type:
        return _is_poison(a) and _is_poison(b)
    return type(x) is type(y) and repr(x) == repr(y)


def _is_poison(value: Value) -> bool:
    return value.op is not None and value.op.name == "llvm.mlir.poison"


def _changed(variables: list[Value], values: list[Value]) -> list[tuple[Value, Value]]:
    return [(variable, value) for variable, value in zip(variables, values) if value is not variable]


def _is_flag(value: Value, flags: tuple | str = FLAGS) -> bool:
    op = value.op
    if op is None:
        return False
    if op.name in ("joined", "carried"):
        return op.attributes["name"].startswith(flags)
    return op.name in ("scf.if", "scf.while", "scf.for") and names_of(op)[value.index].startswith(flags)


def _is_flag_test(condition: Value) -> bool:
    """Whether a condition asks flags: `not flag`, `not (flag or flag)`."""
    op = condition.op
    if op is None:
        return False
    if op.name == "arith.xori" and constant_of(op.operands[1]) is True:
        return _is_flag_test(op.operands[0])
    if op.name == "arith.ori":
        return all(map(_is_flag_test, op.operands))
    return _is_flag(condition)


def _assume(condition: Value, holds: bool, env: dict) -> None:
    """Add to `env` the operands of `condition` that are constant if it is `holds`."""
    op = condition.op
    if op is None or op.name == "arith.constant":
        return
    if op.name == "arith.xori" and constant_of(op.operands[1]) is True:
        _assume(op.operands[0], not holds, env)
    elif op.name == ("arith.andi" if holds else "arith.ori"):
        for operand in op.operands:
            _assume(operand, holds, env)
    elif _is_flag(condition):
        env[condition] = _bool(holds, op)


def _folded(op: Op, env: dict) -> Value | None:
    """The result of an op that follows from constant operands, None where none follows."""
    if op.name in ("arith.addi", "arith.muli"):
        neutral = 0 if op.name == "arith.addi" else 1
        a, b = (_resolve(env, operand) for operand in op.operands)
        if _is_number(a, neutral):
            return b
        return a if _is_number(b, neutral) else None
    if op.name not in ("arith.xori", "arith.andi", "arith.ori", "arith.select"):
        return None
    operands = [_resolve(env, operand) for operand in op.operands]
    first = constant_of(operands[0])
    if op.name == "arith.select":
        return None if not isinstance(first, bool) else operands[1 if first else 2]
    if op.result.type != "i1":
        return None
    second = constant_of(operands[1])
    if op.name == "arith.xori":
        if isinstance(first, bool) and isinstance(second, bool):
            return _bool(first != second, op)
        return operands[0] if second is False else None
    neutral = op.name == "arith.andi"
    for flag, other in ((first, operands[1]), (second, operands[0])):
        if isinstance(flag, bool):
            return other if flag is neutral else _bool(flag, op)
    return None


def _is_number(value: Value, number: int) -> bool:
    constant = constant_of(value)
    return not isinstance(constant, bool) and constant == number
