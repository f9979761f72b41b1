"""As much of IPython's shell as an extension sees, and the cells of docs/notebooks.md run in it, one after another.

python tests/notebook_shell.py FILE      cells, separated by lines `#---`; before what each printed, `=== N`
"""

import ast
import codeop
import linecache
import re
import sys
import types

from dsl import notebook

PYTHONS_EXEC = exec


class UsageError(Exception):
    pass


class Compiler(codeop.Compile):
    """IPython.core.compilerop.CachingCompiler, as far as magics and cells use it."""

    def ast_parse(self, source, filename="<unknown>", symbol="exec"):
        return compile(source, filename, symbol, self.flags | ast.PyCF_ONLY_AST, True)

    def cache(self, transformed_code, number=0, raw_code=None):
        name = f"<ipython-input-{number}>"
        linecache.cache[name] = (len(transformed_code), None, transformed_code.splitlines(keepends=True), name)
        return name


class Shell:
    """Cells and the magics %load_ext, %%time and those that are registered."""

    def __init__(self):
        self.compile, self.events, self.magics = Compiler(), self, {}
        self.callbacks = {"pre_execute": [], "pre_run_cell": [], "post_execute": []}
        self.names = {"__name__": "__main__"}

    def register(self, event, function):
        self.callbacks[event].append(function)

    def trigger(self, event, *arguments):
        for function in list(self.callbacks[event]):
            function(*arguments)

    def register_magic_function(self, function, kind, name):
        assert kind == "line"
        self.magics[name] = function

    def run_cell(self, text, number):
        name = self.compile.cache(text, number, text)
        self.trigger("pre_execute")
        self.trigger("pre_run_cell", None)
        try:
            if text.startswith("%load_ext dsl.notebook"):
                notebook.load_ipython_extension(self)
            elif text.startswith("%%time"):
                tree = self.compile.ast_parse(text.partition("\n")[2])
                exec(self.compile(tree, "<timed exec>", "exec"), self.names)
            elif text.startswith("%"):
                magic, _, line = text[1:].strip().partition(" ")
                self.magics[magic](line)
            else:
                exec(self.compile(self.compile.ast_parse(text, name), name, "exec"), self.names)
        except Exception as error:
            print(f"{type(error).__name__}: {error}")
        finally:
            self.trigger("post_execute")
        assert exec is PYTHONS_EXEC, "between cells"


def main(file):
    usage = types.ModuleType("IPython.core.error")
    usage.UsageError = UsageError
    sys.modules.setdefault("IPython.core.error", usage)
    shell = Shell()
    for number, text in enumerate(re.split(r"(?m)^#---\n", open(file).read()), 1):
        print(f"=== {number}", flush=True)
        shell.run_cell(text, number)
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1])
