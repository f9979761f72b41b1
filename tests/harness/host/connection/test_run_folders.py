"""Leftovers of runs on a host: a folder whose agent is gone, and processes with the mark of its run."""

import os
import subprocess

from harness.host.connection import run_folders


def test_leftovers_of_a_run_are_removed_and_live_runs_stay(tmp_path):
    cache, runs = str(tmp_path), tmp_path / "runs"
    lock = run_folders.make_run_folder(str(runs / "alive"))
    os.close(run_folders.make_run_folder(str(runs / "dead")))
    marked = dict(os.environ, **{run_folders.RUN_MARK: "dead"})
    with subprocess.Popen(["sleep", "995"], env=marked) as left:
        assert run_folders.left_over(cache, "own", 60.0) == [] and run_folders.left_over(cache, "dead", 0.0) == []
        assert run_folders.left_over(cache, "own", 0.0) == ["dead"]
        assert run_folders.marked(["dead"]) == {left.pid: "sleep 995"}
        run_folders.sweep(cache, "own", 0.0)
        assert left.wait(600) == -9
    assert os.listdir(runs) == ["alive"]
    os.close(lock)
