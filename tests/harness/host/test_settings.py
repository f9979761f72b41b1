"""Settings of hosts: where they come from, and the errors for invalid ones."""

import dataclasses

import pytest

from harness.host import settings
from harness.host.settings import BadSettings, JobSettings, Settings, load


@pytest.fixture(autouse=True)
def user(tmp_path, monkeypatch):
    """The user's file, below the test's folder."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    path = tmp_path / "config/gpu-repro/hosts.toml"
    path.parent.mkdir(parents=True)
    return path


def test_the_later_wins_key_by_key(user, tmp_path):
    user.write_text('[p1]\nworkdir = "~/a"\ntorch_index = "cpu"\ngpu = 3\n[p2]\n')
    (tmp_path / "pyproject.toml").write_text('[tool.repro.hosts.p1]\nworkdir = "~/b"\ntorch_index = "cu126"\n')
    found = load(tmp_path, ["p1.torch_index=auto", "p3.bootstrap=true", "box.example.python=/usr/bin/python3"])
    assert found["p1"] == Settings(workdir="~/b", torch_index="auto", gpu=3, is_listed=True)
    assert found["p2"] == Settings(is_listed=True)
    assert found["p3"] == Settings(bootstrap=True) and found["box.example"].python == "/usr/bin/python3"
    assert found["p1"].variables == {"CUDA_VISIBLE_DEVICES": "3"}


def test_requests_to_slurm_have_their_own_table(user, tmp_path, capsys):
    user.write_text('[slurm]\ncache = "/a"\n[slurm.job]\nlogin = "login"\ntime = "10"\n')
    (tmp_path / "pyproject.toml").write_text('[tool.repro.hosts.slurm]\njob.time = "20"\n')
    found = load(tmp_path, ["slurm.job.sbatch=--mem=64G --qos=high", "slurm:gpu.job.array=8"])
    job = JobSettings(login="login", time="20", sbatch=["--mem=64G", "--qos=high"])
    assert found["slurm"] == Settings(cache="/a", job=job, is_listed=True)
    assert found["slurm:gpu"] == Settings(job=JobSettings(array=8))
    assert capsys.readouterr().err == ""


def test_the_former_keys_of_slurm_work_with_a_note(user, tmp_path, capsys):
    user.write_text('[slurm]\nslurm = "login"\ntime = "10"\n')
    for _ in range(2):
        found = load(tmp_path, ["slurm.array=8"])
    assert found["slurm"] == Settings(job=JobSettings(login="login", time="10", array=8), is_listed=True)
    assert capsys.readouterr().err.splitlines() == [
        f"note: {user}: slurm: `slurm` is now `job.login`; the old spelling ends with 0.4",
        f"note: {user}: slurm: `time` is now `job.time`; the old spelling ends with 0.4",
        "note: slurm.array=8: `array` is now `job.array`; the old spelling ends with 0.4",
    ]


def test_no_files(tmp_path):
    assert load(tmp_path) == {}


WRONG = {
    "[p1]\nwork_dir = '~/a'": "{user}: p1: `work_dir` is not a setting\nfix: write `workdir`; the settings of a host",
    "[p1]\nbootstrap = 1": "{user}: p1: `bootstrap` = 1\nfix: it is true: bring uv to a host that has none",
    "[p1]\ndevice = 'gpu'": '{user}: p1: `device` = \'gpu\'\nfix: it is "emulator" or "cuda"',
    "[p1]\nenv = { A = 1 }": "{user}: p1: `env` = {'A': 1}\nfix: it is a table of environment variables",
    "[p1]\nslots = 0": "{user}: p1: `slots` = 0\nfix: it is how many cases run at once there where it has no GPU",
    "[a.job]\narray = -1": "{user}: a: job: `array` = -1\nfix: it is the number of jobs at once, at most (default 1)",
    "[a.job]\ntimes = '1'": "{user}: a: job: `times` is not a setting\nfix: write `time`; the settings in the table `job`",
    "[a.job]\ncache = '/x'": "{user}: a: job: `cache` is not a setting\nfix: the settings in the table `job` are",
    "[a]\njob = 'x'": "{user}: a: `job` = 'x'\nfix: it is of slurm targets: a table of what is asked of Slurm",
    "p1 = 'box'": "{user}: p1 = 'box' is not a host: write a table [p1]",
    "[p1]\npython = 'a'\nworkdir = 'b'": "host p1 has both `python` and `workdir`: keep one",
    "[p1": "{user}: ",
}


@pytest.mark.parametrize("text", WRONG)
def test_invalid_settings(user, tmp_path, text):
    user.write_text(text)
    with pytest.raises(BadSettings) as error:
        load(tmp_path)
    assert str(error.value).startswith(WRONG[text].replace("{user}", str(user)))


@pytest.mark.parametrize("option", ["p1", "workdir=x", ".python=x"])
def test_invalid_options(tmp_path, option):
    with pytest.raises(BadSettings) as error:
        load(tmp_path, [option])
    assert str(error.value) == f"--gpu-set {option}: write HOST.KEY=VALUE, as in p1.workdir=~/code/kestrel"


def test_an_option_with_an_unknown_key(tmp_path):
    with pytest.raises(BadSettings, match=r"\Ap1.python_=x: `python_` is not a setting\nfix: write `python`; the "):
        load(tmp_path, ["p1.python_=x"])


def test_a_project_file_that_is_odd(tmp_path):
    (tmp_path / "pyproject.toml").write_text("[tool.repro]\nhosts = 3\n")
    with pytest.raises(BadSettings, match=r"`hosts` of \[tool.repro.hosts\] is not a table"):
        load(tmp_path)


@pytest.mark.parametrize(
    "line, key, fix",
    [
        ("host = 'p1'", "host", "write [tool.repro.hosts.NAME] or [tool.repro.pools.NAME]"),
        ("arch = 'sm_80'", "arch", "write it in the block of a repro's file"),
    ],
)
def test_a_setting_that_no_project_has(tmp_path, line, key, fix):
    project = tmp_path / "pyproject.toml"
    project.write_text(f"[tool.repro]\n{line}\n")
    with pytest.raises(BadSettings) as error:
        load(tmp_path)
    assert str(error.value) == f"{project}: [tool.repro]: `{key}` is not a key of the project's settings\nfix: {fix}"


def test_every_setting_is_explained():
    assert {*settings.MEANINGS, "is_listed"} == {field.name for field in dataclasses.fields(Settings)}
    assert {*settings.MEANINGS_JOB} == {field.name for field in dataclasses.fields(JobSettings)}


def test_environments():
    needs = ["torch", "numpy", "torch"]
    assert Settings(python="/p").environment(needs, ">=3.11") == {"variables": {}, "kind": "python", "python": "/p"}
    assert Settings(workdir="~/a").environment(needs, "")["kind"] == "project"
    assert Settings(torch_index="cpu").environment(needs, ">=3.11") == {
        "variables": {},
        "kind": "managed",
        "requires": ["numpy", "torch"],
        "python": ">=3.11",
        "torch_index": "cpu",
    }


@pytest.mark.parametrize(
    "needs, requires",
    [
        (["numpy", "numpy>=2.0"], ["numpy>=2.0"]),
        (["torch", "torch[opt]", "numpy"], ["numpy", "torch[opt]"]),
        (["numpy", "numpy-quaternion>=1"], ["numpy", "numpy-quaternion>=1"]),
        (["numpy", "numpy>=2.0; python_version < '3.12'"], ["numpy", "numpy>=2.0; python_version < '3.12'"]),
    ],
)
def test_a_name_without_a_version_makes_no_second_environment(needs, requires):
    assert Settings().environment(needs, ">=3.11")["requires"] == requires
