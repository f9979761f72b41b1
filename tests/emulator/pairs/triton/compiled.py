"""The PTX of kernels.py by Triton, without paths of a machine: `python -m tests.emulator.pairs.triton.compiled` writes it."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

FOLDER = Path(__file__).parent
SOURCE = FOLDER / "kernels.py"
VERSION = "3.9.0"  # of the Triton that made the PTX here
N = 128
# by kernel: the types of its arguments
KERNELS = {
    "reversed_tile": ["*i32"] * 3,
    "locked_sum": ["*fp32", "*i32", "*fp32"],
    "split_k": ["*fp32", "*i32", "*fp32"],
    "flag_store": ["*i32"] * 4,
    "last_program": ["*i32"] * 4,
    "scope_of_block": ["*i32"] * 4,
    "histogram": ["*i32"] * 2,
    "unmasked": ["*i32", "*i32", "i32"],
    "promised": ["*fp32", "*fp32", "i32"],
    "before": ["*i32"],
    "overlapped": ["*i32"] * 2,
}


def compiled(name: str, is_right: bool, source: Path = SOURCE) -> str:
    """The PTX of a kernel of a file like kernels.py for sm_90; its `.file` is the file's name."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    spec = importlib.util.spec_from_file_location(f"pairs_{source.stem}", source)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    kernel = getattr(module, name)
    names = kernel.arg_names
    signature = dict(zip(names, KERNELS[name])) | {"N": "constexpr", "RIGHT": "constexpr"}
    aligned = {(i,): [["tt.divisibility", 16]] for i, kind in enumerate(KERNELS[name]) if kind.startswith("*")}
    made = triton.compile(
        ASTSource(
            fn=kernel,
            signature=signature,
            constexprs={"N": 4 * N if name == "promised" else N, "RIGHT": is_right},
            attrs=aligned,
        ),
        target=GPUTarget("cuda", 90, 32),
        options={"num_warps": 4, "launch_pdl": name in ("before", "overlapped")},
    )
    text = re.sub(r"\t\.section\s+\.debug_\w+\s*\{.*?\n\s*\}\n", "", made.asm["ptx"], flags=re.DOTALL)
    text = text.replace(f'"{source}"', f'"{source.name}"')
    text = re.sub(r'(?m)^(\s*\.file\s+\d+ )".*/(site-packages/.*)"', r'\1"/usr/lib/python3/\2"', text)
    text = re.sub(r"function_name \S+,", "function_name $L__info_string0,", text)
    return (
        f"// shared memory: {made.metadata.shared} bytes, scratch: {made.metadata.global_scratch_size} bytes\n" + text
    )


def kept(name: str, is_right: bool) -> Path:
    """The file that has the PTX of a kernel."""
    return FOLDER / f"{name}.{'right' if is_right else 'wrong'}.ptx"


if __name__ == "__main__":
    for each in KERNELS:
        for right in (False, True):
            kept(each, right).write_text(compiled(each, right))
