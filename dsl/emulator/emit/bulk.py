"""cp.async.bulk and its groups. PTX ISA 9.7.9.25.6."""

from __future__ import annotations


def group(body, instr):
    """cp.async.bulk.commit_group and .wait_group."""
    raise body.refuse(instr, "bulk copies are not emulated yet")
