"""`cutlass.testing`: timing."""

from dsl.cutlass.unsupported import module_getattr as _refuser
from dsl.launch.timing import JitArguments, benchmark, get_workspace_count

__getattr__ = _refuser("cutlass.testing")
