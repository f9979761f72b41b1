"""Kernels, operands and predictions of every instruction form, for a capsule; or forms that a GPU contradicted.

python -m dsl.forms FOLDER                  write forms.json and files of bytes
python -m dsl.forms --failing FILE ...      run files of validation/failing: 0 all agree with the GPU by now, 1 not
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from dsl.forms import failing, predict, table


def main(argv: list[str] | None = None) -> int:
    """Write the forms, or run failing ones; the exit status: 2 is wrong usage."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser("python -m dsl.forms", description=__doc__, formatter_class=raw)
    parser.add_argument("folder", type=Path, nargs="?", metavar="FOLDER", help="where to write")
    parser.add_argument("--only", type=Path, metavar="FILE", help="only forms that this file names, a line each")
    parser.add_argument("--list", action="store_true", help="print the names of all forms")
    parser.add_argument(
        "--failing", type=Path, nargs="+", metavar="FILE", help="files of forms that a GPU contradicted"
    )
    options = parser.parse_args(argv)
    if sum(map(bool, (options.folder, options.failing, options.list))) != 1:
        parser.error("name a folder to write to, or files after --failing, or give --list")
    if options.list:
        print(*(form.name for form in table.forms()), sep="\n")
        return 0
    if options.failing:
        lines = [failing.report(json.loads(path.read_text()), path) for path in options.failing]
        print("\n".join(filter(None, lines)) or "all agree")
        return int(any(lines))
    only = options.only.read_text().splitlines() if options.only else None
    forms = [form for form in table.forms() if only is None or form.name in only]
    predict.write(forms, options.folder, lambda line: print(line, flush=True))
    return 0


if __name__ == "__main__":
    sys.exit(main())
