"""The limits in the README are true: each one is tried, so that the day it is lifted the README is corrected."""

import importlib
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from dsl import emulator
from tests.emulator.conftest import use

ROOT = Path(__file__).parents[1]
LIMITS = re.findall(
    r"^- (.*(?:\n  .*)*)", (ROOT / "README.md").read_text().partition("## Limits\n")[2].partition("\n## ")[0], re.M
)
ENTRY = ".version 8.6\n.target {target}\n.address_size 64\n{before}.visible .entry k() {{ .reg .b32 %r<40>; .reg .b64 %d<9>; .reg .f32 %f<40>;\n{body}\nret; }}"
A, B, C = "{%r1, %r2, %r3, %r4}", "{%r5, %r6}", "{%f1, %f2, %f3, %f4}"
INSTRUCTIONS = {  # a limit's word -> text that has the instruction
    "tcgen05": "tcgen05.fence::before_thread_sync;",
    "block-scaled `mma`": "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e4m3.f32.ue8m0 "
    f"{C}, {A}, {B}, {C}, %r9, {{0, 0}}, %r10, {{0, 0}};",
    "sparse `wgmma`": "wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 {%f1, %f2, %f3, %f4}, %d1, %d2, %r1, 0, 1, 1, 1, 0, 0;",
}


def test_every_limit_has_a_test():
    starts = (
        "Linux on x86-64",
        "No golden is",
        "The emulator predicts",
        "The emulator refuses",
        "The compiler makes",
        "A race is found only",
    )
    assert [limit[: len(start)] for limit, start in zip(LIMITS, starts, strict=True)] == list(starts)


def test_no_golden_is_validated():
    """Nor does one name a GPU: then the README must."""
    goldens = [json.loads(path.read_text()) for path in (ROOT / "repros").rglob("goldens/**/*.json")]
    assert len(goldens) > 200 and not [one for one in goldens if one["validated"]]


@pytest.mark.parametrize("word", INSTRUCTIONS)
def test_an_instruction_is_refused_by_name(word):
    assert word.strip("`") in LIMITS[3].replace("\n  ", " ").replace("`", "") or word in LIMITS[3]
    for instruction in INSTRUCTIONS[word].splitlines():
        with pytest.raises(emulator.Unsupported) as caught:
            use(ENTRY.format(target="sm_90a", before="", body=instruction))
        opcode = re.match(r"\w+", instruction)[0]
        assert str(caught.value).splitlines()[0].startswith(f"UNSUPPORTED_PTX `{opcode}"), str(caught.value)


def test_every_refused_instruction_of_the_readme_is_tried():
    named = re.findall(r"`(\w+)`", LIMITS[3])
    assert set(named) == {re.search(r"\w+(?=`?$)", word)[0] for word in INSTRUCTIONS}


def test_kernels_that_launch_kernels_are_refused_by_name():
    assert "kernels that launch kernels" in LIMITS[3]
    with pytest.raises(emulator.Unsupported, match="a kernel that launches kernels is not emulated"):
        before = ".extern .func cudaLaunchDeviceV2();\n"
        use(ENTRY.format(target="sm_90a", before=before, body="call cudaLaunchDeviceV2, ();"))


def test_names_for_blackwell_and_dialects_of_nvidia_are_refused_by_name():
    program = """
import dsl.alias; dsl.alias.install("emulator")
import importlib
import cutlass.cute as cute
try:
    cute.nvgpu.tcgen05.MmaF16BF16Op
except AttributeError as error:
    print(" ".join(str(error).split()))
for name in ("cute", "cute_nvgpu"):
    try:
        importlib.import_module("cutlass._mlir.dialects." + name).make_layout()
    except Exception as error:
        print(" ".join(str(error).split()))
importlib.import_module("cutlass._mlir.dialects.arith")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=600, cwd=ROOT)
    lines = done.stdout.splitlines()
    assert done.returncode == 0 and len(lines) == 3, done.stdout + done.stderr
    assert "cutlass.cute.nvgpu.tcgen05.MmaF16BF16Op is not part of this compiler" in lines[0]
    assert all(
        f"cutlass._mlir.dialects.{name}" in line for name, line in zip(("cute", "cute_nvgpu"), lines[1:], strict=True)
    )


def test_a_race_is_found_only_if_the_run_executes_both_accesses(tmp_path, monkeypatch):
    text = ENTRY.format(target="sm_90a", before="", body="").replace("k()", "k(.param .b32 both, .param .u64 out)")
    body = """.shared .align 4 .b8 s[256]; .reg .pred %p;
ld.param.b32 %r1, [both]; mov.u32 %r2, %tid.x; setp.eq.u32 %p, %r2, 0; mov.u32 %r3, s;
@%p st.shared.b32 [%r3], %r2;
setp.eq.u32 %p, %r2, %r1;
@%p st.shared.b32 [%r3], %r2;"""
    program = emulator.load(text.replace("\n\nret;", f"\n{body}\nret;"))

    def run(both: int) -> None:
        params = [both.to_bytes(4, "little"), (0).to_bytes(8, "little")]
        emulator.launch(program, "k", (1, 1, 1), (64, 1, 1), params, emulator.Memory(), checks=("race",))

    run(100)  # no thread has this number: the second access is not executed
    with pytest.raises(emulator.Fault, match="RACE"):
        run(33)


def test_one_gpu_is_there():
    code = "import torch; print(torch.cuda.device_count(), torch.cuda.get_device_capability())"
    command = [sys.executable, "-m", "dsl", "--device", "emulator", "-"]
    done = subprocess.run(command, input=code, capture_output=True, text=True, timeout=600, cwd=ROOT)
    assert done.stdout == "1 (9, 0)\n", done.stdout + done.stderr


def test_the_oldest_python_and_the_only_platform():
    settings = importlib.import_module("tomllib").loads((ROOT / "pyproject.toml").read_text())
    assert settings["project"]["requires-python"] == ">=3.11" and "Python 3.11" in LIMITS[0]
    assert settings["tool"]["uv"]["environments"] == ["sys_platform == 'linux' and platform_machine == 'x86_64'"]
