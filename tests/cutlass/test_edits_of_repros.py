"""Edits that findings propose, for the repros that claim a finding: made there, none is left."""

import json
from pathlib import Path

import pytest

from harness.claim.repro_file import read
from tests import fork_server
from tests.edits import applied

REPROS = Path(__file__).parents[2] / "repros"
# the repros whose finding has an edit, and its text; of 29 that end in a fault, a race, a deadlock or a trap
EDITS = {
    "barrier_with_too_few_threads_deadlocks": "cute.arch.barrier(barrier_id=1, number_of_threads=32)",
    "race_bulk_store_needs_a_proxy_fence": 'cute.arch.fence_proxy("async.shared", space="cta")',
    "race_bulk_store_source_is_read_until_waited_for": (
        "cute.arch.cp_async_bulk_wait_group(0, read=True)\ncute.arch.sync_threads()"
    ),
    "race_copy_async_needs_its_wait": "cute.arch.cp_async_wait_group(0)\ncute.arch.sync_threads()",
    "race_shuffle_orders_no_memory": "cute.arch.sync_warp()",
    "race_tree_sum_without_barrier": "cute.arch.sync_threads()",
    "dsmem_of_a_block_that_may_have_ended_faults": "cute.arch.cluster_arrive()\ncute.arch.cluster_wait()",
    "dsmem_store_behind_a_block_barrier_is_a_race": "cute.arch.cluster_arrive()\ncute.arch.cluster_wait()",
    "wgmma_sums_read_before_the_wait_are_in_flight": "cute.nvgpu.warpgroup.wait_group(0)",
    "wgmma_without_a_fence_may_miss_its_registers": "cute.nvgpu.warpgroup.fence()",
    "wgmma_without_a_proxy_fence_is_a_race": 'cute.arch.fence_proxy("async.shared", space="cta")',
    "tma_store_source_written_while_it_is_read_is_a_race": (
        "cute.arch.cp_async_bulk_wait_group(0, read=True)\ncute.arch.sync_threads()"
    ),
    "tma_store_without_a_proxy_fence_is_a_race": 'cute.arch.fence_proxy("async.shared", space="cta")',
}
DRIVER = """import json, runpy, sys
from dsl.exceptions import KernelFault
edits = {}
for file in sys.argv[1:]:
    try:
        runpy.run_path(file, run_name="repro")["run"]()
        edits[file] = "no finding"
    except KernelFault as error:
        edits[file] = error.finding and error.finding.get("edit")
print(json.dumps(edits))
"""


def run(folder: Path, files: list[str]) -> dict[str, dict | str | None]:
    done = fork_server.run(["-m", "dsl", "--check", "all", "driver.py", *files], cwd=folder)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def found(tmp_path_factory) -> dict[str, tuple[dict | None, str | None]]:
    """By repro: its edit, and what the program with it ends in."""
    folder: Path = tmp_path_factory.mktemp("repros")
    (folder / "driver.py").write_text(DRIVER)
    repros = [read(path) for path in sorted(REPROS.glob("*/*.py"))]
    cutes = [one for one in repros if "cutlass" in one.imports]
    wrong = [one for one in cutes if one.outcome not in ("outputs", "rejected", "error") and not one.params]
    for one in wrong:
        (folder / one.path.name).write_text(one.text)
    edits = run(folder, [one.path.name for one in wrong if one.path.stem != "launch_block_of_2048_threads_is_refused"])
    proposed = {name: edit for name, edit in edits.items() if isinstance(edit, dict)}
    for name, edit in proposed.items():
        (folder / f"edited_{name}").write_text(applied((folder / name).read_text(), edit))
    after = run(folder, [f"edited_{name}" for name in proposed])
    return {Path(name).stem: (edits[name], after.get(f"edited_{name}", "no edit")) for name in edits}


def test_which_findings_have_an_edit(found):
    texts = {name: edit["text"] for name, (edit, _) in found.items() if isinstance(edit, dict)}
    assert {name: "\n".join(map(str.strip, text.split("\n"))) for name, text in texts.items()} == EDITS


@pytest.mark.parametrize("name", EDITS)
def test_the_edit_cures(found, name):
    assert found[name][1] == "no finding"
