"""The types of the runtime's functions, as generated code declares them, against the LLVM IR that clang makes."""

import concurrent.futures
import re
import subprocess

from dsl import native_library
from dsl.emulator.machine.functions import signatures

TOLD = r" (nounwind|captures\(none\)|memory\([^)]*\))"  # what a declaration may promise besides


def ir_of(path, folder):
    out = folder / f"{path.stem}.ll"
    command = native_library._compiler("x86_64_v3") + [
        each for each in native_library.FLAGS if each not in ("-O2", "-Werror")
    ]
    paths = ["-I", str(native_library.HERE), "-I", str(native_library.BUILT)]
    argv = [*command, "-O0", *paths, "-S", "-emit-llvm", "-o", str(out), str(path)]
    subprocess.run(argv, check=True, capture_output=True)
    return out.read_text()


def defined(ir):
    for result, name, arguments in re.findall(r"^define .*?([\w{}]+|\{[^}]*\}) @(emu_\w+)\((.*)\).* \{$", ir, re.M):
        kinds = [re.match(r"\s*(\{[^}]*\}|\S+)", each)[1] for each in arguments.split(",") if each]
        yield name, f"{result} ({', '.join(kinds)})"


def test_functions_have_the_types_that_generated_code_declares(tmp_path):
    native_library.library(native_library.level())  # makes the header
    sources = [path for path in native_library.sources() if path.suffix == ".cc"]
    with concurrent.futures.ThreadPoolExecutor() as pool:
        found = {
            name: types for ir in pool.map(lambda path: ir_of(path, tmp_path), sources) for name, types in defined(ir)
        }
    wrong = {
        name: (types, found.get(name, "is not there"))
        for name, types in signatures().items()
        if found.get(name) != re.sub(TOLD, "", types)
    }
    assert wrong == {}
    assert not [types for types in found.values() if "i1," in types or "i1)" in types]  # LLVM does not extend them
