"""Reads of memory that nobody wrote: found where the value matters, and nowhere else.

Modules tested here: dsl/emulator/check/shadow.py, dsl/emulator/execute/attached_checks.py,
dsl/emulator/families/arithmetic/check.py, dsl/emulator/families/warp/check.py, dsl/emulator/translate/checked.py.
"""

import numpy as np
import pytest

from dsl import emulator

HEAD = """.version 8.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 x)
{
  .reg .b16 %h<4>; .reg .b32 %r<20>, %t, %s, %mine; .reg .b64 %g, %gt, %d<6>; .reg .pred %p, %q, %never, %first;
  .shared .align 16 .b8 smem[1024]; .local .align 16 .b8 depot[64];
  ld.param.u64 %g, [x]; mov.u32 %t, %tid.x; mov.u32 %s, smem; mad.lo.u32 %mine, %t, 4, %s;
  mul.wide.u32 %d0, %t, 4; add.u64 %gt, %g, %d0; setp.gt.u32 %never, %t, 4000; setp.eq.u32 %first, %t, 0;
"""
OUT = " st.global.u32 [%gt], %r1;"
# name: (kernel with {fix}, what {fix} is in the right one)
PAIRS = {
    "a word of shared memory": ("{fix} ld.shared.u32 %r1, [%mine];" + OUT, "st.shared.u32 [%mine], %t;"),
    "a word of local memory": ("{fix} ld.local.u32 %r1, [depot+4];" + OUT, "st.local.u32 [depot+4], %t;"),
    "another thread's local memory": (
        "@%first st.local.u32 [depot], %t; {fix} ld.local.u32 %r1, [depot];" + OUT, "st.local.u32 [depot], %t;"),
    "one byte of a word": ("mov.u32 %r2, 0; cvt.u16.u32 %h0, %t; st.shared.u16 [%mine], %h0; st.shared.u8 [%mine+2], "
                           "%h0;{fix} ld.shared.u32 %r1, [%mine];" + OUT, "st.shared.u8 [%mine+3], %h0;"),
    "through arithmetic": ("{fix} ld.shared.u32 %r2, [%mine]; add.u32 %r3, %r2, 1; mul.lo.u32 %r4, %r3, 3; mov.u32 "
                           "%r1, %r4;"
                           + OUT, "st.shared.u32 [%mine], %t;"),
    "through shared memory": ("{fix} ld.shared.u32 %r2, [%mine]; st.shared.u32 [%mine+512], %r2; ld.shared.u32 %r1, "
                              "[%mine+512];" + OUT, "st.shared.u32 [%mine], %t;"),
    "a branch": ("{fix} ld.shared.u32 %r2, [%mine]; setp.eq.u32 %p, %r2, 9; @%p bra E;", "st.shared.u32 [%mine], %t;"),
    "a guard": ("{fix} ld.shared.u32 %r2, [%mine]; setp.eq.u32 %p, %r2, 9; @%p st.global.u32 [%gt], 1;",
                "st.shared.u32 [%mine], %t;"),
    "an address": ("{fix} ld.shared.u32 %r2, [%mine]; and.b32 %r2, %r2, 3; mad.lo.u32 %r2, %r2, 4, %s; "
                   "st.shared.u32 [%r2], %t;", "st.shared.u32 [%mine], 0; bar.sync 0;"),
    "a choice by it": ("{fix} ld.shared.u32 %r2, [%mine]; setp.eq.u32 %p, %r2, 9; selp.u32 %r1, 1, 2, %p;" + OUT,
                       "st.shared.u32 [%mine], %t;"),
    "a choice of it": ("ld.shared.u32 %r2, [%mine]; selp.u32 %r1, %r2, 2, {fix};" + OUT, "%first|%never"),
    "a lane of a shuffle": ("{fix} ld.shared.u32 %r2, [%mine]; shfl.sync.idx.b32 %r1, %r2, 0, 31, -1;" + OUT,
                            "st.shared.u32 [%mine], %t;"),
    "an atomic's operand": ("{fix} ld.shared.u32 %r2, [%mine]; red.global.add.u32 [%g], %r2;",
                            "st.shared.u32 [%mine], %t;"),
    "an atomic on it": ("{fix} atom.shared.add.u32 %r1, [%s], 1;" + OUT, "@%first st.shared.u32 [%s], 0; bar.sync 0;"),
    "a sum into it": ("{fix} red.shared.add.u32 [%s], 1;", "@%first st.shared.u32 [%s], 0; bar.sync 0;"),
    "an element of a vector": ("st.shared.v2.u32 [%s], {{%t, %t}}; ld.shared.v4.u32 {{%r1, %r2, %r3, %r4}}, [%s]; "
                               "add.u32 %r1, %r1, {fix};" + OUT, "%r3|%r2"),
    "one side of an and": ("ld.shared.u32 %r2, [%mine]; and.b32 %r1, %r2, {fix};" + OUT, "255|0"),
    "one side of an or of predicates": ("ld.shared.u32 %r2, [%mine]; setp.eq.u32 %p, %r2, 1; or.pred %q, %p, {fix}; "
                                        "@%q bra E;", "%never|%first"),
    "past what a copy wrote": ("cp.async.ca.shared.global [%mine], [%gt], 4; cp.async.wait_all; bar.sync 0; "
                               "ld.shared.u32 %r1, [%mine+{fix}];" + OUT, "128|0"),
}  # fmt: skip


def outcome(body: str, threads: int = 1):
    x = np.zeros(512, np.uint32)
    memory = emulator.Memory()
    memory.register(x.ctypes.data, x.nbytes, "x")
    program = emulator.load(HEAD + body + "\nE: ret;\n}\n")
    try:
        emulator.launch(
            program,
            "k",
            (1, 1, 1),
            (threads, 1, 1),
            [x.ctypes.data.to_bytes(8, "little")],
            memory,
            checks=("undefined",),
        )
    except emulator.Fault as fault:
        return fault
    return None


@pytest.mark.parametrize("name", PAIRS)
def test_the_read_of_what_nobody_wrote_is_found(name):
    body, fix = PAIRS[name]
    wrong, right = fix.split("|") if "|" in fix else ("", fix)
    threads = 32 if name.startswith(("a lane", "past", "another")) else 1
    found = outcome(body.format(fix=wrong), threads)
    assert found is not None and found.kind == "undefined_read", name
    none = outcome(body.format(fix=right), threads)
    assert none is None, str(none)


@pytest.mark.parametrize("body", [
    "ld.shared.u32 %r1, [%mine];",
    "ld.shared.v4.u32 {%r1, %r2, %r3, %r4}, [%s];",
    "ld.shared.u32 %r1, [%mine]; add.u32 %r2, %r1, %t; st.shared.u32 [%mine+4], %r2;",
    "ld.shared.u32 %r1, [%mine]; mov.u32 %r1, 5;" + OUT,
    "ld.shared.u32 %r1, [%mine]; @%first mov.u32 %r1, 5;" + OUT,
    "ld.shared.u32 %r1, [%mine]; st.shared.u32 [%mine+64], %r1; st.shared.u32 [%mine+64], 1; ld.shared.u32 %r1, "
    "[%mine+64];" + OUT,
    "ld.global.u32 %r1, [%gt];" + OUT,
    "red.shared.and.b32 [%mine], -2; red.shared.or.b32 [%mine], 1;",
])  # fmt: skip
def test_a_read_that_does_not_matter_is_none(body):
    assert outcome(body) is None


# A lane adds what lane 16 further has only if it has one; the others multiply what they get by 0.
PRODUCTS = {
    "mul.lo": "mul.lo.u32 %r1, %r1, %r2;",
    "mul.wide": "mul.wide.u16 %r1, %h0, %h1;",
    "mad.lo": "mad.lo.u32 %r1, %r2, %r1, %t;",
    "mul24.lo": "mul24.lo.u32 %r1, %r1, %r2;",
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_a_product_with_zero_does_not_depend_on_the_other_factor(name):
    body = "setp.lt.u32 %p, %t, LIMIT; selp.u32 %r2, 1, 0, %p; setp.lt.u32 %p, %t, 20; @!%p bra E; "
    body += "shfl.sync.down.b32 %r1, %t, 16, 31, 0xfffff; cvt.u16.u32 %h0, %r1; cvt.u16.u32 %h1, %r2; "
    body += PRODUCTS[name] + OUT
    assert outcome(body.replace("LIMIT", "4"), 32) is None
    assert outcome(body.replace("LIMIT", "5"), 32).kind == "undefined_read"


def test_a_product_of_floats_with_zero_may_be_nan():
    body = "setp.lt.u32 %p, %t, 20; @!%p bra E; shfl.sync.down.b32 %r1, %t, 16, 31, 0xfffff; "
    assert outcome(body + "mul.f32 %r1, %r1, 0f00000000;" + OUT, 32).kind == "undefined_read"


def test_the_report_shows_the_read_and_its_use_with_their_lines(tmp_path):
    source = tmp_path / "k.py"
    source.write_text("\n" * 6 + "    v = s[t]\n\n    out[t] = v\n")
    body = f'\n.loc 1 7 9\nld.shared.u32 %r1, [%mine+16];\n.loc 1 9 5\n{OUT}\nret;\n}}\n.file 1 "{source}"\n'
    x = np.zeros(4, np.uint32)
    memory = emulator.Memory()
    memory.register(x.ctypes.data, x.nbytes, "out")
    program = emulator.load(HEAD + body)
    with pytest.raises(emulator.Fault) as caught:
        emulator.launch(
            program, "k", (1, 1, 1), (2, 1, 1), [x.ctypes.data.to_bytes(8, "little")], memory, checks=("undefined",)
        )
    fault = caught.value
    assert (fault.kind, fault.place.line, fault.thread) == ("undefined_read", 7, (0, 0, 0))
    assert (
        str(fault).replace(f"{source}", "k.py")
        == """\
k.py:7:9: UNDEFINED_READ
    v = s[t]
        ^ reads smem+0x10, which nobody wrote; the value is stored for others to read at line 9
    in `k`, thread (0, 0, 0) = warp 0, lane 0 of block (0, 0, 0)
    read at PTX line 12: ld.shared.u32 %r1, [%mine+16];
    used at PTX line 14: st.global.u32 [%gt], %r1;
fix: write it first: every thread that shares it must have written its part before"""
    )


def test_an_undefined_address_ends_the_launch_before_it_is_used():
    fault = outcome("ld.shared.u32 %r1, [%mine]; cvt.u64.u32 %d1, %r1; add.u64 %d1, %g, %d1; st.global.u32 [%d1], 1;")
    assert fault.kind == "undefined_read" and "is an address" in str(fault)


# ** shuffles that ask for a lane which takes no part. PTX ISA 9.7.9.6: then the value is undefined.

SHUFFLES = """.visible .entry k(.param .u64 out)
{{
  .reg .b32 %t, %v, %g; .reg .b64 %d, %o; .reg .pred %p, %q;
  mov.u32 %t, %tid.x; ld.param.u64 %o, [out]; mul.wide.u32 %d, %t, 4; add.u64 %d, %o, %d; mov.u32 %v, %t;
  setp.ge.u32 %p, %t, {lanes}; @%p ret; setp.eq.u32 %q, %t, 0;
  {body}
}}
"""
ALL, FIRST = "st.global.u32 [%d], %v; ret;", "@%q st.global.u32 [%d], %v; ret;"


def _sum(offsets, mask: str, how: str = "add.u32 %v, %v, %g;") -> str:
    return " ".join(f"shfl.sync.down.b32 %g, %v, {each}, 31, {mask}; {how}" for each in offsets)


# name: (the lanes that run, the wrong kernel, the right one)
SHUFFLE_PAIRS = {
    "a lane outside of the mask": (8, "shfl.sync.idx.b32 %v, %v, 9, 31, 0xff; " + ALL,
                                   "shfl.sync.idx.b32 %v, %v, 7, 31, 0xff; " + ALL),
    "a lane that has left": (20, "shfl.sync.idx.b32 %v, %v, 25, 31, -1; " + ALL, "shfl.sync.idx.b32 %v, %v, 5, 31, -1; " + ALL),
    "a sum of more lanes than there are": (8, _sum((16, 8, 4, 2, 1), "0xff") + FIRST, _sum((4, 2, 1), "0xff") + FIRST),
    "a sum over lanes that have left": (20, _sum((16, 8, 4, 2, 1), "-1") + FIRST, _sum((2, 1), "-1") + FIRST),
    "what reaches other lanes only": (8, _sum((4, 2, 1), "0xff") + ALL, _sum((4, 2, 1), "0xff") + FIRST),
    "a value that is not chosen": (
        8, "shfl.sync.down.b32 %g, %v, 1, 31, 0xff; add.u32 %v, %v, %g; " + ALL,
        "shfl.sync.down.b32 %g, %v, 1, 31, 0xff; setp.lt.u32 %q, %t, 7; selp.b32 %g, %g, 0, %q; add.u32 %v, %v, %g; " + ALL),
    "a width that holds": (
        8, "shfl.sync.down.b32 %g, %v, 1, 31, 0xff; add.u32 %v, %v, %g; " + ALL,
        "shfl.sync.down.b32 %g, %v, 1, 0x1807, 0xff; add.u32 %v, %v, %g; " + ALL),
}  # fmt: skip


@pytest.mark.parametrize("name", SHUFFLE_PAIRS)
def test_a_lane_that_takes_no_part_gives_an_undefined_value(machine, name):
    lanes, wrong, right = SHUFFLE_PAIRS[name]
    with pytest.raises(emulator.Fault, match="which takes no part in the shuffle") as caught:
        machine.run(
            SHUFFLES.format(lanes=lanes, body=wrong), block=32, checks=("undefined",), out=np.zeros(32, np.uint32)
        )
    assert caught.value.kind == "undefined_read"
    machine.run(SHUFFLES.format(lanes=lanes, body=right), block=32, checks=("undefined",), out=np.zeros(32, np.uint32))


# A word of global memory, of which the first `written` bytes are written: where it goes, whether that is a finding, and
# which bytes of the next word are written then.
FOLLOWED = {
    "it is stored": ("st.global.u32 [%g+4], %r1;", False, "copied"),
    "it is stored by way of shared memory": (
        "st.shared.u32 [%s], %r1; ld.shared.u32 %r2, [%s]; st.global.u32 [%g+4], %r2;", False, "copied"),
    "a part of it is stored": (
        "mov.b32 {%h0, %h1}, %r1; st.global.u16 [%g+4], %h0; st.global.u16 [%g+6], %h1;", False, "copied"),
    "what is computed of it is stored": ("add.u32 %r2, %r1, 1; st.global.u32 [%g+4], %r2;", True, "all"),
    "that by way of shared memory": (
        "add.u32 %r2, %r1, 1; st.shared.u32 [%s], %r2; ld.shared.u32 %r2, [%s]; st.global.u32 [%g+4], %r2;", True, "all"),
    "it decides": ("setp.ne.u32 %p, %r1, 0; @%p bra E; st.global.u32 [%g+4], 1;", True, "all"),
    "it is an address": ("and.b32 %r1, %r1, 3; add.u32 %r1, %r1, %s; st.shared.u8 [%r1], 1;", True, "none"),
    "it is not used": ("st.global.u32 [%g+4], 1;", False, "all"),
    "another is exchanged for it": ("atom.global.exch.b32 %r2, [%g], 1;", False, "none"),
    "it is shuffled and stored": (
        "shfl.sync.idx.b32 %r2, %r1, 0, 31, 1; st.global.u32 [%g+4], %r2;", False, "copied"),
    "it is shuffled and decides": (
        "shfl.sync.idx.b32 %r2, %r1, 0, 31, 1; setp.ne.u32 %p, %r2, 0; @%p bra E; st.global.u32 [%g+4], 1;", True, "all"),
    "a sum is added to it": ("red.global.add.u32 [%g], 1;", True, "none"),
}  # fmt: skip


def with_followed(text, known, threads=1):
    """A function that runs PTX on bytes of global memory, each of which was written or not."""
    x = np.zeros(known.size, np.uint8)
    memory = emulator.Memory()
    memory.follow(x.ctypes.data, known.ctypes.data)
    memory.register(x.ctypes.data, x.nbytes, "x")
    program = emulator.load(f"{HEAD} {text}\nE: ret;\n}}")

    def launch() -> None:
        params = [x.ctypes.data.to_bytes(8, "little")]
        emulator.launch(program, "k", (1, 1, 1), (threads, 1, 1), params, memory, checks=("undefined",))

    return launch


@pytest.mark.parametrize("written", [0, 2, 4])
@pytest.mark.parametrize("name", FOLLOWED)
def test_global_memory_that_is_followed(name, written):
    body, is_found, after = FOLLOWED[name]
    known = np.zeros(8, np.uint8)
    known[:written] = 1
    launch = with_followed(f"ld.global.u32 %r1, [%g]; {body}", known)
    if is_found and written < 4:
        with pytest.raises(emulator.Fault, match="(?s)UNDEFINED_READ.*which nobody wrote.*fix: write it first"):
            launch()
        return
    launch()
    states = {"copied": [k < written for k in range(4)], "all": [True] * 4, "none": [False] * 4}
    assert (known[4:] == 1).tolist() == states[after]


@pytest.mark.parametrize("load", [
    "ld.global.u64 %d1, [%g]; cvt.u32.u64 %r2, %d1;",
    "ld.global.v2.u32 {%r2, %r1}, [%g];",
])  # fmt: skip
@pytest.mark.parametrize("first", [0, 4])
def test_the_padding_of_a_struct_is_none_and_an_element_of_a_vector_is_one(load, first):
    known = np.zeros(8, np.uint8)
    known[first : first + 4] = 1
    launch = with_followed(f"{load} setp.eq.u32 %p, %r2, 9; @%p bra E;", known)
    if ".v2" in load and first:
        with pytest.raises(emulator.Fault, match="UNDEFINED_READ"):
            launch()
    else:
        launch()


@pytest.mark.parametrize("written", [0, 2, 4])
def test_a_word_packed_with_padding_is_shuffled(written):
    """Structures are sent so. A value computed of unwritten memory is a finding where the other lane stores it."""
    known = np.zeros(8, np.uint8)
    known[:written] = 1
    packed = "ld.global.u32 %r1, [%g]; prmt.b32 %r1, %r1, 0, 0x1032;"
    launch = with_followed(f"{packed} shfl.sync.idx.b32 %r2, %r1, 0, 31, 1; st.global.u32 [%g+4], %r2;", known)
    if written:
        launch()
    else:
        with pytest.raises(emulator.Fault, match="(?s)UNDEFINED_READ.*the value is stored for others to read here"):
            launch()


@pytest.mark.parametrize("rows", [1, 2])
def test_a_sum_of_rows_that_nobody_wrote_is_a_finding_where_it_is_stored(rows):
    """Lanes 0 to 15 sum row 0, the others row 1: tiles reach past the last row, and its sums are dropped."""
    known = np.zeros(128, np.uint8)
    known[:64] = 1
    add = "shfl.sync.bfly.b32 %r2, %r1, {0}, 4127, -1; add.u32 %r1, %r1, %r2;"
    text = "mov.u32 %r5, %tid.x; mul.wide.u32 %d1, %r5, 4; add.u64 %d1, %g, %d1; ld.global.u32 %r1, [%d1];"
    text += " add.u32 %r1, %r1, 1; " + " ".join(add.format(each) for each in (8, 4, 2, 1))
    launch = with_followed(f"{text} setp.ge.u32 %p, %r5, {16 * rows}; @%p bra E; st.global.u32 [%d1], %r1;", known, 32)
    if rows == 1:
        launch()
    else:
        with pytest.raises(emulator.Fault, match="(?s)UNDEFINED_READ.*the value is stored for others to read here"):
            launch()


@pytest.mark.parametrize("is_stored", [False, True])
@pytest.mark.parametrize("meeting", [
    "redux.sync.max.u32 %r1, %r1, -1;",
    "setp.gt.u32 %p, %r1, 7; vote.sync.any.pred %q, %p, -1; selp.u32 %r1, 1, 0, %q;",
    "match.any.sync.b32 %r1, %r1, -1;",
])  # fmt: skip
def test_a_result_for_all_lanes_is_a_finding_where_it_is_stored(meeting, is_stored):
    known = np.zeros(128, np.uint8)
    known[:64] = 1
    text = "mov.u32 %r5, %tid.x; mul.wide.u32 %d1, %r5, 4; add.u64 %d1, %g, %d1; ld.global.u32 %r1, [%d1];"
    launch = with_followed(f"{text} {meeting}" + " st.global.u32 [%d1], %r1;" * is_stored, known, 32)
    if is_stored:
        with pytest.raises(emulator.Fault, match="(?s)UNDEFINED_READ.*the value is stored for others to read here"):
            launch()
    else:
        launch()
