"""Work of several streams: races between pieces that nothing orders, and other orders of them.

Modules tested here: dsl/emulator/check/overlap.py, dsl/emulator/diagnosis/overlap_report.py.
"""

from __future__ import annotations

import json
import random
import re
import subprocess

import pytest

from tests.driver.conftest import HERE, TIMEOUT_S, compiled, environment

BEFORE = '#include "overlap_pairs.h"'
NAMES = re.findall(r"PAIR\((\w+)\)[,}]", (HERE / "overlap_pairs.h").read_text())


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """By name of the pair, and whether it is right: the finding, or None."""
    folder = tmp_path_factory.mktemp("overlap")
    report = folder / "found.jsonl"
    program = compiled(
        folder,
        """
        begin();
        for (int i = 0; i < COUNT(PAIRS); i++)
          for (int is_right = 0; is_right < 2; is_right++) {
            begin_pair(); PAIRS[i].run(is_right);
            printf("%s %d %u\\n", PAIRS[i].name, is_right, cuCtxSynchronize()); fflush(stdout);
          }
        """,
        BEFORE,
    )
    more = {"GPU_REPRO_CHECK": "race", "GPU_REPRO_REPORT": str(report)}
    done = subprocess.run([program], capture_output=True, text=True, timeout=TIMEOUT_S, env=environment() | more)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = iter(json.loads(line) for line in report.read_text().splitlines())
    told = [line.split() for line in done.stdout.splitlines()]
    return {(name, is_right == "1"): next(rows) if code == "719" else None for name, is_right, code in told}


@pytest.mark.parametrize("name", NAMES)
def test_work_that_nothing_orders_is_a_race(name, found):
    assert found[name, True] is None
    assert found[name, False]["kind"] == "race"


def test_a_report_has_both_places_and_the_calls_that_mend_it(found):
    finding = found["two_kernels", False]["finding"]
    assert (finding["file"], finding["line"], finding["kernel"]) == ("kernels.cu", 9, "consume")
    assert [(each["does"], each["line"]) for each in finding["related"]] == [("reads", 9), ("writes", 4)]
    assert "nothing orders stream 1 and stream 2" in finding["message"]
    assert "`cuEventRecord(event, stream1)` after `produce`" in finding["fix"]
    assert "`cuStreamWaitEvent(stream2, event)` before `consume`" in finding["fix"]


def test_a_report_names_the_call_of_a_copy(found):
    report = found["copy_that_the_program_waits_for", False]
    assert "`cuMemcpyDtoH` in the default stream reads: nothing orders" in report["text"]
    assert re.fullmatch(r"call `cuStreamSynchronize\(stream\d+\)` before `cuMemcpyDtoH`", report["finding"]["fix"])
    assert "`cuMemsetD32` may return before it is done" in found["fill", False]["finding"]["fix"]
    assert "is non-blocking: it does not wait for the default stream" in found["blocking_stream", False]["text"]
    assert "no node of the graph depends on the other" in found["graph", False]["text"]


# ** other orders

SUMS = """
    begin();
    for (int i = 0; i < COUNT(PAIRS); i++)
      for (int is_right = 0; is_right < 2; is_right++) {
        if (!strcmp(PAIRS[i].name, "free_in_a_stream") && !is_right) continue;  // a kernel may touch what is freed
        begin_pair();
        for (int k = 0; k < N; k++) pageable[k] = 3 * k + 5, pinned[k] = k + 9;
        PAIRS[i].run(is_right); printf("%s %d %u\\n", PAIRS[i].name, is_right, sum());
      }
"""
ALIKE = {"copy_that_the_program_waits_for", "blocking_stream"}  # what they write does not depend on the order
ALIKE |= {"allocation_in_a_stream", "two_launches_of_a_graph"}


def test_a_seed_shows_other_values_of_work_that_nothing_orders(tmp_path):
    program, sums = compiled(tmp_path, SUMS, BEFORE), {}
    for seed in (0, 1, 2, 3, 4, 4):
        more = {"GPU_REPRO_SEED": str(seed)}
        done = subprocess.run([program], capture_output=True, text=True, timeout=TIMEOUT_S, env=environment() | more)
        assert (done.returncode, done.stderr) == (0, "")
        for line in done.stdout.splitlines():
            name, is_right, value = line.split()
            sums.setdefault((name, is_right == "1"), []).append(value)
    assert all(values[-1] == values[-2] for values in sums.values())  # of one seed
    assert {pair for pair, values in sums.items() if pair[1] and len(set(values)) > 1} == set()
    assert {name for (name, is_right), values in sums.items() if not is_right and len(set(values)) == 1} == ALIKE


def test_queries_end_and_times_are_in_order_under_a_seed(run):
    text = run(
        """
        begin(); begin_pair();
        handle later; float ms; int asked = 0;
        CHECK(cuEventCreate(&later, 0));
        CHECK(cuEventRecord(event, s1)); for (int i = 0; i < 3; i++) produce(s1, a);
        CHECK(cuEventRecord(later, s1)); produce(s2, b);
        printf("%d ", cuEventElapsedTime_v2(&ms, event, later));
        for (result code = 600; code == 600; asked++) code = cuEventQuery(later);
        CHECK(cuEventElapsedTime_v2(&ms, event, later));
        while (cuStreamQuery(s2) == 600) asked++;
        printf("%d %d\\n", ms > 0, asked > 1);
        """,
        BEFORE,
        GPU_REPRO_SEED="5",
    )
    assert text.split() == ["600", "1", "1"]


def test_work_goes_on_while_the_program_only_looks_at_memory(run):
    text = run(
        """
        begin(); begin_pair();
        volatile u32 *seen = pinned; seen[0] = 0; produce(s1, (address)pinned);
        while (!seen[0]) usleep(1000);
        CHECK(cuLaunchHostFunc(s1, called, NULL));
        while (!calls) usleep(1000);
        printf("%u\\n", seen[0]);
        """,
        BEFORE + "\n#include <unistd.h>\nstatic volatile int calls; static void called(void *p) { calls++; }",
        GPU_REPRO_SEED="1",
    )
    assert text == "7\n"


# ** any program: what the driver finds is what the graph of its calls has

STREAMS, SLOTS = range(5), range(2)  # the default stream, two non-blocking ones, two blocking ones
BLOCKING = (3, 4)
INTERPRETER = """
    begin();
    char what; int x, y;
    handle streams[5], events[2];
    address slots[2], own[5];
    while (scanf(" %c", &what) == 1) {
      switch (what) {
        case 'b':  // the next program
          begin_pair(); streams[0] = NULL;
          for (int i = 1; i < 5; i++) CHECK(cuStreamCreate(&streams[i], i < 3));
          for (int i = 0; i < 2; i++) { CHECK(cuEventCreate(&events[i], 0)); CHECK(cuMemAlloc_v2(&slots[i], BYTES)); }
          for (int i = 0; i < 5; i++) CHECK(cuMemAlloc_v2(&own[i], BYTES));
          break;
        case 'x': printf("%u\\n", cuCtxSynchronize()); break;
        case 'd': cuCtxSynchronize(); break;
        default:
          scanf("%d %d", &x, &y);
          void *produced[] = {&slots[y]}, *consumed[] = {&slots[y], &own[x]};
          if (what == 'p') cuLaunchKernel(produce_kernel, 1, 1, 1, N, 1, 1, 0, streams[x], produced, NULL);
          if (what == 'c') cuLaunchKernel(consume_kernel, 1, 1, 1, N, 1, 1, 0, streams[x], consumed, NULL);
          if (what == 'r') cuEventRecord(events[y], streams[x]);
          if (what == 'w') cuStreamWaitEvent(streams[x], events[y], 0);
          if (what == 's') cuStreamSynchronize(streams[x]);
          if (what == 'e') cuEventSynchronize(events[y]);
          if (what == 'm') cuMemsetD32_v2(slots[y], 1, N);
          if (what == 'g') cuMemcpyDtoH_v2(pageable, slots[y], BYTES);
      }
    }
"""


def any_program(chosen: random.Random) -> list[tuple[str, int, int]]:
    """Calls: launches that write (p) or read (c), records, waits, synchronisation (s, e, d), a memset (m), a copy (g)."""
    calls = chosen.choices("pcrwsedmg", (5, 5, 4, 5, 1, 1, 0.3, 1, 1), k=chosen.randint(3, 12))
    return [(what, chosen.choice(STREAMS) if what not in "mg" else 0, chosen.choice(SLOTS)) for what in calls]


def has_race(calls: list[tuple[str, int, int]]) -> bool:
    """By a graph. Its nodes: a call, what it adds to a stream, and that it has returned."""
    before: dict[tuple[str, int], set] = {}
    last: dict[int, tuple[str, int]] = {}  # in each stream
    events: dict[int, tuple[str, int]] = {}
    for at, (what, stream, number) in enumerate(calls):
        call, work, done = ("call", at), ("work", at), ("done", at)
        before[call], before[done] = {("done", at - 1)} if at else set(), {call}
        with_it = (stream, *(BLOCKING if stream == 0 else (0,) if stream in BLOCKING else ()))
        in_streams = {last[each] for each in with_it if each in last}
        if what in "pcrwmg":
            before[work] = {call, *in_streams, *([events[number]] if what == "w" and number in events else [])}
            last[stream] = work
        if what == "r":
            events[number] = work
        if what == "g":
            before[done].add(work)
        if what == "s":
            before[done] |= in_streams if stream == 0 else {last[stream]} if stream in last else set()
        if what == "e" and number in events:
            before[done].add(events[number])
        if what == "d":
            before[done] |= set(last.values())
    accesses = [(at, number, what in "pm") for at, (what, _, number) in enumerate(calls) if what in "pcmg"]
    return any(
        slot == other_slot and (writes or other_writes) and ("work", first) not in all_before(("work", then), before)
        for then, slot, writes in accesses
        for first, other_slot, other_writes in accesses
        if first < then
    )


def all_before(node: tuple[str, int], before: dict[tuple[str, int], set]) -> set:
    found, todo = set(), [node]
    while todo:
        todo += [each for each in before[todo.pop()] if each not in found and not found.add(each)]
    return found


def test_the_graph_of_calls_has_the_same_races(tmp_path):
    chosen = random.Random(35)
    programs = [any_program(chosen) for _ in range(150)]
    text = "".join(
        "b " + "".join("d " if what == "d" else f"{what} {x} {y} " for what, x, y in calls) + "x\n"
        for calls in programs
    )
    program = compiled(tmp_path, INTERPRETER, BEFORE)
    more = {"GPU_REPRO_CHECK": "race"}
    done = subprocess.run(
        [program], input=text, capture_output=True, text=True, timeout=TIMEOUT_S, env=environment() | more
    )
    found = [line == "719" for line in done.stdout.splitlines()]
    expected = [has_race(calls) for calls in programs]
    assert done.returncode == 0 and 30 < sum(expected) < 120
    assert [calls for calls, one, other in zip(programs, found, expected, strict=True) if one != other] == []
