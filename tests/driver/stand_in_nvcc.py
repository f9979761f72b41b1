"""Stands in for nvcc: notes what it is given, and makes a script of the comments in a CUDA C++ file.

Each `//$ ` line of the file becomes a line of the program. A line that has `wrong` is refused with nvcc's words.
"""

import json
import os
import sys
from pathlib import Path

PTX = ".visible .entry first() { ret; }\n.visible .entry second() { ret; }\n.visible .entry first() { ret; }\n"


def main(arguments: list[str]) -> int:
    file = Path(arguments[-1])
    texts = {str(one.relative_to(file.parent)): one.read_text() for one in file.parent.rglob("*") if one.is_file()}
    with open(Path(sys.argv[0]).with_name("calls"), "a") as calls:
        calls.write(json.dumps({"arguments": arguments, "texts": texts, "folder": os.getcwd()}) + "\n")
    lines = texts[file.name].split("\n")[1:]  # after #line
    for number, line in enumerate(lines, 1):
        if "wrong" in line:
            print(f"{file}({number}): error: it is wrong\n  {line}\n  ^", file=sys.stderr)
            return 1
    program = Path(arguments[arguments.index("-o") + 1])
    program.write_text("\n".join(["#!/bin/sh", *(line[4:] for line in lines if line.startswith("//$ "))]))
    Path(arguments[arguments.index("--keep-dir") + 1], "kernels.ptx").write_text(PTX)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
