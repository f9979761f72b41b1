"""The output of ptxas and nvdisasm for PTX, asked for by another process.

`python -m dsl.launch.machine_listing` reads PTX texts, a JSON string a line, and answers each with a line:
`{"ptxas": VERSION, "log": text of ptxas -v, "sass": nvdisasm's text}`, `{"missing": how to install the tool}` or
`{"rejected": the tool's message}`.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

from dsl.launch import machine_code
from dsl.lower import sass

_TARGET = re.compile(r"^\.target\s+(\w+)", re.MULTILINE)


def listing(ptx: str) -> dict[str, str]:
    """The answer for one text, assembled for the GPU that its `.target` names."""
    target = _TARGET.search(ptx)
    if target is None:
        return {"rejected": "the PTX has no `.target`"}
    try:
        cubin, log = machine_code.cubin_and_log(ptx, target[1])
        return {"ptxas": sass.version("ptxas"), "log": log, "sass": machine_code.disassembly(cubin)}
    except sass.ToolMissing as error:
        return {"missing": str(error)}
    except sass.ToolRejected as error:
        return {"rejected": str(error)}


def answers(lines: Iterable[str]) -> Iterable[str]:
    """A line for each line, in order; as many tools run at once as there are processors."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        yield from map(json.dumps, pool.map(listing, map(json.loads, lines)))


if __name__ == "__main__":
    for line in answers(sys.stdin):
        print(line, flush=True)
