"""tvm_tirx.script: where T comes from."""

from dsl.tirx.tvm_tirx.script import tirx

__all__ = ["tirx"]
