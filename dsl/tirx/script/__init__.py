"""tvm.script: where T comes from."""

from dsl.tirx.script import ir, tirx

__all__ = ["ir", "tirx"]
