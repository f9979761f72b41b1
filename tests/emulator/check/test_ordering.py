"""The table of what orders what has a row for each instruction, which reads each of its modifiers that mean order.

`NO_ORDER` lists the other modifiers, with the reason.
"""

import functools
import itertools
import re
from collections.abc import Iterator

import pytest

from dsl.emulator.check import ordering
from dsl.emulator.check.numbers import orders, scope
from dsl.emulator.families import table as isa
from dsl.emulator.ir.rows import LOGIC, Row, nothing
from dsl.emulator.ptx import parse, traits
from dsl.emulator.ptx.syntax import TYPE_BITS

ORDER_TRAITS = (
    traits.BARRIER | traits.EXCHANGE | traits.CLUSTER | traits.FENCE | traits.MBARRIER | traits.COPY | traits.BULK
    | traits.REMOTE | traits.PRODUCT
)  # fmt: skip
ORDER_WORDS = ordering.SCOPES.keys() | ordering.STRONG | ordering.ACQUIRES | ordering.RELEASES | {"sc", "nc", "proxy"}
ORDER_WORDS |= {"wait", "launch_dependents"}
NO_ORDER = {
    "a type": {*TYPE_BITS, "tf32", "b1", "b1024"},
    "how many elements": {"v2", "v4", "v8"},
    "which memory": {"ld_reduce", "st"},
    "the precision of a sum over devices, of which there is one": {"acc::f16", "acc::f32"},
    "a cache": set("ca cg cs lu cv wb wt L2".split()),
    "what is computed": {*"add min max inc dec exch cas popc noftz satfinite abs NaN".split(), *LOGIC.split("/")},
    "what lanes get": set("up down bfly idx all any uni ballot".split()),
    "all threads of a warp execute it together: check/divergence.py": {"sync", "aligned"},
    "an access without an order, as one that names none": {"weak"},
    "a reduction is a copy to the order": {"reduce"},
    "a box of a tensor is bytes to the order": {
        *(
            "tensor",
            "tile",
            "im2col",
            "im2col::w",
            "im2col::w::128",
            "im2col_no_offs",
            "tile::gather4",
            "tile::scatter4",
        )
    },
    "how many arrivals, how many bytes, which phase": {"noComplete", "expect_tx", "parity"},
    "which field of a tensor map": set(
        "global_address global_stride rank box_dim global_dim element_stride elemtype interleave_layout swizzle_mode "
        "swizzle_atomicity fill_mode".split()
    ),
    "a sparse A, an A that is shifted, which operand stays, a value of several registers": {
        "sp",
        "ashift",
        "ws",
        "red",
    },
    "the mbarrier may be of the other block of the pair": {"cta_group::1", "cta_group::2"},
}
# The state space of an address means nothing to the order of an access; to a fence it does.
STATE_SPACES = set("global shared shared::cta shared::cluster local const param param::entry param::func".split())
PATTERNS = re.compile(
    r"L[12]::\w+|[1-5]d|m64n\d+k\d+"
    r"|kind::\w+|block_scale|scale_vec::\w+|block(16|32)|collector::.*"  # of products of a tensor core
    r"|\d+x\d+b(x2)?|x\d+|(un)?pack::16b|warpx\d.*|b[468]x16\w*"  # of tensor memory: shapes and elements
)
HAS_NO_ORDER = frozenset().union(*NO_ORDER.values())


def means_order(word: str, row: Row) -> bool:
    if word in HAS_NO_ORDER or PATTERNS.fullmatch(word):
        return False
    return bool(word not in STATE_SPACES or row.traits & traits.FENCE)


def is_about_order(row: Row) -> bool:
    if not {"setmaxnreg", "tcgen05"}.isdisjoint(row.opcodes):
        return True
    return bool(row.traits & ORDER_TRAITS or row.modifiers & ORDER_WORDS)


@functools.cache
def instructions(row: Row) -> list[tuple[str, ...]]:
    """The modifiers of instructions of a row of the instruction table: all that mean order, and one of the others."""
    found = {}
    for form in row.forms:
        choices = []
        for group in form.groups:
            others = [each for each in group.modifiers if not means_order(each, row)]
            spaces = [each for each in others if each in STATE_SPACES]  # some rows name two together
            choice = [each for each in group.modifiers if means_order(each, row)] + (spaces or others[:1])
            choices.append([*choice, None] if group.is_optional else choice)
        for words in itertools.product(*choices):
            found[tuple(word for word in words if word is not None)] = True
    return [*found]


def words_read(row: ordering.Ordering, opcode: str, mods: tuple[str, ...]) -> set[str]:
    """The modifiers of an instruction that a row gives a meaning."""
    named = (each.split(".") for each in row.names.split())
    read = {word for first, *words in named if first == opcode and {*words} <= {*mods} for word in words}
    return read | {*row.reads.split()} | (set() if row.unsaid is None else ordering.SCOPES.keys())


def problems(rows: list[Row]) -> Iterator[str]:
    for row in rows:
        counts = (False, True) if row.traits & traits.BARRIER else (False,)
        for opcode, mods, counted in itertools.product(row.opcodes, instructions(row), counts):
            name, matching = ".".join((opcode, *mods)), ordering.matching(opcode, mods, counted)
            if len(matching) != 1:
                yield f"{name}: {len(matching)} rows"
                continue
            read = words_read(matching[0], opcode, mods)
            for word in mods:
                if means_order(word, row) and word not in read:
                    yield f"{name}: no row reads `.{word}`"


ROWS = list({id(row): row for rows in isa.ROWS.values() for row in rows}.values())
ABOUT_ORDER = list(filter(is_about_order, ROWS))


def rows_with(opcodes: set[str]) -> list[Row]:
    return [row for row in ABOUT_ORDER if not opcodes.isdisjoint(row.opcodes)]


@pytest.mark.parametrize("row", ABOUT_ORDER, ids=lambda row: f"{' '.join(row.opcodes)}-{row.section}")
def test_each_instruction_has_one_row_that_reads_its_modifiers(row):
    assert [*problems([row])] == []


def test_each_row_is_of_an_instruction_and_has_a_source():
    used = {
        id(row)
        for each in ABOUT_ORDER
        for opcode in each.opcodes
        for mods in instructions(each)
        for counted in (False, True)
        for row in ordering.matching(opcode, mods, counted)
    }
    assert [row.names for row in ordering.table() if id(row) not in used] == []
    sections = re.compile(r"(8|9\.7)(\.\d+)+ \w")
    assert [row.names for row in ordering.table() if not sections.match(row.source)] == []
    assert [row.names for row in ordering.table() if not re.match(r"((kinder|stricter): |$)", row.differs)] == []


def test_sources_are_of_the_sections_of_the_instruction_table():
    wrong = set()
    for each in ABOUT_ORDER:
        for opcode, mods in itertools.product(each.opcodes, instructions(each)):
            for row in ordering.matching(opcode, mods):
                sections = re.findall(r"\b9\.7[\d.]*\d", row.source)
                if sections and not any(section.startswith(each.section) for section in sections):
                    wrong.add((row.names, each.section))
    assert wrong == set()


def test_each_modifier_without_a_meaning_is_of_an_instruction():
    words = {word for row in ABOUT_ORDER for word in row.modifiers}
    assert sorted((HAS_NO_ORDER - {*TYPE_BITS} | STATE_SPACES) - words) == []


@pytest.fixture
def table(monkeypatch):
    """Puts other rows into the table."""

    def put(rows):
        monkeypatch.setattr(ordering, "table", lambda: rows)
        for each in (ordering._by_opcode, ordering.matching):
            each.cache_clear()

    yield put
    monkeypatch.undo()
    for each in (ordering._by_opcode, ordering.matching):
        each.cache_clear()


@pytest.mark.parametrize("gone", ordering.table(), ids=lambda row: row.names.split()[0])
def test_a_row_that_is_gone_is_missed(gone, table):
    table([row for row in ordering.table() if row is not gone])
    assert [*problems(rows_with({name.split(".")[0] for name in gone.names.split()}))] != []


def test_a_modifier_that_no_row_reads_is_found():
    row = Row(("fence",), "9.7.13.4", "acq_rel ?sideways cta", nothing, traits=traits.FENCE)
    assert [*problems([row])] == ["fence.acq_rel.sideways.cta: no row reads `.sideways`"]
    row = Row(("frob",), "9.7.13.99", "acquire gpu", nothing)
    assert [*problems([row])] == ["frob.acquire.gpu: 0 rows"]


@pytest.mark.parametrize("text, names, reach", [
    ("bar.sync 0", "bar.sync barrier.sync", None),
    ("fence.acq_rel.cta", "fence fence.acq_rel fence.acquire fence.release", scope.CTA),
    ("membar.gl", "fence.sc membar", scope.ALL),
    ("atom.global.add.u32 %r, [%d], 1", "ld.volatile ld.relaxed ld.mmio.relaxed atom atom.relaxed", scope.ALL),
    ("mbarrier.arrive.shared.b64 _, [%d]", "mbarrier.arrive mbarrier.arrive_drop", scope.UNSAID),
    ("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%d]", "mbarrier.arrive mbarrier.arrive_drop", scope.CLUSTER),
])  # fmt: skip
def test_the_row_and_the_scope_of_an_instruction(text, names, reach):
    head = ".version 8.0\n.target sm_90a\n.address_size 64\n"
    body = f".visible .entry k() {{ .reg .b32 %r; .reg .b64 %d;\n{text};\nret; }}"
    module = isa.prepare(parse.parse(head + body))
    instr = module.functions["k"].items[0]
    row = ordering.of(instr)
    assert row.names == names
    assert reach is None or ordering.scope_of(instr) == reach


@pytest.mark.parametrize("name, kinds", [
    ("fence.acq_rel.cta", orders.THREADS | orders.MEMORY),
    ("fence.acq_rel.gpu", orders.THREADS | orders.MEMORY | orders.BLOCKS),
    ("atom.acquire.shared.add.u32", orders.THREADS | orders.MEMORY),
    ("atom.acquire.global.add.u32", orders.THREADS | orders.MEMORY | orders.BLOCKS),
    ("cp.async.bulk.global.shared::cta.bulk_group", orders.THREADS | orders.BULK),
    ("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes",
     orders.THREADS | orders.BULK | orders.BLOCKS),
    ("fence.proxy.async", 0),
])  # fmt: skip
def test_the_ways_to_order_threads(name, kinds):
    opcode, *mods = name.split(".")
    (row,) = ordering.matching(opcode, tuple(mods))
    assert row.kinds_in(tuple(mods)) == kinds


def test_add_is_in_no_row():
    assert ordering.matching("add", ("u32",)) == ()
