"""The text of one kernel: its head, its declarations, its statements in order."""

from __future__ import annotations

from typing import Any

from dsl.analysis.mlir_reader import Op, Value
from dsl.readable_cuda import author_names, vectors
from dsl.readable_cuda.author_names import Namer
from dsl.readable_cuda.calls import Calls
from dsl.readable_cuda.conditional import as_expressions
from dsl.readable_cuda.counted_loops import counted, while_as_for
from dsl.readable_cuda.cpp_types import Unsupported, c_type
from dsl.readable_cuda.expressions import RELATION, Expressions
from dsl.readable_cuda.memory import BYTES, Memory, element_of
from dsl.readable_cuda.parallel_copies import in_order
from dsl.readable_cuda.statements import Branch, Compute, Copies, Loop, constant_of, is_pure, reads_all, walk
from dsl.readable_cuda.variables import Inlining, Sharing, without_dead

_INDENT = "  "
_VARIABLES = ("joined", "carried", "counter")


class Body:
    """Prints one kernel. `names`: the author's names of computed values."""

    def __init__(self, kernel: Op, statements: list, names: dict[Value, str], globals_: dict[str, Op], calls: Calls):
        self.kernel, self.author, self.calls = kernel, names, calls
        live = as_expressions(without_dead(statements))
        self.statements = without_dead(counted(without_dead(while_as_for(live))))
        self.counters = {
            loop.variable: id(loop.body) for loop in walk(self.statements) if isinstance(loop, Loop) and loop.variable
        }  # where each is seen
        self.heads = {id(loop.head): id(loop.body) for loop in walk(self.statements) if isinstance(loop, Loop)}
        self.users = _users(self.statements)
        self.namer = Namer()
        self.memory = Memory(globals_, calls, self.users, self.namer.fresh)
        self.inlining = Inlining(self.statements, names)
        self.named = self.inlining.named
        self.leaf_sets: dict[Value, tuple[Value, ...]] = {}
        self.sharing = Sharing(self.statements, self.leaves)
        self.write = Expressions({}, calls, self.memory, vectors.text)
        self.write.ranges.users = self.users
        self.write.ranges.sources = _sources(self.statements)
        self.declared: set[Value] = set()
        self.homes: dict[int, dict[int, list[Value]]] = {}  # list -> place in it -> variables declared there
        self._name_parameters()
        self._name_variables()

    # --- names ---

    def leaves(self, value: Value) -> tuple[Value, ...]:
        """The values with a name that the text of `value` reads."""
        leaf_values = self.leaf_sets.get(value)
        if leaf_values is None:
            op = value.op
            if op is None or value in self.named or op.name in _VARIABLES:
                leaf_values = (value,)
            else:
                leaf_values = tuple(dict.fromkeys(leaf for operand in op.operands for leaf in self.leaves(operand)))
            self.leaf_sets[value] = leaf_values
        return leaf_values

    def _name_parameters(self) -> None:
        author_names = self.kernel.attributes.get("dsl.names", "").split(",")
        for index, value in enumerate(self.kernel.blocks[0].arguments):
            wanted = author_names[index] if index < len(author_names) and author_names[index] else f"arg{index}"
            name = self.namer.fresh(wanted)
            in_memory = str(index) in self.kernel.attributes.get("dsl.memory", "").split(",")
            self.write.names[value] = f"bool:{name}" if self._is_bool(value) else f"&{name}" if in_memory else name

    def _is_bool(self, value: Value) -> bool:
        users = self.users.get(value, ())
        return (
            value.type == "i8"
            and bool(users)
            and all(isinstance(user, Op) and user.name == "arith.trunci" and user.result.type == "i1" for user in users)
        )

    def _name_variables(self) -> None:
        groups: dict[Value, list[Value]] = {}
        occurs: dict[Value, list[tuple]] = {}
        self._occurrences(self.statements, (), occurs)
        for value in occurs:
            groups.setdefault(self.sharing.of(value), []).append(value)
        for stands, members in groups.items():
            wanted = next((name for member in [stands, *members] if (name := self._wanted(member))), "")
            paths = [path for member in members for path in occurs[member]]
            blocks = frozenset(self.heads.get(step[0], step[0]) for path in paths for step in path)
            name = self.namer.fresh(wanted, "p" if "ptr" in stands.type else "v", self._place(stands, paths), blocks)
            for member in members:
                self.write.names[member] = name
            self.write.names[stands] = name
        for stands, members in groups.items():
            if "ptr" in stands.type:
                self._agree_on_pointee(stands, members)

    def _wanted(self, value: Value) -> str:
        op = value.op
        if op is not None and op.name in _VARIABLES:
            name = op.attributes["name"]
            if op.name == "counter" or name in ("the trip", "the loop variable"):
                assert op.place is not None
                name = author_names.counters(op.place.file).get((op.place.line, op.place.column), "i")
            return name
        return self.author.get(value, "")

    def _agree_on_pointee(self, stands: Value, members: list[Value]) -> None:
        types = [self.memory.pointee(member) for member in [stands, *members]]
        chosen = next((type_ for type_ in types if type_ != "i8"), "i8")
        for member in [stands, *members]:
            self.memory.pointees[member] = chosen

    def _occurrences(self, statements: list, path: tuple, occurs: dict) -> None:
        """The places where each variable is read or set: for each place the lists and indices down to it."""
        for index, statement in enumerate(statements):
            here = (*path, (id(statements), index))
            values = [leaf for value in reads_all(statement) for leaf in self.leaves(value)]
            if isinstance(statement, Compute):
                if not self._stands(statement):
                    continue
                values += statement.op.results
            elif isinstance(statement, Copies):
                values += [target for target, _ in statement.pairs]
            elif isinstance(statement, Branch):
                self._occurrences(statement.then, here, occurs)
                self._occurrences(statement.orelse, here, occurs)
            elif isinstance(statement, Loop):
                values += [statement.variable] if statement.variable is not None else []
                self._occurrences(statement.head, here, occurs)
                self._occurrences(statement.body, here, occurs)
            for value in values:
                if value.op is not None and (value in self.named or value.op.name in _VARIABLES):
                    occurs.setdefault(value, []).append(here)

    def _place(self, stands: Value, paths: list[tuple]) -> tuple:
        """Declare a variable in the innermost list that holds all its occurrences, at the first of them; its scope."""
        depth = 0
        while all(len(path) > depth + 1 and path[depth] == paths[0][depth] for path in paths):
            depth += 1
        lists = {path[depth][0] for path in paths}
        if len(lists) > 1:  # in both arms, or in a loop's head and body
            depth -= 1
        home = paths[0][depth][0]
        first = min(path[depth][1] for path in paths)
        self.homes.setdefault(home, {}).setdefault(first, []).append(stands)
        scope = tuple(self.heads.get(step[0], step[0]) for step in paths[0][: depth + 1])
        return (*scope, self.counters[stands]) if stands in self.counters else scope

    def _stands(self, statement: Compute) -> bool:
        """Whether a computation is a separate statement."""
        op = statement.op
        return not is_pure(op) or any(result in self.named for result in op.results)

    # --- text ---

    def text(self) -> str:
        lines = self._block(self.statements, 1)
        if lines and lines[-1] == _INDENT + "return;":
            lines.pop()
        shared = [_INDENT + self.memory.declaration(symbol) for symbol in self.memory.shared]
        size = self.kernel.attributes.get("nvvm.reqntid")
        bounds = f" __launch_bounds__({_product(size)})" if size else ""
        head = f'extern "C" __global__ void{bounds} {self.kernel.attributes["sym_name"]}({self._parameters()}) {{'
        return "\n".join([head, *shared, *lines, "}"]) + "\n"

    def _parameters(self) -> str:
        declarations = []
        for value in self.kernel.blocks[0].arguments:
            name = self.write.names[value]
            if name.startswith("bool:"):
                declarations.append(f"bool {name[5:]}")
            elif name.startswith("&"):
                declarations.append(f"const __grid_constant__ TensorMap {name[1:]}")
            else:
                declarations.append(self._declared(value, name))
        return ", ".join(declarations)

    def _declared(self, value: Value, name: str) -> str:
        if value.type.startswith("!llvm.ptr"):
            return f"{c_type(self.memory.pointee(value))}* {name}"
        place = value.op.place if value.op is not None else self.kernel.place
        return f"{c_type(value.type, place)} {name}"

    def _block(self, statements: list, depth: int) -> list[str]:
        pad = _INDENT * depth
        lines: list[str] = []
        homes = self.homes.get(id(statements), {})
        for index, statement in enumerate(statements):
            own = homes.get(index, [])
            own_lines, introduced = self._statement(statement, depth, own)
            for stands in own:
                if stands not in introduced:
                    lines.append(f"{pad}{self._declared(stands, self.write.names[stands])};")
            lines += own_lines
        return lines

    def _statement(self, statement, depth: int, own: list[Value]) -> tuple[list[str], set[Value]]:
        """The lines of a statement; of the variables to declare at it, those that it declares itself."""
        pad = _INDENT * depth
        if isinstance(statement, Compute):
            if not self._stands(statement):
                return [], set()
            lines, introduced = self._compute(statement.op, own)
            return [pad + line for line in lines], introduced
        if isinstance(statement, Copies):
            lines, introduced = self._copies(statement, own)
            return [pad + line for line in lines], introduced
        if isinstance(statement, Branch):
            return self._branch(statement, depth), set()
        if isinstance(statement, Loop):
            return self._loop(statement, depth, own)
        return [f"{pad}{statement.word};"], set()

    def _compute(self, op: Op, own: list[Value]) -> tuple[list[str], set[Value]]:
        if op.name == "llvm.store":
            return self.memory.store(op, self.write), set()
        if op.name == "llvm.alloca":
            return [self._local_array(op)], {self.sharing.of(op.result)}
        if not op.results or op.result not in self.named:
            return [f"{self.write.computed(op)[0]};"], set()
        value = op.result
        stands = self.sharing.of(value)
        if value.type.startswith("!llvm.ptr") and op.name not in ("llvm.load",):
            name = self.write.names.pop(value)
            source = self.memory.typed(value, self.memory.pointee(value), self.write)
            self.write.names[value] = name
            text = source[1:-1] if _is_wrapped(source) else source
        else:
            text = self.write.computed(op)[0]
            if stands in own and value.type == "i32":
                text = _without_cast(text)
        if stands in own:
            return [f"{self._declared(stands, self.write.names[stands])} = {text};"], {stands}
        return [f"{self.write.names[stands]} = {text};"], set()

    def _local_array(self, op: Op) -> str:
        count = op.operands[0].op.attributes["value"] if op.operands[0].op is not None else None
        element = op.attributes["elem_type"]
        if not isinstance(count, int):
            raise Unsupported("a local array of dynamic size", op.place)
        wanted = self.memory.pointee(op.result)
        scalar, times = element_of(element)
        size_bytes = count * times * BYTES.get(scalar, 1)
        if size_bytes % BYTES[wanted]:
            wanted = self.memory.pointees[op.result] = "i8"
        aligned = f"__align__({op.attributes.get('alignment', 8)}) "
        return f"{aligned}{c_type(wanted)} {self.write.names[op.result]}[{size_bytes // BYTES[wanted]}];"

    def _copies(self, statement: Copies, own: list[Value]) -> tuple[list[str], set[Value]]:
        lines, introduced = [], set()
        for target, source, stand_in in in_order(statement.pairs, self.sharing.of, self.leaves):
            if stand_in is not None:
                name = self.write.names[stand_in] = self.namer.fresh(f"next_{self.write.names[target]}")
                lines.append(f"{self._declared(target, name)} = {self._assigned(source, target)};")
                continue
            stands = self.sharing.of(target)
            name = self.write.names[target]
            text = self._assigned(source, target)
            if stands in own and stands not in introduced:
                introduced.add(stands)
                lines.append(f"{self._declared(stands, name)} = {text};")
            else:
                lines.append(f"{name} = {text};")
        return lines, introduced

    def _assigned(self, source: Value, target: Value) -> str:
        if target.type.startswith("!llvm.ptr"):
            text = self.memory.typed(source, self.memory.pointee(target), self.write)
            return text[1:-1] if _is_wrapped(text) else text
        return self.write.text(source)

    def _branch(self, statement: Branch, depth: int) -> list[str]:
        pad = _INDENT * depth
        then, orelse = (self._block(arm, depth + 1) for arm in (statement.then, statement.orelse))
        if not then and not orelse:
            return []
        if not then:
            test, then, orelse = self.write.negated(statement.condition)[0], orelse, []
        else:
            test = self.write.text(statement.condition)
        if len(then) == 1 and not orelse and then[0].strip() in ("break;", "continue;", "return;"):
            return [f"{pad}if ({test}) {{ {then[0].strip()} }}"]
        lines = [f"{pad}if ({test}) {{", *then]
        if orelse:
            inner = statement.orelse
            is_chain = orelse[0].startswith(f"{pad}{_INDENT}if (") and _is_one_if(orelse, depth + 1)
            if is_chain and inner:
                shifted = [line[len(_INDENT) :] for line in orelse]
                return [*lines, f"{pad}}} else {shifted[0].strip()}", *shifted[1:]]
            lines += [f"{pad}}} else {{", *orelse]
        return [*lines, f"{pad}}}"]

    def _loop(self, loop: Loop, depth: int, own: list[Value]) -> tuple[list[str], set[Value]]:
        pad = _INDENT * depth
        annotation = str(loop.op.attributes.get("llvm.loop_annotation", ""))
        lines = []
        if "disable = true" in annotation:
            lines.append(f"{pad}#pragma unroll 1")
        elif "full = true" in annotation:
            lines.append(f"{pad}#pragma unroll")
        elif "count = " in annotation:
            lines.append(f"{pad}#pragma unroll {annotation.partition('count = ')[2].split()[0]}")
        if loop.variable is None:
            body = self._while(loop, depth + 1)
            return [*lines, f"{pad}while (1) {{", *body, f"{pad}}}"], set()
        start, stop, step = loop.bounds
        stands = self.sharing.of(loop.variable)
        name = self.write.names[loop.variable]
        head = f"{c_type(loop.variable.type)} {name}" if stands in own else name
        number = step.op.attributes["value"] if step.op is not None and step.op.name == "arith.constant" else None
        moved = (
            f"++{name}"
            if number == 1
            else f"--{name}"
            if number == -1
            else f"{name} -= {-number}"
            if isinstance(number, int) and number < 0
            else f"{name} += {self.write.text(step)}"
        )
        sign = ">" if isinstance(number, int) and number < 0 else "<"
        test = f"{name} {sign} {self.write.text(stop, RELATION + 1)}"
        body = self._block(loop.body, depth + 1)
        lines.append(f"{pad}for ({head} = {self.write.text(start)}; {test}; {moved}) {{")
        return [*lines, *body, f"{pad}}}"], {stands} & set(own)

    def _while(self, loop: Loop, depth: int) -> list[str]:
        pad = _INDENT * depth
        lines = self._block(loop.head, depth)
        assert loop.test is not None
        if constant_of(loop.test) is not True:
            lines.append(f"{pad}if ({self.write.negated(loop.test)[0]}) {{ break; }}")
        return lines + self._block(loop.body, depth)


def _users(statements: list) -> dict[Value, list[Any]]:
    """The ops that read each value, and the variables that it is copied to."""
    users: dict[Value, list[Any]] = {}
    for statement in walk(statements):
        if isinstance(statement, Compute):
            for operand in statement.op.operands:
                users.setdefault(operand, []).append(statement.op)
        elif isinstance(statement, Copies):
            for target, source in statement.pairs:
                users.setdefault(source, []).append(target)
    return users


def _sources(statements: list) -> dict[Value, list[Value]]:
    """The values that are copied to each variable; start and stop of a counter."""
    sources: dict[Value, list[Value]] = {}
    for statement in walk(statements):
        if isinstance(statement, Copies):
            for target, source in statement.pairs:
                sources.setdefault(target, []).append(source)
        elif isinstance(statement, Loop) and statement.variable is not None:
            step = statement.bounds[2].op
            if step is not None and step.name == "arith.constant" and step.attributes["value"] > 0:
                sources[statement.variable] = list(statement.bounds[:2])
    return sources


def _is_wrapped(text: str) -> bool:
    """Whether one pair of parentheses encloses the whole text."""
    if not (text.startswith("(") and text.endswith(")")):
        return False
    depth = 0
    for index, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0:
            return index == len(text) - 1
    return False


def _without_cast(text: str) -> str:
    """An initial value of an `int` without the cast to int that the declaration does."""
    return text.removeprefix("(int)") if text.startswith("(int)") and text[5:].replace(".", "").isalnum() else text


def _is_one_if(lines: list[str], depth: int) -> bool:
    """Whether lines are one `if` with its arms, and nothing after it."""
    pad = _INDENT * depth
    return (
        all(line.startswith((pad + _INDENT, pad + "}", pad + "if (")) for line in lines)
        and sum(line.startswith(pad + "if (") for line in lines) == 1
        and lines[-1] == pad + "}"
    )


def _product(size: tuple) -> int:
    total = 1
    for extent in size:
        total *= extent
    return total
