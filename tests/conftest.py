"""ptxas must accept the PTX that programs of this process compile to: a fixed part of it, or all of it with --slow or if
the command line names files."""

import gc
import importlib.util
import os
import re
import shutil
import signal
import subprocess
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from harness.judge import in_ci
from tests import second_opinion, slow
from tests.slow import pytest_addoption, pytest_collection_modifyitems, pytest_xdist_make_scheduler  # noqa: F401

# A slow machine is not a failure, and CI tries the same examples every day.
settings.register_profile("tests", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=in_ci())
settings.load_profile("tests")
settings.register_profile("weekly", settings.get_profile("tests"), max_examples=1000, derandomize=False)


def pytest_configure(config):
    """Collect the PTX of every program; no program finds what an earlier run compiled.

    A worker that crashes is not replaced: with --dist loadfile its file would run, and crash, for ever.
    """
    if getattr(config.option, "numprocesses", None):
        config.option.maxworkerrestart = "0"
    slow.pytest_configure(config)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as where a shell put the tests into the background
        signal.signal(signal.SIGINT, signal.default_int_handler)
    gc.disable()  # until tests are collected: what they are made of stays, and looking through it takes long
    os.environ["GPU_REPRO_CACHE"] = "0"
    os.environ.setdefault("TESTS_SESSION", str(os.getpid()))  # tests/fork_server.py
    if getattr(config.option, "numprocesses", None) and not hasattr(config, "workerinput"):
        return  # its workers run the tests
    import dsl.launch.call.compiling.compiler

    collected: dict[str, str] = {}
    config.stash[_PTX] = collected
    original = dsl.launch.call.compiling.compiler.compile_modules

    def compile_modules(*arguments):
        made = original(*arguments)
        if made[1]:
            collected.setdefault(made[1], os.environ.get("PYTEST_CURRENT_TEST", "?"))
        return made

    dsl.launch.call.compiling.compiler.compile_modules = compile_modules


@pytest.hookimpl(trylast=True)
def pytest_collection_finish(session):
    gc.enable()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)  # tracing makes many objects that stay for as long as a test


_PTX = pytest.StashKey[dict[str, str]]()


def missing(why: str) -> None:
    """Skip, but fail in CI, which could have installed what is missing."""
    (pytest.fail if in_ci() else pytest.skip)(why)


@pytest.fixture(scope="session")
def needs():
    """`needs(tool, package)`: the path of a tool that apt has in `package`;
    the test is skipped, or fails in CI, without."""

    def find(tool: str, package: str) -> str:
        return shutil.which(tool) or missing(f"this test needs `{tool}`: apt-get install {package}")

    return find


@pytest.fixture(scope="session")
def ptxas_path() -> str:
    """The path of ptxas, which the lock file brings; the test is skipped, or fails in CI, without."""
    from dsl.lower import sass

    try:
        return sass.find("ptxas")
    except sass.ToolMissing as error:
        missing(str(error))


@pytest.fixture(scope="session")
def installed() -> str:
    """The version of NVIDIA's compiler; the test is skipped, or fails in CI, where it cannot run on the emulator."""
    from dsl.launch.nvidia import hook

    try:
        return hook.version()
    except hook.CompilerMissing as error:
        missing(str(error))


@pytest.fixture(scope="session")
def both():
    """`both(program, arguments)`: the runs of a program under our compiler and NVIDIA's compiler,
    see second_opinion.py."""
    if second_opinion.missing():
        missing(second_opinion.missing())
    return second_opinion.both


@pytest.fixture(scope="session", autouse=True)
def ptx_assembles(request):
    yield
    from dsl.launch import disk_cache, machine_code
    from dsl.lower import sass

    kept = getattr(request.config, "cache", None)  # none with -p no:cacheprovider
    accepted = disk_cache.Cache(kept.mkdir("ptxas")) if kept else None

    def refused(item: tuple[str, str]) -> str:
        ptx, test = item
        if ".entry" not in ptx:
            return ""
        try:
            machine_code.cubin(ptx, re.search(r"^\.target (\w+)", ptx, re.MULTILINE)[1], cache=accepted)
        except sass.ToolRejected as error:
            return f"{test}: {error}\n{ptx}"
        return ""

    try:
        sass.find("ptxas")
    except sass.ToolMissing as error:
        if in_ci():
            pytest.fail(str(error))
        return
    with ThreadPoolExecutor(2) as pool:
        texts = [item for item in request.config.stash[_PTX].items() if slow.takes(request.config, item[0])]
        refusals = list(filter(None, pool.map(refused, texts)))
    if refusals:
        pytest.fail("\n".join(refusals), pytrace=False)


@pytest.fixture(scope="session")
def libgcc_13(needs, tmp_path_factory) -> dict[str, str]:
    """The environment in which a program on an older system finds what NVIDIA's compiler calls for BFloat16."""
    library = tmp_path_factory.mktemp("libgcc") / "libgcc_13.so"
    source = Path(__file__).with_name("libgcc_13.c")
    compiler = needs("cc", "build-essential")
    subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-fno-builtin", "-o", library, source], check=True)
    return {"LD_PRELOAD": str(library)}


@pytest.fixture
def python_headers():
    """Skips the test, or fails it in CI, without the headers of Python, with which Triton builds its launcher."""
    if not Path(sysconfig.get_path("include"), "Python.h").is_file():
        missing("this test needs `Python.h`: apt-get install python3-dev")


@pytest.fixture(scope="session")
def needs_module():
    """`needs_module(module, group)`: skips the test, or fails it in CI, without what a group of
    pyproject.toml brings."""

    def find(module: str, group: str) -> None:
        if importlib.util.find_spec(module) is None:
            missing(f"this test needs the package {module}: uv sync --group {group}")

    return find
