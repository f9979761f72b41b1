"""`--gpu-model`: the emulator answers as one GPU; golden and record name it, and each model may keep its own answer."""

import json

import pytest

from dsl import gpu_models
from harness.claim import GPU_MODELS
from harness.claim.repro_file import DEFAULT_GPU_MODEL, MODELS_BY_ARCH
from harness.cli import main
from harness.comparison import golden
from tests.harness.conftest import repro_text
from tests.harness.documents import result_of

FOUR_SMALL_PRODUCTS = """
import cutlass, torch
import cutlass.cute as cute
from cutlass.cute.nvgpu import warp
from cutlass.cute.runtime import from_dlpack
@cute.kernel
def kernel(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    lane, _, _ = cute.arch.thread_idx()
    mma = cute.make_tiled_mma(warp.MmaF16BF16Op(cutlass.BFloat16, cutlass.Float32, (16, 8, 16)))
    mine = mma.get_slice(lane)
    parts = mine.partition_A(a), mine.partition_B(b), mine.partition_C(c)
    of_a, of_b, of_c = mma.make_fragment_A(parts[0]), mma.make_fragment_B(parts[1]), mma.make_fragment_C(parts[2])
    for part, fragment in zip(parts, (of_a, of_b, of_c)):
        cute.autovec_copy(part, fragment)
    cute.gemm(mma, of_c, of_a, of_b, of_c)
    cute.autovec_copy(of_c, parts[2])
@cute.jit
def host(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    kernel(a, b, c).launch(grid=(1, 1, 1), block=(32, 1, 1))
def run():
    a, b = (torch.zeros(rows, 16, dtype=torch.bfloat16, device="cuda") for rows in (16, 8))
    a[:, :4], b[:, :4] = 2.0**-25, 1
    c = torch.ones(16, 8, device="cuda")
    host(from_dlpack(a), from_dlpack(b), from_dlpack(c))
    return {"c": c[0, :1]}
"""
ONE, MORE = "c: float32 (1) 1.0\n", "c: float32 (1) 1.0000001\n"


@pytest.fixture
def said(write, tmp_path, monkeypatch, capsys):
    """`said("--gpu-model", "a100")`: exit status and text of a run of the repro."""
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text("")
    write(FOUR_SMALL_PRODUCTS)

    def said(*options: str, command: str = "run") -> tuple[int, str]:
        status = main([*command.split(), "repros/one.py", *options])
        told = capsys.readouterr()
        return status, told.out + told.err

    return said


@pytest.mark.slow
def test_each_model_keeps_its_own_answer(said, tmp_path):
    goldens = tmp_path / "repros/goldens/one"
    status, text = said("--update-goldens")
    assert status == 0 and MORE in text and "host:  embedded (emulator)\n" in text
    status, text = said("--gpu-model", "a100")
    assert status == 1 and "host:  embedded (emulator as a100)\n" in text
    assert "fail: differs from the golden of sm_90\n" in text
    assert "the golden was made on sm_90, but this is a100" in text
    assert text.endswith("again: uv run repro run repros/one.py --gpu-model a100\n")
    status, text = said("--gpu-model", "a100", "--update-goldens")
    assert status == 0 and ONE in text
    assert "accepted repros/goldens/one/default@a100.json: sm_90 has another answer\n" in text
    assert said("--gpu-model", "a100")[1].endswith("a100 has its own answer: repros/goldens/one/default@a100.json\n")
    assert said()[0] == 0
    tables = {path.name: json.loads(path.read_text()) for path in goldens.glob("*.json")}
    models = {name: table["provenance"]["gpu_model"] for name, table in tables.items()}
    assert models == {"default.json": "h100", "default@a100.json": "a100"}
    status, text = said("--json", command="record status")
    cells = result_of(text, status)
    assert status == 0 and cells["cells"] == 2 and cells["states"] == {"predicted": 2}


@pytest.mark.slow
def test_a_claim_about_one_gpu_is_skipped_as_another(said, write):
    write(FOUR_SMALL_PRODUCTS, 'silicon = "a100"')
    status, text = said()
    assert status == 0 and "skip: another GPU\n" in text
    assert 'the claim states `silicon = "a100"`, but embedded computes as h100\n' in text
    assert "fail: no golden\n" in said("--gpu-model", "a100")[1]


@pytest.mark.parametrize(
    "command", ["run one.py", "exec -- true", "bisect one.py --compiler 4.6..4.7", "reduce one.py"]
)
def test_an_unknown_model_is_a_usage_error(command, capsys):
    name, *rest = command.split()
    with pytest.raises(SystemExit) as exited:
        main([name, "--gpu-model", "p100", *rest])
    assert exited.value.code == 2
    assert "argument --gpu-model: unknown GPU model p100: the emulator has a100, a30, " in capsys.readouterr().err


@pytest.mark.slow
def test_the_plugin_takes_it_too(pytester, monkeypatch):
    monkeypatch.delenv("CI", raising=False)
    folder = pytester.mkdir("repros")
    (folder / "one.py").write_text(repro_text(FOUR_SMALL_PRODUCTS))
    result = pytester.runpytest_inprocess("--gpu-model", "a100", "--update-goldens", "repros")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["gpu-repro: embedded (emulator as a100)"])
    (path,) = folder.glob("goldens/one/*.json")
    table = json.loads(path.read_text())
    assert table["provenance"]["gpu_model"] == "a100" and table["outputs"]["c"]["values"] == [1.0]


def test_hardware_is_held_to_the_answer_of_its_model(write):
    (case,) = write("def run():\n    return {}").cases()
    folder = golden.folder(case.repro.path)
    folder.mkdir(parents=True)
    for name in ("default.json", "default@a100.json"):
        (folder / name).write_text("{}")
    assert golden.path_of(case, "sm_80", "NVIDIA A100-SXM4-40GB").name == "default@a100.json"
    assert golden.path_of(case, "sm_90", "NVIDIA H100 80GB HBM3").name == "default.json"
    (folder / "default@sm_80.json").write_text("{}")
    assert golden.path_of(case, "sm_80", "NVIDIA A100-SXM4-40GB").name == "default@sm_80.json"


def test_the_default_is_one():
    from dsl.emulator.tensor_core import tensor_core

    assert gpu_models.DEFAULT == DEFAULT_GPU_MODEL == tensor_core.DEFAULT_GPU_MODEL


def test_the_command_line_knows_the_models_of_the_emulator():
    from dsl.emulator.tensor_core import tensor_core

    assert GPU_MODELS == tuple(tensor_core.GPU_MODELS)


def test_the_models_of_architectures_are_the_compilers():
    assert {f"sm_{arch}": gpu_models.model_for(f"sm_{arch}a") for arch in (100, 103, 120)} == MODELS_BY_ARCH


ASKS = """
import torch
def run():
    major, minor = torch.cuda.get_device_capability()
    return {"capability": torch.tensor([major, minor], device="cuda")}
"""


def test_a_repro_that_needs_blackwell_runs_on_a_model_that_has_it(write, tmp_path, monkeypatch):
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text("")
    write(ASKS, 'arch = "sm_103a"')
    assert main(["run", "repros/one.py", "--update-goldens"]) == 0
    (table,) = [json.loads(path.read_text()) for path in tmp_path.rglob("*.json") if "capability" in path.read_text()]
    assert table["provenance"]["gpu_model"] == "b300" and table["provenance"]["arch"].startswith("sm_103")
    assert table["outputs"]["capability"]["values"] == [10, 3]
