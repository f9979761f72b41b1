"""The .target and .version of forms, compared with ptxas 13.0 and the PTX ISA; what is refused without them."""

from __future__ import annotations

import bisect
import collections
import dataclasses
import itertools
import re
import subprocess
from collections.abc import Iterable

import pytest

from dsl import emulator
from dsl.emulator.ir import needs
from dsl.emulator.ir.needs import Need, Targets
from dsl.forms import table
from dsl.forms.form import Form
from tests.emulator import legality
from tests.emulator.conftest import use

TARGETS = ["sm_70", "sm_72", "sm_75", "sm_80", "sm_86", "sm_87", "sm_89", "sm_90", "sm_100", "sm_120"]
WITH_ENDING = [
    f"sm_{number}{ending}"
    for number in (90, 100, 103, 110, 120, 121)
    for ending in ("", "a", "f")
    if number > 90 or ending != "f"
]
VERSIONS = ["6.5", *(f"7.{minor}" for minor in range(9)), *(f"8.{minor}" for minor in range(9)), "9.0"]
# Forms whose `least` ptxas wants too, for what no modifier tells: the count of an arrival needs sm_90; a third source
# needs sm_100; pairs of 8-bit floats need version 8.1 with sm_89 and 7.8 with sm_90; ptxas 13.5 wants sm_90 for fences
# that 13.0 takes for sm_70.
OF_PTXAS = re.compile(
    r"(fence\.(acquire|release)\.(gpu|cta);|cvt\.\S*e[45]m[23]x2|mbarrier\.arrive\.shared::cta\.b64 %v, \[%u\], 1|"
    r"(min|max)\S* %d0, %a0, %a1, %a2)"
)
# The ISA has kinds of mma for sm_120a and its family alone; ptxas also takes these for the family of sm_100f.
BEYOND_THE_ISA = re.compile(r"\bmma\.\S*kind::f8f6f4\.\S*e[45]m[23]\.e[45]m[23]")


@pytest.mark.parametrize(
    "text, need",
    [
        ("80", Need((Targets(80),))),
        ("90a:8.0", Need((Targets(90, 90, ("a",)),), (8, 0))),
        ("100a+", Need((Targets(100, endings=("a", "f")),))),
        ("103f", Need((Targets(103, 109, ("a", "f")),))),
        ("100a,110f:8.8", Need((Targets(100, 100, ("a",)), Targets(110, 119, ("a", "f"))), (8, 8))),
        (":7.10", Need((), (7, 10))),
        ("", Need()),
    ],
)
def test_a_need_is_read(text, need):
    assert needs.read(text) == need


@pytest.mark.parametrize("text", ["sm_80", "100f,", "100b", "100f+", "8.0"])
def test_a_bad_need_is_refused(text):
    why = f"a need must be such as 80, 90a:8.0, 100f,110f or :7.4, got {text!r}"
    with pytest.raises(ValueError, match=re.escape(why)):
        needs.read(text)


def test_the_strictest_of_several():
    assert needs.strictest(map(needs.read, ("80:7.4", "90", ":8.0"))) == needs.read("90:8.0")
    assert needs.strictest(map(needs.read, ("90", "90a"))) == needs.read("90a")
    assert needs.strictest(map(needs.read, (":7.9", ":7.10"))) == needs.read(":7.10")
    assert needs.strictest([]) == needs.NOTHING
    assert needs.strictest(map(needs.read, ("90a+", "100"))) == needs.read("100a+")
    assert needs.strictest(map(needs.read, ("100a+", "100f,110f"))) == needs.read("100f,110f")
    assert needs.strictest(map(needs.read, ("100f,110f", "100a,110a"))) == needs.read("100a,110a")
    assert needs.strictest(map(needs.read, ("103f,110f", "100f,110f"))) == needs.read("103f,110f")


def test_parts_that_no_target_has_together():
    with pytest.raises(ValueError, match="no target has both needs"):
        needs.strictest(map(needs.read, ("90a", "100f")))


@pytest.mark.parametrize(
    "need, has, has_not",
    [
        ("80", "sm_80 sm_86 sm_90a sm_100 sm_103a sm_120f", "sm_75 sm_70"),
        ("90a", "sm_90a", "sm_89 sm_90 sm_100 sm_100a sm_100f"),
        ("90a+", "sm_90a sm_100a sm_100f sm_120a", "sm_90 sm_100 sm_89"),
        ("100", "sm_100 sm_100a sm_120", "sm_90 sm_90a"),
        ("100f", "sm_100a sm_100f sm_103a sm_103f", "sm_90a sm_100 sm_103 sm_110a sm_110f sm_120a sm_120f"),
        (
            "103f,110f",
            "sm_103a sm_103f sm_101a sm_101f sm_110a sm_110f",
            "sm_100a sm_100f sm_103 sm_101 sm_110 sm_120a",
        ),
        ("100a,110a", "sm_100a sm_101a sm_110a", "sm_100f sm_103a sm_101f sm_110f sm_120a"),
        ("120f", "sm_120a sm_120f sm_121a sm_121f", "sm_100a sm_110f sm_120 sm_121"),
        ("", "sm_50", ""),
    ],
)
def test_which_targets_have_it(need, has, has_not):
    assert [each for each in has.split() if not needs.read(need).allows(each)] == []
    assert [each for each in has_not.split() if needs.read(need).allows(each)] == []


def test_a_refusal_names_the_members_of_families():
    assert needs.read("100f:8.8").refusal("sm_120a", "9.0") == (
        "it needs .target sm_100a, sm_100f, sm_103a or sm_103f; the module has .target sm_120a",
        "begin the module with `.version 9.0` and `.target sm_100a`, or compile it for sm_100a",
    )
    assert needs.read("100a,103a").refusal("sm_100f", "8.8")[0] == (
        "it needs .target sm_100a or sm_103a; the module has .target sm_100f"
    )
    assert needs.read("120f:8.7").refusal("sm_121a", "9.0") == ("", "")


@pytest.mark.parametrize("target", [each for each in needs.VERSIONS if each.startswith("sm_1")])
def test_a_target_has_the_least_version_that_ptxas_takes(ptxas_path, target):
    newer = {"sm_101": "sm_110"}.get(target[:6], target[:6]) + target[6:]  # the name since 9.0

    def takes(version: str) -> bool:
        text = f".version {version}\n.target {target}\n.address_size 64\n.visible .entry k() {{ ret; }}"
        argv = [ptxas_path, f"-arch=compute_{newer[3:]}", "-o", "/dev/null", "-"]
        return subprocess.run(argv, input=text, text=True, capture_output=True).returncode == 0

    least = needs.VERSIONS[target]
    assert takes(least) and not takes(VERSIONS[VERSIONS.index(least) - 1])


def module(instruction: str, target: str, version: str) -> str:
    registers = ".reg .b32 %r<3>; .reg .b64 %d<3>; .reg .pred %p<3>;"
    return (
        f'.version {version}\n.target {target}\n.address_size 64\n.file 1 "copies.py"\n'
        f".visible .entry k() {{ {registers}\n.loc 1 3 5\n{instruction}\nret; }}"
    )


COPY = "cp.async.ca.shared.global [%r1], [%d1], 16;"
FEW = [
    (COPY, "sm_75", "9.0", "it needs .target sm_80 or later; the module has .target sm_75", "9.0", "sm_80"),
    (COPY.replace(".global", ".global.L2::128B"), "sm_80", "7.3",
     "it needs .version 7.4 or later; the module has .version 7.3", "7.4", "sm_80"),
    ("elect.sync %r1|%p1, -1;", "sm_80", "7.8",
     "it needs .target sm_90 or later and .version 8.0 or later; the module has .target sm_80 and .version 7.8",
     "8.0", "sm_90"),
    ("wgmma.fence.sync.aligned;", "sm_100a", "8.6", "it needs .target sm_90a; the module has .target sm_100a", "8.6",
     "sm_90a"),
    ("setmaxnreg.inc.sync.aligned.u32 64;", "sm_90", "7.8",
     "it needs .target sm_90a or a later one that ends with `a` or `f`; the module has .target sm_90", "8.0", "sm_90a"),
    ("add.f32x2 %d1, %d1, %d2;", "sm_90a", "8.6", "it needs .target sm_100 or later; the module has .target sm_90a",
     "8.6", "sm_100"),
    ("redux.sync.min.f32 %r1, %r2, -1;", "sm_120a", "8.8",
     "it needs .target sm_100a, sm_100f, sm_103a or sm_103f; the module has .target sm_120a", "8.8", "sm_100a"),
    ("min.ftz.NaN.xorsign.abs.f32 %r1, %r1, %r2;", "sm_80", "7.2",
     "it needs .target sm_86 or later; the module has .target sm_80", "7.2", "sm_86"),
    ("ld.relaxed.cluster.global.u32 %r1, [%d1];", "sm_89", "7.8",
     "it needs .target sm_90 or later; the module has .target sm_89", "7.8", "sm_90"),
]  # fmt: skip


@pytest.mark.parametrize("instruction, target, version, why, later_version, later", FEW, ids=[row[0] for row in FEW])
def test_too_low_a_target_or_version_is_refused_as_by_ptxas(
    ptxas, tmp_path, monkeypatch, instruction, target, version, why, later_version, later
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "copies.py").write_text("\n\n    copy(a, b)\n")
    text = module(instruction, target, version)
    with pytest.raises(AssertionError, match="requires|not supported on|cannot be compiled"):
        ptxas(text, target)
    with pytest.raises(emulator.Unsupported) as caught:
        use(text)
    assert str(caught.value).splitlines() == [
        f"copies.py:3:5: UNSUPPORTED_PTX `{instruction.split()[0].rstrip(';')}`: {why}",
        "    copy(a, b)",
        "    ^",
        f"    PTX line 7: {instruction}",
        f"fix: begin the module with `.version {later_version}`"
        + f" and `.target {later}`, or compile it for {later}" * (later != target),
    ]
    cured = module(instruction, later, later_version)
    ptxas(cured, later)
    use(cured)


def test_an_entry_that_is_not_used_may_have_it():
    text = module(COPY, "sm_75", "6.5") + "\n.visible .entry other() { ret; }"
    program = emulator.load(text)
    emulator.launch(program, "other", (1, 1, 1), (1, 1, 1), [], emulator.Memory())


# ** all forms


def refused(ptxas_path: str, forms: Iterable[Form], target: str, version: str) -> set[str]:
    """The texts of those forms that ptxas refuses for a target and a version."""
    by_module = collections.defaultdict(list)
    for form in forms:
        by_module[form.module].append(form)
    out = set()
    for text, some in by_module.items():
        lines = f".version {version}\n.target {target}\n.address_size 64\n{text}".splitlines()
        starts = []
        for number, form in enumerate(some):
            starts.append(len(lines) + 1)
            kernel = form.ptx[form.ptx.index(".visible") :]
            lines += re.sub(r"\.entry \w+", f".entry k{number}", kernel, count=1).splitlines()
        arch = "compute_75" if target in ("sm_70", "sm_72") else f"compute_{target[3:]}"  # which is only parsed
        argv = [ptxas_path, f"-arch={arch}", "-o", "/dev/null", "-"]
        done = subprocess.run(argv, input="\n".join(lines) + "\n", text=True, capture_output=True)
        said = done.stderr + done.stdout
        assert "fatal   : Parsing" not in said, said
        for line in re.findall(r"line (\d+); error", said):
            out.add(some[bisect.bisect(starts, int(line)) - 1].text)
    return out


def lower(need: Need) -> Iterable[tuple[str, str]]:
    """The next lower target, or those that lack what an `a` or an `f` has; and the next lower version."""
    version = needs.least_version(need.target or "sm_70", need.version)
    if need.target.endswith("a"):
        yield from ((each, "9.0") for each in WITH_ENDING if not need.allows(each))
    elif need.target:
        yield TARGETS[TARGETS.index(need.target) - 1], version
    if need.version > tuple(map(int, needs.VERSIONS[need.target or "sm_70"].split("."))):
        yield need.target or "sm_70", VERSIONS[VERSIONS.index(version) - 1]


def members(need: Need) -> Iterable[tuple[str, str]]:
    """Later targets with an `a` or an `f` that have it."""
    if need.target.endswith("a"):
        yield from ((each, "9.0") for each in WITH_ENDING if need.allows(each))


def wrong(ptxas_path: str, forms: Iterable[Form]) -> list[str]:
    """Forms that ptxas refuses at the target and version that they need, or takes at lower ones."""
    by_need = collections.defaultdict(list)
    for form in forms:
        by_need[form.need].append(form)
    out = []
    for need, some in by_need.items():
        least = need.target or "sm_70"
        for target, version in [(least, needs.least_version(least, need.version)), *members(need)]:
            no = refused(ptxas_path, some, target, version)
            out += [f"{each.text}: refused for {target}" for each in some if each.text in no]
        for target, version in lower(need):
            no = refused(ptxas_path, some, target, version)
            taken = [each.text for each in some if each.text not in no and not BEYOND_THE_ISA.search(each.text)]
            out += [f"{each}: taken for {target} and {version}" for each in taken]
    return out


def without_more(forms: Iterable[Form]) -> list[Form]:
    """Forms that have the target and version of their rows alone."""
    return [each if OF_PTXAS.search(each.text) else dataclasses.replace(each, least="") for each in forms]


def test_some_forms_have_the_target_and_version_that_ptxas_wants(ptxas_path):
    assert wrong(ptxas_path, without_more(itertools.islice(table.forms(), 0, None, 50))) == []


@pytest.mark.slow
def test_every_form_has_the_target_and_version_that_ptxas_wants(ptxas_path):
    assert wrong(ptxas_path, without_more(table.forms())) == []


@pytest.mark.slow
def test_changed_forms_have_the_target_and_version_that_ptxas_wants(ptxas_path):
    changed = without_more(each.form for each in legality.changes(10**6, table.forms()) if each.runs)
    never = refused(ptxas_path, changed, "sm_90a", "9.0") & refused(ptxas_path, changed, "sm_100a", "9.0")
    assert wrong(ptxas_path, [each for each in changed if each.text not in never]) == []
