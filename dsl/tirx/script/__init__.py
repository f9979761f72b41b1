"""tvm.script: where T comes from."""

from dsl.tirx.script import tirx

__all__ = ["tirx"]
