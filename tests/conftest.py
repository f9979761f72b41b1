"""Every PTX that programs compile to in this process is given to ptxas at the end: it must take it."""

import os
import re
import shutil
from concurrent.futures import ThreadPoolExecutor

import pytest


def pytest_configure(config):
    """Collect the PTX of every program."""
    import dsl.launch.compile

    collected: dict[str, str] = {}
    config.stash[_PTX] = collected
    original = dsl.launch.compile.to_ptx

    def to_ptx(llvm_ir: str, arch: str = "sm_90a", optimize: int = 3) -> str:
        ptx = original(llvm_ir, arch, optimize)
        collected.setdefault(ptx, os.environ.get("PYTEST_CURRENT_TEST", "?"))
        return ptx
    dsl.launch.compile.to_ptx = to_ptx


_PTX = pytest.StashKey[dict[str, str]]()


@pytest.fixture(scope="session")
def needs():
    """`needs(tool, package)`: skip where a tool is missing, but fail in CI, which could have installed it."""
    def check(tool: str, package: str) -> None:
        if not shutil.which(tool):
            (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(
                f"this test needs `{tool}`: apt-get install {package}")
    return check


@pytest.fixture(scope="session", autouse=True)
def every_ptx_assembles(request):
    yield
    from dsl.lower import sass

    def refused(item: tuple[str, str]) -> str:
        ptx, test = item
        if ".entry" not in ptx:
            return ""
        try:
            sass.assemble(ptx, re.search(r"^\.target (\w+)", ptx, re.MULTILINE)[1])
        except sass.ToolRejected as error:
            return f"{test}: {error}\n{ptx}"
        return ""
    try:
        sass.find("ptxas")
    except sass.ToolMissing as error:
        if os.environ.get("CI") == "true":
            pytest.fail(str(error))
        return
    with ThreadPoolExecutor(2) as pool:
        refusals = list(filter(None, pool.map(refused, request.config.stash[_PTX].items())))
    if refusals:
        pytest.fail("\n".join(refusals), pytrace=False)
