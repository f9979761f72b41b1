"""Print, as JSON, the CUDA C++ that the real tvm_tirx makes of programs: {name: text} on standard input and output.

A program that it refuses has {"refused": the error} in place of the text. "NAMES" has the public names of its modules.
`record.py` starts it.
"""

import json
import linecache
import sys

import tvm_tirx
from tvm_tirx.script import tirx as T


def cuda_of(name: str, source: str) -> str:
    file = f"{name}.py"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    names = {"__name__": name}
    exec(compile(source, file, "exec"), names)
    function = [value for value in names.values() if isinstance(value, tvm_tirx.tirx.Function)][-1]
    target = tvm_tirx.target.Target({"kind": "cuda", "arch": "sm_90a"})
    return tvm_tirx.tirx.compile(function, target=target).mod.imports[0].inspect_source()


def outcome_of(name: str, source: str) -> object:
    try:
        return cuda_of(name, source)
    except Exception as error:
        return {"refused": f"{type(error).__name__}: {error}"}


def public(module: object) -> list[str]:
    kept = ("__shfl_sync", "__shfl_up_sync", "__shfl_down_sync", "__shfl_xor_sync", "__activemask")
    return sorted(name for name in dir(module) if not name.startswith("_") or name in kept)


outcomes = {name: outcome_of(name, source) for name, source in json.load(sys.stdin).items()}
modules = {"tvm_tirx": tvm_tirx, "tirx": tvm_tirx.tirx, "runtime": tvm_tirx.runtime, "T": T, "T.cuda": T.cuda}
print("JSON" + json.dumps({**outcomes, "NAMES": {name: public(module) for name, module in modules.items()}}))
