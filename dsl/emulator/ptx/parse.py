"""PTX text -> syntax.Module. PTX ISA chapters 4 (syntax), 5 (state spaces, types), 10 and 11 (directives)."""

from __future__ import annotations

from dsl.emulator.ptx import literals
from dsl.emulator.ptx.syntax import (
    SINK,
    SPACES,
    TYPE_BITS,
    Addr,
    FloatImm,
    Function,
    Imm,
    Instr,
    Label,
    Module,
    Not,
    Pair,
    PtxError,
    Reg,
    Special,
    Sym,
    Unsupported,
    Variable,
    Vec,
    one_line,
)
from dsl.emulator.ptx.tokens import Tokens

MAX_REGISTERS = 1 << 20
MOST_CALLERS = 64  # kept of an inlined function
MAX_VARIABLE_BYTES = 1 << 34
_LINKING = frozenset({".visible", ".extern", ".weak", ".common"})
_SKIPPED_LISTS = frozenset(
    {".maxnctapersm", ".pragma", ".explicitcluster", ".noreturn",
     ".blocksareclusters", ".abi_preserve", ".abi_preserve_control"}
)  # fmt: skip


def parse(text: str) -> Module:
    """Parse a PTX module. Raises PtxError (not PTX) or Unsupported (a directive that is refused)."""
    return _Parser(text).module()


class _Parser(Tokens):
    def __init__(self, text: str):
        super().__init__(text)
        self.result = Module()
        self.loc: tuple | None = None
        self.callers: tuple = ()
        self.callers_of: dict[tuple, tuple] = {}  # the callers of the last .loc of each place
        self.scopes: list[dict] = []
        self.function: Function  # the one whose text is read: set before anything below asks for it
        self.scope_count = 0
        self.aliases: dict[str, str] = {}
        self.selectors: dict[int, str] = {}  # Instr.selectors of the instruction that is read, by operand
        self.place_of_operand = 0

    # ** module level

    def module(self) -> Module:
        while token := self.tokens[self.at]:
            if token == ".version":
                self.at += 1
                self.result.version = self.take()
            elif token == ".target":
                self.at += 1
                self.result.target = self.take()
                while self.accept(","):
                    self.take()
            elif token == ".address_size":
                self.at += 1
                if self.integer() != 64:
                    raise Unsupported(".address_size 32", self.line(), why="only 64-bit PTX runs")
            elif not self.common_directive(token):
                self.definition()
        if self.aliases:
            self.without_aliases()
        return self.result

    def common_directive(self, token: str) -> bool:
        """Directives allowed at module level and inside bodies."""
        if token == ".file":
            self.at += 1
            number, name = self.integer(), self.take()
            while self.accept(","):
                self.take()
            self.result.files[number] = literals.file_name(name)
        elif token == ".loc":
            self.at += 1
            self.place()
        elif token == ".section":
            while self.take() != "{":
                pass
            while self.take() != "}":
                pass
        elif token == ".pragma":
            self.skip_to_semicolon()
        else:
            return False
        return True

    def place(self) -> None:
        """Read the rest of a `.loc`. The place of `inlined_at` has its own .loc before this one: PTX ISA 11.5.3."""
        self.loc = (self.integer(), self.integer(), self.integer())
        self.callers = ()
        while self.accept(","):
            if self.take() == "inlined_at":
                caller = (self.integer(), self.integer(), self.integer())
                self.callers = (caller, *self.callers_of.get(caller, ()))[:MOST_CALLERS]
            else:
                self.take()
                if self.accept("+"):
                    self.take()
        self.callers_of[self.loc] = self.callers

    def definition(self) -> None:
        linking = ""
        while self.tokens[self.at] in _LINKING:
            linking = self.take()
        token = self.tokens[self.at]
        if token in (".entry", ".func"):
            self.function_definition(token == ".entry")
        elif token[:1] == "." and token[1:] in SPACES and token != ".reg":
            for variable in self.variable_declaration(extern=linking == ".extern"):
                known = self.result.variables.get(variable.name)
                if known is not None and known.size:  # `.extern` may come before
                    raise self.twice(variable.name)
                self.result.variables[variable.name] = variable
        elif token == ".alias":
            self.alias()
        else:
            raise self.error("expected a directive")

    def alias(self) -> None:
        """`.alias name, function;`: the name, which is declared before, is another of the function."""
        self.take()
        name, _, other = self.take(), self.take(","), self.take()
        if (function := self.result.functions.get(other)) is None or not function.items:
            raise PtxError(f"`{other}`, which `{name}` is an alias of, has no body before it", self.line())
        self.take(";")
        self.aliases[name] = other

    def without_aliases(self) -> None:
        """Let instructions and initialisers name functions by their own names."""

        def named(operand):
            return Sym(self.aliases[operand.name]) if getattr(operand, "name", None) in self.aliases else operand

        for function in self.result.functions.values():
            for item in function.items:
                if isinstance(item, Instr):
                    item.operands = [*map(named, item.operands)]
        for variable in self.result.variables.values():
            variable.init = [(offset, size, named(value), shift) for offset, size, value, shift in variable.init]

    def function_definition(self, is_entry: bool) -> None:
        line = self.line()
        self.take()
        function = Function("", is_entry, line=line)
        self.function = function
        self.loc, self.callers = None, ()
        self.scopes = [{}]
        self.labels: set[str] = set()
        while self.accept(".noreturn") or self.accept(".attribute"):
            if self.accept("("):
                while self.take() != ")":
                    pass
        if self.tokens[self.at] == "(":
            function.returns = self.parameters()
        function.name = self.take()
        if self.tokens[self.at] == "(":
            function.params = self.parameters()
        while (token := self.tokens[self.at]) not in ("{", ";"):
            self.at += 1
            if token in (".reqntid", ".maxntid"):
                extent = self.integer_list()
                setattr(function, token[1:], tuple(extent + [1] * (3 - len(extent))))
            elif token == ".reqnctapercluster":
                extent = self.integer_list()
                function.cluster = tuple(extent + [1] * (3 - len(extent)))
            elif token in (".maxnreg", ".minnctapersm"):
                setattr(function, token[1:], self.integer())
            elif token == ".maxclusterrank":
                function.most_cluster = self.integer()
            elif token in _SKIPPED_LISTS:
                while self.tokens[self.at] not in ("{", ";") and self.tokens[self.at][:1] != ".":
                    self.at += 1
                if token == ".pragma":
                    self.accept(";")
            else:
                self.at -= 1
                raise self.error("expected a function body")
        if self.accept(";"):
            self.result.functions.setdefault(function.name, function)
            return
        if (known := self.result.functions.get(function.name)) is not None and known.items:
            raise self.twice(function.name)
        self.take("{")
        self.body()
        self.result.functions[function.name] = function

    def twice(self, name: str) -> PtxError:
        """The error for a name that has a definition already."""
        return PtxError(f"`{name}` is defined twice", self.line())

    def parameters(self) -> list[Variable]:
        self.take("(")
        parameters: list[Variable] = []
        while not self.accept(")"):
            parameters += self.variable_declaration(in_list=True)
            self.accept(",")
        return parameters

    # ** variables

    def variable_declaration(self, extern: bool = False, in_list: bool = False) -> list[Variable]:
        space = self.take()[1:]
        align, elements, kind = 0, 1, "b8"
        while (token := self.tokens[self.at])[:1] == ".":
            self.at += 1
            if token == ".align":
                align = self.integer()
            elif token[1:] in TYPE_BITS:
                kind = token[1:]
            elif token in (".v2", ".v4", ".v8"):
                elements = int(token[2:])
            elif token == ".ptr":
                while self.tokens[self.at][1:] in SPACES or self.tokens[self.at] == ".align":
                    if self.take() == ".align":
                        self.integer()
            elif token == ".attribute":
                while self.take() != ")":
                    pass
            elif token[1:] in ("texref", "samplerref", "surfref"):
                raise Unsupported(token, self.line(), why="textures, samplers and surfaces are not emulated")
            else:
                self.at -= 1
                raise self.error("expected a type")
        variables = []
        while True:
            variables.append(self.declarator(space, align, elements, kind, extern))
            if in_list or not self.accept(","):
                break
        if not in_list:
            self.take(";")
        return variables

    def declarator(self, space: str, align: int, elements: int, kind: str, extern: bool) -> Variable:
        line, name = self.line(), self.take()
        if space == "reg":
            self.declare_register(name, kind, elements)
            return Variable(name, space, 1, (TYPE_BITS[kind] + 7) // 8, kind)
        element_bytes = max(TYPE_BITS[kind] // 8, 1) * elements
        size, unsized = element_bytes, False
        while self.accept("["):
            if self.accept("]"):
                unsized = True
            else:
                size *= self.integer()
                if not 0 <= size <= MAX_VARIABLE_BYTES:
                    raise self.error(f"expected at most {MAX_VARIABLE_BYTES} bytes")
                self.take("]")
        init: list = []
        if self.accept("="):
            scalar_bytes = max(TYPE_BITS[kind] // 8, 1)
            used = self.initialiser(init, 0, scalar_bytes, kind)
            if unsized:
                size, unsized = used, False
        return Variable(name, space, align or element_bytes, 0 if unsized else size, kind, init, extern, line)

    def initialiser(self, rows: list, offset: int, size: int, kind: str) -> int:
        if self.accept("{"):
            while not self.accept("}"):
                offset = self.initialiser(rows, offset, size, kind)
                self.accept(",")
            return offset
        value = self.operand()
        shift = 0
        if isinstance(value, Imm) and self.accept("("):  # 0xFF00(symbol): one byte of an address
            mask, value = value.value, self.operand()
            shift = (mask & -mask).bit_length() - 1
            self.take(")")
        elif isinstance(value, Sym) and value.name == "generic" and self.accept("("):
            inner = self.operand()
            self.take(")")
            value = inner
            if self.accept("+") and isinstance(inner, Sym):
                value = Sym(inner.name, inner.offset + self.integer())
        if isinstance(value, FloatImm):
            value = Imm(literals.float_bits(value, TYPE_BITS[kind]))
        if not isinstance(value, (Imm, Sym)):
            raise self.error("expected a constant or an address before this")
        rows.append((offset, size, value, shift))
        return offset + size

    def declare_register(self, name: str, kind: str, elements: int) -> None:
        bits = TYPE_BITS[kind]
        names = [name]
        if self.accept("<"):
            count = self.integer()
            if not 0 <= count <= MAX_REGISTERS:
                raise self.error(f"expected at most {MAX_REGISTERS} registers")
            names = [f"{name}{i}" for i in range(count)]
            self.take(">")
        suffix = f"@{self.scopes[-1][':id']}" if len(self.scopes) > 1 else ""
        scope, registers = self.scopes[-1], self.function.regs
        for each in names:
            parts = [each] if elements == 1 else [f"{each}.{letter}" for letter in "xyzw"[:elements]]
            for part in parts:
                if part in scope:
                    raise self.twice(part)
                scope[part] = Reg(part + suffix, bits, kind)
                registers[part + suffix] = bits
            if elements > 1:
                scope[each] = Vec(tuple(scope[part] for part in parts))
                scope |= {f"{each}.{colour}": scope[part] for colour, part in zip("rgba", parts)}

    def lookup(self, name: str):
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        return None

    # ** bodies

    def body(self) -> None:
        items = self.function.items
        while True:
            token = self.tokens[self.at]
            if token == "}":
                self.at += 1
                self.close_scope()
                if not self.scopes:
                    return
            elif token == "{":
                self.at += 1
                self.scope_count += 1
                self.scopes.append({"": len(items), ":id": self.scope_count})
            elif token[:1] == "." and self.common_directive(token):
                pass
            elif token == ".reg":
                self.variable_declaration()
            elif token[:1] == "." and token[1:] in SPACES:
                self.local_variables()
            elif token == ";":
                self.at += 1
            elif token == "":
                raise self.error("expected `}`")
            elif self.tokens[self.at + 1] == ":":
                self.at += 2
                self.label(token)
            else:
                self.instruction()

    def close_scope(self) -> None:
        """Labels of an inner scope shadow outer ones: rewrite the branches inside it."""
        scope = self.scopes.pop()
        if not self.scopes:
            return
        renamed, tables = scope.get(":labels", {}), scope.get(":tables", [])
        for table in tables:
            targets = self.function.targets[table]
            self.function.targets[table] = [renamed.get(target, target) for target in targets]
        self.scopes[-1].setdefault(":tables", []).extend(tables)
        for item in self.function.items[scope[""] :]:
            if isinstance(item, Instr) and item.opcode in ("bra", "brx"):
                item.operands = [
                    Sym(renamed[o.name]) if isinstance(o, Sym) and o.name in renamed else o for o in item.operands
                ]

    def local_variables(self) -> None:
        for variable in self.variable_declaration():
            if len(self.scopes) > 1:
                unique = f"{variable.name}@{self.scopes[-1][':id']}"
                self.scopes[-1][variable.name] = Sym(unique)
                variable.name = unique
            if variable.name in self.function.variables:
                raise self.twice(variable.name)
            self.function.variables[variable.name] = variable

    def label(self, name: str) -> None:
        token = self.tokens[self.at]
        if token == ".branchtargets":
            self.at += 1
            targets = [self.take()]
            while self.accept(","):
                targets.append(self.take())
            self.take(";")
            name = self.scoped_label(name)
            self.function.targets[name] = targets
            self.scopes[-1].setdefault(":tables", []).append(name)
        elif token in (".callprototype", ".calltargets"):
            self.skip_to_semicolon()
        else:
            unique = self.scoped_label(name)
            if unique in self.labels:
                raise self.twice(name)
            self.labels.add(unique)
            self.function.items.append(Label(unique))

    def scoped_label(self, name: str) -> str:
        """A label's name, made unique inside an inner scope."""
        if len(self.scopes) == 1:
            return name
        unique = f"{name}@{self.scopes[-1][':id']}"
        self.scopes[-1].setdefault(":labels", {})[name] = unique
        return unique

    def instruction(self) -> None:
        start = self.at
        guard = None
        self.selectors, self.place_of_operand = {}, 0
        if self.accept("@"):
            negated = self.accept("!")
            guard = self.operand()
            guard = Not(guard) if negated else guard
        first = self.take()
        while self.tokens[self.at][:1] == "." and self.tokens[self.at][1:2].isalpha():  # a modifier after a space
            first += self.take()
        operands = []
        while not self.accept(";"):
            if self.accept(","):
                continue
            self.place_of_operand = len(operands)
            operands.append(self.operand())
        text = one_line(self.text[self.starts[start] : self.starts[self.at - 1] + 1])
        opcode, *mods = first.split(".")
        if not opcode.isidentifier():
            self.at = start
            raise self.error("expected an instruction")
        line = self.line(start)
        instr = Instr(opcode, tuple(mods), operands, guard, line, self.loc, text, self.callers)
        if self.selectors:
            instr.selectors = tuple(self.selectors.get(place, "") for place in range(max(4, len(operands))))
        self.function.items.append(instr)

    # ** operands

    def operand(self):
        value = self.simple_operand()
        if self.tokens[self.at] == "|":
            self.at += 1
            return Pair(value, self.simple_operand())
        return value

    def simple_operand(self):
        token = self.take()
        first = token[0]
        if first == "[":
            return self.address()
        if first in "{(":
            close = "}" if first == "{" else ")"
            items = []
            while not self.accept(close):
                items.append(self.operand())
                self.accept(",")
            return Vec(tuple(items))
        if first == "!":
            return Not(self.simple_operand())
        if first in "-+~":
            return self.signed(first)
        if literals.begins(token):
            return self.constant(token)
        return self.named(token)

    def constant(self, token: str):
        """The number that was just taken."""
        try:
            return literals.number(token)
        except literals.BadLiteral as wrong:
            self.at -= 1
            raise self.not_a_literal(wrong) from None

    def signed(self, sign: str):
        """The constant after a sign. Raises PtxError for an operand that is not a constant."""
        before = self.at
        inner = self.simple_operand()
        if sign == "+":
            return inner
        if isinstance(inner, Imm):
            return Imm(~inner.value if sign == "~" else -inner.value)
        if isinstance(inner, FloatImm) and sign == "-":
            return literals.negated(inner)
        if isinstance(inner, Reg) and sign == "-":
            self.selectors[self.place_of_operand] = f"-{self.selectors.get(self.place_of_operand, '')}"
            return inner
        self.at = before
        raise self.error(f"expected {'an integer' if sign == '~' else 'a number'} after `{sign}`")

    def named(self, token: str):
        if token == "_":
            return SINK
        if token == "WARP_SZ":
            return Imm(32)
        entry = self.lookup(token) if self.scopes else None
        if entry is None:
            register, _, part = token.rpartition(".")
            if self.scopes and isinstance(entry := self.lookup(register), Reg):
                self.selectors[self.place_of_operand] = part
                return entry
            if token[0] == "%":
                return Special(token)
            if not (token[0].isalpha() or token[0] in "_$."):
                self.at -= 1
                raise self.error("expected an operand")
            entry = Sym(token)
        if isinstance(entry, Sym) and self.tokens[self.at] in ("+", "-"):
            sign = -1 if self.take() == "-" else 1
            return Sym(entry.name, entry.offset + sign * self.integer())
        return entry

    def address(self):
        base = self.operand()
        offset = 0
        while self.tokens[self.at] in ("+", "-"):
            sign = -1 if self.take() == "-" else 1
            offset += sign * self.integer()
        if self.accept(","):
            coords = self.operand()
            while not self.accept("]"):  # offsets of im2col: only refused instructions have them
                self.accept(",")
                self.operand()
            return Addr(base, offset, coords)
        self.take("]")
        return Addr(base, offset)
