"""Who runs what: order, slots that are lost, recalled or busy, places that cannot, and the end of a run.

Modules tested here: harness/fleet/slots.py.
"""

import threading
import time
from dataclasses import dataclass, field

import pytest

from harness.fleet import engine as engines
from harness.fleet.engine import Engine, Events, Task
from harness.fleet.slots import GpuBusy, Recalled, Slot
from harness.host.hosts import Host
from harness.run.transport import Declined, Job, LinkDown

JOB = Job("one.py", "", {}, "cuda", 9.0, gpu="7")
REPLY = {"kind": "reply"}, []
LOCKED = {"kind": "busy", "text": "the GPU was not free", "holder": "process 4711 has it", "locked": True}, []


@dataclass
class Scripted:
    """A transport that gives or raises the items of `script` in turn, and then replies."""

    script: list = field(default_factory=list)
    jobs: list = field(default_factory=list)

    def run(self, job):
        self.jobs.append(job)
        said = self.script.pop(0) if self.script else REPLY
        if isinstance(said, Exception):
            raise said
        return said() if callable(said) else said

    def close(self):
        """Nothing is open."""


class Fixed:
    """A provider of these slots, or of a failure."""

    def __init__(self, name, *slots, failure=None):
        self.name, self.slots, self.failure, self.closed = name, slots, failure, 0

    def open(self, desk):
        for slot in self.slots:
            desk.offer(slot)
        if self.failure:
            raise LinkDown(self.failure)

    def close(self):
        self.closed += 1


class Notes(Events):
    def __init__(self):
        self.notes, self.started = [], []

    def note(self, text):
        self.notes.append(text)

    def start(self, task, slot):
        self.started.append((task.key, slot.name))


def slot(name: str, *script, **more) -> Slot:
    place = name.partition(":")[0]
    return Slot(name, place, Host(place, "cuda"), Scripted(list(script)), **more)


def work(slot, transport):
    """As judge.run does: a lost link is an outcome."""
    try:
        return slot.name, transport.run(JOB)[0]["kind"]
    except LinkDown as error:
        return slot.name, f"infra: {error}"


def tasks(*keys):
    return [Task(key, work) for key in keys]


@pytest.fixture
def run():
    """`run(providers, tasks)`: the engine, and what became of each case."""
    made = []

    def run(providers, cases, busy="wait"):
        engine = Engine(providers, Notes(), busy)
        made.append(engine)
        engine.submit(cases)
        return engine, {task.key: engine.wait(task.key) for task in cases}

    yield run
    for engine in made:
        engine.close()


def test_the_smallest_order_goes_first_and_equals_as_they_came(run):
    cases = [Task("a", work, (0,)), Task("b", work, (-5,)), Task("c", work, (-5,)), Task("d", work, (-9,))]
    engine, done = run([Fixed("p1", slot("p1:0"))], cases)
    assert [key for key, _ in engine.events.started] == ["d", "b", "c", "a"]
    assert {task.result for task in done.values()} == {("p1:0", "reply")}
    assert engine.counts() == {"done": 4, "running": 0, "waiting": 0, "slots": 1}


def test_every_slot_of_every_provider_works_at_once(run):
    """Four cases that end only when all four have begun."""
    together = threading.Barrier(4)

    def meet():
        together.wait(600)
        return REPLY

    providers = [Fixed(name, slot(f"{name}:0", meet), slot(f"{name}:1", meet)) for name in ("p1", "p2")]
    _, done = run(providers, tasks(*"abcd"))
    assert {task.slot.name for task in done.values()} == {"p1:0", "p1:1", "p2:0", "p2:1"}


def test_a_lost_host_gives_its_cases_to_others(run):
    """One host: what ran there, and what it would have run."""
    held = threading.Event()

    def second():
        held.wait(600)
        return REPLY

    def lose():
        held.set()
        raise LinkDown("the connection was lost")

    providers = [Fixed("p1", slot("p1:0", lose)), Fixed("p2", slot("p2:0", second))]
    engine, done = run(providers, tasks("a", "b", "c"))
    assert [task.result for task in done.values()] == [("p2:0", "reply")] * 3
    lost, *later = engine.events.notes
    assert lost == "p1: the connection was lost; what ran there goes to other slots"
    assert later in ([], ["it does not come back"])  # known before the other host has run the rest, or after


def test_a_case_that_loses_two_hosts_is_run_no_third_time(run):
    lost = LinkDown("the connection was lost")
    providers = [Fixed(name, slot(f"{name}:0", lost, revive=lambda: None)) for name in ("p1", "p2", "p3")]
    _, done = run(providers, tasks("a"))
    assert done["a"].result[1] == "infra: the connection was lost" and done["a"].losses == 2


def test_the_only_host_lost_and_back_again(run):
    """The case that ran is not run again where it was lost; the next one is run there."""
    only = slot("p1:0", LinkDown("the connection was lost"), revive=lambda: None)
    _, done = run([Fixed("p1", only)], tasks("a", "b"))
    assert done["a"].unrun == "the connection was lost" and done["b"].result == ("p1:0", "reply")


def test_a_place_that_cannot_run_a_case_is_asked_once_a_case(run):
    full = Declined("the disk there is full")
    one, other = slot("p1:0", full, full, full), slot("p2:0")
    engine, done = run([Fixed("p1", one), Fixed("p2", other)], tasks("a", "b", "c"))
    assert {task.result for task in done.values()} == {("p2:0", "reply")}
    assert len(one.transport.jobs) <= 3 and engine.events.notes == []
    _, done = run([Fixed("p1", slot("p1:0", full))], tasks("a"))
    assert done["a"].unrun == "the disk there is full" and done["a"].result is None


def test_a_repro_that_ends_its_supervisor_is_not_run_again(run):
    ended = Declined("the supervisor there ended")
    ended.started = True
    _, done = run([Fixed("p1", slot("p1:0", ended)), Fixed("p2")], tasks("a", "b"))
    assert done["a"].result == ("p1:0", "infra: the supervisor there ended") and done["b"].result[1] == "reply"


def test_a_recalled_slot_is_not_the_cases_fault(run):
    slots = [slot(f"job{number}:0", Recalled(f"job{number} was preempted")) for number in range(3)]
    _, done = run([Fixed("slurm", *slots, slot("job9:0", lambda: REPLY))], tasks("a"))
    assert done["a"].result == ("job9:0", "reply") and done["a"].losses == 0


def test_a_case_that_is_always_recalled_ends(run):
    slots = [slot(f"job{number}:0", Recalled("preempted")) for number in range(9)]
    _, done = run([Fixed("slurm", *slots)], tasks("a"))
    assert done["a"].result[1] == "infra: preempted" and done["a"].recalls == engines.MOST_RECALLS


def test_providers_without_slots_give_the_reason(run):
    engine, done = run([Fixed("p1", failure="p1 is down"), Fixed("p2", failure="p2 is down")], tasks("a"))
    assert done["a"].unrun.splitlines() == ["p1 is down", "p2 is down"] or done["a"].unrun.splitlines() == [
        "p2 is down",
        "p1 is down",
    ]
    assert sorted(engine.events.notes) == ["p1 is down", "p2 is down"]
    _, done = run([Fixed("p1", failure="p1 is down"), Fixed("p2", slot("p2:0"))], tasks("a"))
    assert done["a"].result == ("p2:0", "reply")


@pytest.mark.slow
def test_a_busy_gpu_is_waited_for_and_others_take_the_case(run):
    busy, free = slot("p1:0", *[LOCKED] * 3), slot("p1:1")
    engine, done = run([Fixed("p1", busy)], tasks("a"))
    assert engine.events.notes == ["p1:0: waiting for the GPU: process 4711 has it"]
    assert done["a"].result == ("p1:0", "reply") and len(busy.transport.jobs) == 4
    assert {job.gpu_patience_s for job in busy.transport.jobs} == {engines.LOOK_S}
    taken = slot("p1:0")
    taken.transport.run = lambda job: time.sleep(0.01) or LOCKED
    _, done = run([Fixed("p1", taken, free)], tasks(*"abcdef"))
    assert {task.result for task in done.values()} == {("p1:1", "reply")}


def test_a_gpu_that_stays_busy_is_given_up(run, monkeypatch):
    monkeypatch.setattr(engines, "PATIENCE_S", -1.0)
    _, done = run([Fixed("p1", slot("p1:0", LOCKED))], tasks("a"))
    assert done["a"].unrun == "p1:0 is left out: the GPU was not free within -1 s: process 4711 has it"


def test_busy_gpus_are_skipped_or_shared_by_choice(run):
    engine, done = run([Fixed("p1", slot("p1:0", LOCKED), slot("p1:1"))], tasks("a", "b"), "skip")
    assert {task.result for task in done.values()} == {("p1:1", "reply")}
    assert set(engine.events.notes) <= {"p1:0 is left out: the GPU is busy: process 4711 has it"}
    shared = slot("p1:0")
    run([Fixed("p1", shared)], tasks("a"), "share")
    assert [job.gpu for job in shared.transport.jobs] == [""]


def test_the_second_run_of_a_case_waits_for_its_gpu(run):
    """A repro with `poison` runs twice, on one GPU."""
    only = slot("p1:0")
    case = Task("a", lambda slot, transport: [transport.run(JOB), transport.run(JOB)])
    run([Fixed("p1", only)], [case])
    assert [job.gpu_patience_s for job in only.transport.jobs] == [engines.LOOK_S, engines.PATIENCE_S]


def test_a_mistake_of_ours_reaches_who_waits(run):
    engine = Engine([Fixed("p1", slot("p1:0"))])
    engine.submit([Task("a", lambda slot, transport: 1 / 0), Task("b", work)])
    with pytest.raises(ZeroDivisionError):
        engine.wait("a")
    assert engine.wait("b").result == ("p1:0", "reply")
    engine.close()


def test_the_end_comes_to_who_waits_and_to_what_runs():
    begun, ended = threading.Event(), threading.Event()

    class Endless(Fixed):
        def close(self):
            super().close()
            ended.set()

    def hang():
        begun.set()
        ended.wait(600)
        raise LinkDown("closed")

    provider = Endless("p1", slot("p1:0", hang))
    engine = Engine([provider])
    engine.submit(tasks("a", "b"))
    assert begun.wait(600) and engine.ahead("b") == 0 and engine.unfinished() == 2
    said = []

    def waits():
        with pytest.raises(LinkDown) as error:
            engine.wait("b")
        said.append(str(error.value))

    thread = threading.Thread(target=waits)
    thread.start()
    engine.close()
    thread.join(600)
    assert said == ["the run was ended"] and provider.closed == 1 and not provider.slots[0].transport.script
    engine.close()


def test_a_withdrawn_slot_takes_no_further_case(run):
    first, second = slot("p1:0"), slot("p1:1")
    engine = Engine([Fixed("p1", first, second)])
    engine.submit(tasks("a"))
    engine.wait("a")
    engine.withdraw(first)
    engine.submit(tasks("b", "c"))
    assert {engine.wait(key).slot for key in "bc"} == {second}
    engine.close()


def test_a_busy_gpu_is_not_an_outcome():
    watched = engines._Watched(Scripted([LOCKED]), "wait")
    with pytest.raises(GpuBusy, match="process 4711 has it"):
        watched.run(JOB)
