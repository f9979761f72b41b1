"""Every instruction form: its name is its own, the emulator takes it, and so does NVIDIA's assembler."""

import collections
import subprocess

import pytest

from dsl import emulator
from dsl.forms import table
from dsl.forms.form import BLOCK


@pytest.fixture(scope="module")
def forms():
    return list(table.forms())


@pytest.mark.slow
def test_each_form_is_there_once_and_has_whole_blocks(forms):
    names = [form.name for form in forms]
    assert len(names) == len(set(names)) >= 2391
    assert len({form.entry for form in forms}) == len(names)
    assert all(form.count % BLOCK == 0 and len({len(each) for each in form.operands}) == 1 for form in forms)


@pytest.mark.slow
def test_the_emulator_takes_every_form(forms):
    for form in forms:
        emulator.load(form.ptx)


@pytest.mark.slow
def test_the_assembler_takes_every_form_for_its_target_and_version(forms, ptxas_path, tmp_path):
    modules = collections.defaultdict(list)
    for form in forms:
        head, _, rest = form.ptx.partition(".visible")
        modules[head, form.target].append(".visible" + rest)
    for (head, target), entries in modules.items():
        arch = (
            "sm_75" if target in ("sm_70", "sm_72") else target
        )  # the assembler has them no more, but takes their PTX
        argv = [ptxas_path, f"-arch={arch}", "-O0", "-o", str(tmp_path / "cubin"), "-"]
        done = subprocess.run(argv, input=head + "\n".join(entries), text=True, capture_output=True)
        assert done.returncode == 0, f"{target}: {done.stderr[:2000]}"
