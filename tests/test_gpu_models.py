"""Which modules each GPU model takes, and what the device does with one that its model does not take."""

import itertools
import re
from pathlib import Path

import pytest

from dsl import environment_variables as variables, gpu_models
from dsl.launch.devices.emulated import Emulated
from dsl.launch.devices.protocol import DeviceError
from dsl.lower import sass
from tests import fork_server
from tests.small_ptx import PTX

TARGETS = ("sm_80", "sm_90", "sm_90a", "sm_100", "sm_100a", "sm_100f", "sm_103", "sm_103a", "sm_103f", "sm_120",
           "sm_120a", "sm_120f", "sm_121a")  # fmt: skip
ARCHS = ("sm_90a", "sm_100a", "sm_103a", "sm_120a")


def of_target(target: str) -> str:
    return PTX.replace(".version 8.0", ".version 9.0").replace("sm_90a", target)


@pytest.mark.slow
def test_ptxas_takes_the_same_targets(ptxas_path):
    for target, arch in itertools.product(TARGETS, ARCHS):
        try:
            is_taken = bool(sass.assemble(of_target(target), arch))
        except sass.ToolRejected:
            is_taken = False
        assert gpu_models.runs(target, arch) == is_taken, (target, arch)


@pytest.mark.parametrize(
    "target, model",
    [("sm_90a", None), ("sm_80", None), ("sm_100", "b200"), ("sm_100f", "b200"), ("sm_103a", "b300"),
     ("sm_103f", "b300"), ("sm_120a", "rtx5090"), ("sm_121a", None), ("", None)],
)  # fmt: skip
def test_a_target_chooses_its_model(target, model):
    assert gpu_models.model_for(target) == model


def test_the_page_has_the_limits():
    page = (Path(__file__).parents[1] / "docs/blackwell.md").read_text()
    rows = re.findall(r"^\| `(\w+)`.*? \| `(\w+)` \| (\d+) \| (\d+) KiB \| (\d+), (\d+) \| (\d+) \|$", page, re.M)
    told = {name: (arch, *map(int, numbers)) for name, arch, *numbers in rows}
    assert told == {
        name: (
            limits.arch, limits.multiprocessors, limits.smem_bytes >> 10, limits.sm_threads, limits.sm_blocks,
            limits.most_cluster,
        )
        for name, limits in {"h100": gpu_models.limits_of("h100"), **gpu_models.BLACKWELL}.items()
    }  # fmt: skip


@pytest.fixture
def device(monkeypatch):
    """`device("b200")`: a device of this model; of none that is chosen for ""."""

    def make(model: str) -> tuple[Emulated, list[str]]:
        monkeypatch.setenv(variables.GPU_MODEL, model)
        made, told = Emulated(), []
        made.announce = told.append
        return made, told

    return make


def test_a_module_of_blackwell_runs_on_its_model_and_the_device_reports_it(device):
    made, told = device("")
    assert made.load(of_target("sm_90a")).gpu_model == "h100" and made.facts()["gpu_model"] == "h100"
    programs = [made.load(of_target("sm_100a") + "\n" * i) for i in range(2)]
    assert [each.gpu_model for each in programs] == ["b200", "b200"]
    assert told == ["the program is built for sm_100a and runs on a b200; --gpu-model chooses another"]
    facts = made.facts()
    assert (facts["gpu_model"], facts["arch"], facts["name"]) == ("b200", "sm_100a", "PTX emulator (b200)")


@pytest.mark.parametrize(
    "model, target, whose, mine, arch",
    [
        ("b200", "sm_90a", "sm_90a alone", "sm_100", "sm_100a"),
        ("h100", "sm_100a", "sm_100a alone", "sm_90", "sm_90a"),
        ("rtx5090", "sm_100f", "sm_100f and later ones of its family", "sm_120", "sm_120a"),
        ("b200", "sm_103", "sm_103 and later", "sm_100", "sm_100a"),
        ("", "sm_121a", "sm_121a alone", "sm_90", "sm_90a"),
    ],
)
def test_a_chosen_model_refuses_modules_of_other_chips(device, model, target, whose, mine, arch):
    made, told = device(model)
    with pytest.raises(DeviceError) as refused:
        made.load(of_target(target))
    assert refused.value.name == "CUDA_ERROR_INVALID_PTX" and told == []
    assert str(refused.value) == (
        f"CUDA_ERROR_INVALID_PTX: the PTX is for {whose}, but this GPU is {mine}\nfix: compile for it: --gpu-arch {arch}"
    )


def test_an_architecture_in_the_environment_chooses_the_model(device, monkeypatch):
    monkeypatch.setenv("CUTE_DSL_ARCH", "sm_103a")
    made, _ = device("")
    assert (made.gpu_model, made.arch, made.multiprocessors()) == ("b300", "sm_103a", 148)
    assert device("b200")[0].gpu_model == "b200"


def test_a_name_of_another_kind_is_not_read():
    with pytest.raises(ValueError, match="'hopper' is not an architecture such as sm_90a"):
        gpu_models.capability_of("hopper")


def test_a_file_whose_block_needs_blackwell_runs_on_a_model_that_has_it(tmp_path):
    path = tmp_path / "asks.py"
    path.write_text(
        '# /// script\n# [tool.repro]\n# arch = "sm_120a"\n# ///\n'
        "import torch\nprint(torch.cuda.get_device_capability())\n"
    )
    done = fork_server.run(["-m", "dsl", path], cwd=tmp_path, timeout=600)
    assert (done.returncode, done.stdout) == (0, "(12, 0)\n")
    assert done.stderr == "dsl: the repro needs sm_120a and runs on a rtx5090; --gpu-model chooses another\n"
    done = fork_server.run(["-m", "dsl", "--gpu-model", "h100", path], cwd=tmp_path, timeout=600)
    assert (done.returncode, done.stdout, done.stderr) == (0, "(9, 0)\n", "")
