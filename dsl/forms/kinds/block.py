"""Forms of barriers, mbarriers and groups of cp.async: the threads of a block exchange words. PTX ISA 9.7.13, 9.7.9.25.

A thread writes its word to shared memory, waits as the form defines, and reads the word of the thread 33 further on.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dsl.forms.form import BLOCK, Form, element
from dsl.forms.kinds.memory import wide
from dsl.forms.kinds.warp import LANES
from dsl.forms.operands import COUNT, operands

BOX = f".shared .align 16 .b32 box[{BLOCK}];"
BAR = ".shared .align 8 .b64 bar;"
PUT = "mov.u32 %u, box;\nmad.lo.u32 %t, %w, 4, %u;\nst.shared.b32 [%t], %a0;"
TAKE = (
    "mov.u32 %u, box;\nadd.u32 %t, %w, 33;\nand.b32 %t, %t, 127;\nmad.lo.u32 %t, %t, 4, %u;\nld.shared.b32 %d0, [%t];"
)
BEGIN = "mov.u32 %u, bar;\nsetp.eq.u32 %q, %w, 0;\n@%q mbarrier.init.shared.b64 [%u], {count};\nbar.sync 0;\n"


def exchange(name: str, text: str, declarations: str = "", least: str = "") -> Form:
    """A form in which `text` is between the write of a word and the read of another thread's word."""
    lines = f"{PUT}\n{text}\n{TAKE}"
    return Form(name, lines, operands("b32", 1), ("u4",), BLOCK, declarations=f"{BOX}\n{declarations}", least=least)


def barriers() -> Iterator[Form]:
    """9.7.13.1, 9.7.13.2."""
    for text in (
        "bar.sync 0", "bar.sync 1, 128", "bar.cta.sync 2, 128", "barrier.sync 3", "barrier.sync.aligned 4, 128",
        "barrier.cta.sync 5", "barrier.cta.sync.aligned 6",
    ):  # fmt: skip
        yield exchange(text.partition(" ")[0] + ".threads" * ("128" in text), f"{text};")
    for opcode in ("bar.arrive", "bar.cta.arrive", "barrier.arrive", "barrier.cta.arrive.aligned"):
        waits = opcode.replace("arrive", "sync")
        text = f"setp.lt.u32 %p, %w, 64;\n@%p bra first;\n{waits} 1, 128;\nbra there;\nfirst:\n{opcode} 1, 128;\nthere:"
        take = "mov.u32 %u, box;\nand.b32 %t, %w, 63;\nmad.lo.u32 %t, %t, 4, %u;\nmov.b32 %d0, 0;\n"
        take += "@!%p ld.shared.b32 %d0, [%t];"
        yield Form(opcode, f"{PUT}\n{text}\n{take}", operands("b32", 1), ("u4",), threads=BLOCK,
                   declarations=BOX)  # fmt: skip
    blocks = np.arange(COUNT, dtype=np.uint32) // BLOCK
    some = operands("b32", 1)[0] >> np.uint32(9) & np.uint32(1)
    flags = np.where(blocks % 3 == 0, 1, np.where(blocks % 3 == 1, 0, some)).astype(np.uint32)
    for opcode in ("bar.red", "bar.cta.red", "barrier.red", "barrier.cta.red", "barrier.red{}.aligned"):
        for operation in ("popc", "and", "or"):
            kind = "u32" if operation == "popc" else "pred"
            name = opcode.format(f".{operation}") if "{}" in opcode else f"{opcode}.{operation}"
            name = f"{name}.{kind}"
            result = "%d0" if operation == "popc" else "%q"
            text = f"setp.ne.u32 %p, %a0, 0;\n{name} {result}, 1, %p;"
            if operation != "popc":
                text += "\nselp.u32 %d0, 1, 0, %q;"
            yield Form(name, text, (flags,), ("u4",), threads=BLOCK)
    text = (
        "mov.u32 %u, box;\nmad.lo.u32 %t, %w, 4, %u;\nst.shared.b32 [%t], %a0;\nbar.warp.sync -1;\nxor.b32 %t, %w, 5;\n"
        "mad.lo.u32 %t, %t, 4, %u;\nld.shared.b32 %d0, [%t];"
    )
    yield Form("bar.warp.sync", text, operands("b32", 1), ("u4",), threads=LANES, declarations=BOX)
    text = "elect.sync %t|%p, -1;\nvote.sync.ballot.b32 %t, %p, -1;\npopc.b32 %d0, %t;\nadd.u32 %d0, %d0, %a0;"
    yield Form("elect.sync", text, operands("b32", 1), ("u4",), LANES)


_PARITY = "again:\n{wait} %p, [%u], 0{hint};\n@!%p bra again;"
_STATE = "again:\n{wait} %p, [%u], %v;\n@!%p bra again;"
_ARRIVE = "mbarrier.arrive.shared.b64 %v, [%u];"


def mbarriers() -> Iterator[Form]:
    """9.7.13.15: arrivals and waits of each kind, then what a state and a phase tell."""
    for arrive, least in (
        ("mbarrier.arrive.shared.b64 %v, [%u]", ""), ("mbarrier.arrive.shared::cta.b64 %v, [%u], 1", "90"),
        ("mbarrier.arrive.release.cta.shared::cta.b64 %v, [%u]", "90"),
        ("mbarrier.arrive.release.cluster.shared::cta.b64 %v, [%u]", ""),
        ("mbarrier.arrive.relaxed.cta.shared::cta.b64 %v, [%u]", ":8.8"),
        ("mbarrier.arrive_drop.shared.b64 %v, [%u]", ""),
        ("mbarrier.arrive_drop.release.cta.shared::cta.b64 %v, [%u]", "90"),
        ("mbarrier.arrive.expect_tx.shared::cta.b64 %v, [%u], 0", ""),
        ("mbarrier.arrive_drop.expect_tx.shared::cta.b64 %v, [%u], 0", ""),
    ):  # fmt: skip
        wait = _PARITY.format(wait="mbarrier.test_wait.parity.shared.b64", hint="")
        yield _phase(arrive.partition(" ")[0] + ".count" * arrive.endswith(", 1"), arrive + ";", wait, least)
    for wait, least in (
        ("mbarrier.test_wait.shared.b64", ":7.1"), ("mbarrier.test_wait.parity.shared.b64", ""),
        ("mbarrier.try_wait.shared.b64", ""), ("mbarrier.try_wait.parity.shared::cta.b64", ""),
        ("mbarrier.test_wait.acquire.cta.shared::cta.b64", "90"),
        ("mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64", ""),
        ("mbarrier.try_wait.relaxed.cta.shared::cta.b64", ":8.8"),
    ):  # fmt: skip
        text = (_PARITY if "parity" in wait else _STATE).format(wait=wait, hint="")
        yield _phase(wait, _ARRIVE, text, least)
    hinted = _PARITY.format(wait="mbarrier.try_wait.parity.shared.b64", hint=", 1000")
    yield _phase("mbarrier.try_wait.parity.shared.b64.time", _ARRIVE, hinted)
    own = f".shared .align 8 .b64 bars[{BLOCK}];"
    place = "mov.u32 %u, bars;\nmad.lo.u32 %u, %w, 8, %u;\n"
    text = (
        f"{place}mbarrier.init.shared.b64 [%u], 5;\nand.b32 %t, %a0, 3;\nadd.u32 %t, %t, 1;\n"
        "mbarrier.arrive.noComplete.shared.b64 %v, [%u], %t;\nmbarrier.pending_count.b64 %d0, %v;\n"
        "mbarrier.arrive.shared.b64 %v, [%u];\nmbarrier.pending_count.b64 %d1, %v;\n"
        "mbarrier.test_wait.shared.b64 %p, [%u], %v;\nselp.u32 %d2, 1, 0, %p;\nmbarrier.inval.shared.b64 [%u];"
    )
    yield Form("mbarrier.pending_count.b64", text, operands("b32", 1), ("u4",) * 3, declarations=own, least=":7.1")
    look = "mbarrier.test_wait.parity.shared.b64 %p, [%u], 0;\nselp.u32 %d{}, 1, 0, %p;\n"
    half = "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%u], %t;\n"
    text = (
        f"{place}mbarrier.init.shared.b64 [%u], 1;\nand.b32 %t, %a0, 0xFFF0;\nadd.u32 %t, %t, 16;\nshl.b32 %n, %t, 1;\n"
        "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%u], %n;\nmbarrier.arrive.shared.b64 %v, [%u];\n"
        + look.format(0) + half + look.format(1) + half + look.format(2)
    )  # fmt: skip
    name = "mbarrier.complete_tx.relaxed.cta.shared::cta.b64"
    yield Form(name, text, operands("b32", 1), ("u4",) * 3, declarations=own)


def _phase(name: str, arrive: str, wait: str, least: str = "") -> Form:
    text = f"{BEGIN.format(count=BLOCK)}{arrive}\n{wait}"
    return exchange(name, text, BAR, least)


def groups() -> Iterator[Form]:
    """9.7.9.25: cp.async whose arrival an mbarrier gets, and groups that are waited for one after another."""
    box = f".shared .align 16 .b8 box[{16 * BLOCK}];"
    place = f"{element('a0', 16)}\nmov.u32 %n, box;\nmad.lo.u32 %t, %w, 16, %n;\n"
    copy = "cp.async.ca.shared.global [%t], [%base], 16;\n"
    take = "add.u32 %t, %w, 33;\nand.b32 %t, %t, 127;\nmad.lo.u32 %t, %t, 16, %n;\n"
    take += "ld.shared.v4.b32 {%d0, %d1, %d2, %d3}, [%t];"
    wait = _PARITY.format(wait="mbarrier.test_wait.parity.shared.b64", hint="")
    for arrive, count in (
        ("cp.async.mbarrier.arrive.noinc.shared.b64", BLOCK), ("cp.async.mbarrier.arrive.shared.b64", BLOCK),
        ("cp.async.mbarrier.arrive.noinc.shared::cta.b64", BLOCK),
    ):  # fmt: skip
        text = f"{BEGIN.format(count=count)}{place}{copy}{arrive} [%u];\n"
        if "noinc" not in arrive:  # the pending count went up by one, and comes down when the copy has ended
            text += "mbarrier.arrive.shared.b64 %v, [%u];\n"
        yield Form(arrive, f"{text}{wait}\n{take}", (wide(),), ("u4",) * 4, BLOCK,
                   declarations=f"{box}\n{BAR}")  # fmt: skip
    text = (
        f"{place}cp.async.ca.shared.global [%t], [%base], 8;\ncp.async.commit_group;\n"
        "cp.async.ca.shared.global [%t+8], [%base+8], 8;\ncp.async.commit_group;\ncp.async.wait_group 1;\n"
        "ld.shared.v2.b32 {%d0, %d1}, [%t];\ncp.async.wait_group 0;\nld.shared.v2.b32 {%d2, %d3}, [%t+8];"
    )
    yield Form("cp.async.wait_group", text, (wide(),), ("u4",) * 4, declarations=box)
    for size in ("64B", "128B", "256B"):
        name = f"cp.async.cg.shared::cta.global.L2::{size}"
        text = f"{place}{name} [%t], [%base], 16;\ncp.async.wait_all;\nld.shared.v4.b32 {{%d0, %d1, %d2, %d3}}, [%t];"
        yield Form(name, text, (wide(),), ("u4",) * 4, declarations=box, least=":7.8")


def forms() -> Iterator[Form]:
    yield from barriers()
    yield from mbarriers()
    yield from groups()
