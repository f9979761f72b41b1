"""Disks that are too small, folders that take nothing, and limits of processes."""

import os
import resource
import subprocess
import sys

import pytest

from harness.host.environment import disk_room


def test_room_enough(tmp_path):
    assert disk_room.trouble(str(tmp_path / "cache"), 1 << 20) == ""
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_disk_that_is_too_small(tmp_path):
    """Reserving more than the whole file system has is refused by it, as a quota is."""
    if os.statvfs(tmp_path).f_frsize * os.statvfs(tmp_path).f_blocks > 1 << 50:
        pytest.skip("the disk is too large to be too small")
    said = disk_room.trouble(str(tmp_path), 1 << 50)
    if not said:
        pytest.skip("this file system reserves nothing")
    fix = "fix: make room, or name a folder on a larger disk by `cache`"
    assert said == f"less than 1125900 GB are free in {tmp_path}\n{fix}"
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk(tmp_path):
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k", "tmpfs", tmp_path], capture_output=True).returncode:
        pytest.skip("no small disk can be mounted here")
    try:
        (tmp_path / "full").write_bytes(b"0" * 4096)
        assert disk_room.trouble(str(tmp_path), 1 << 20).startswith("less than 0 GB are free in ")
    finally:
        subprocess.run(["umount", "-l", tmp_path], check=True)


def test_a_folder_that_cannot_be_one(tmp_path):
    (tmp_path / "file").write_text("")
    assert disk_room.trouble(str(tmp_path / "file" / "cache"), 1) == (
        f"nothing can be written in {tmp_path}/file/cache: Not a directory\nfix: name another folder by `cache`"
    )


def test_a_limit_of_file_sizes(tmp_path):
    """As `ulimit -f` sets it, in a separate process."""
    code = f"from harness.host.environment import disk_room; print(disk_room.trouble({str(tmp_path)!r}, 12 << 30))"
    limit = 100 << 20
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )
    assert done.stdout == (
        "a file there may have at most 104 MB (`ulimit -f`), and libraries of torch have up to 2147 MB\n"
        "fix: raise the limit there, as `fsize` in /etc/security/limits.conf\n"
    )
