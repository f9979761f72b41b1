"""How the agent starts: the command for the shell of a host, and the program that goes over stdin then.

Nothing is installed for it. The shell finds a Python, which reads its own program: the sources of the agent's modules.
"""

from __future__ import annotations

import json
import shlex
from functools import cache
from importlib.resources import files
from typing import Any

MAGIC = b"\0GPU-REPRO\n"  # the agent's first word, after whatever start-up files print
SENT = (
    "run.frames",
    "run.gpu_lock",
    "run.supervisor",
    "run.supervisor_process",
    "host.environment.disk_room",
    "host.environment.package_index",
    "host.environment.supplies",
    "host.environment.remote_env",
    "host.connection.run_folders",
    "host.connection.agent",
)  # in the order in which they need one another

# The command for the shell there: find a Python, and let it read its program. Data never goes this way.
READ = (
    'import sys; o = sys.stdout.buffer; o.write(b"\\0GPU-REPRO\\n"); o.flush(); '
    "i = sys.stdin.buffer; exec(i.read(int(i.readline())))"
)
# One line without `!`, so that csh and fish take it too.
_FIND = " ".join(
    (
        'for p in python3 /usr/bin/python3 "$HOME"/.local/share/uv/python/*/bin/python3 python3.12 python3.11;',
        'do p=$("$p" -I -c "import sys; sys.version_info >= (3, 8) and print(sys.executable)" 2>/dev/null);',
        'if [ -n "$p" ]; then exec "$p" -I -u -c "$0"; fi; done;',
        'for u in uv "$HOME/.local/bin/uv" "$HOME/.cargo/bin/uv";',
        'do if p=$("$u" python find --no-project 2>/dev/null); then exec "$p" -I -u -c "$0"; fi; done;',
        'echo "there is no Python 3.8 or newer" >&2; exit 127',
    )
)
BOOT = f"exec sh -c {shlex.quote(_FIND)} {shlex.quote(READ)}"

_LOAD = """\
import json, sys, types
bundle = json.loads({bundle!r})
for name in ("harness", "harness.run", "harness.host", "harness.host.connection", "harness.host.environment"):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = []
for name, source in bundle["sources"]:
    folder, _, name = name.rpartition(".")
    module = sys.modules["harness." + folder + "." + name] = types.ModuleType("harness." + folder + "." + name)
    setattr(sys.modules["harness." + folder], name, module)
    exec(compile(source, "<gpu-repro " + name + ">", "exec"), module.__dict__)
sys.modules["harness.host.connection.agent"].main(bundle["hello"])
"""


@cache
def sources() -> list[tuple[str, str]]:
    return [(name, files("harness").joinpath(name.replace(".", "/") + ".py").read_text()) for name in SENT]


def program(hello: dict[str, Any]) -> bytes:
    source = _LOAD.format(bundle=json.dumps({"sources": sources(), "hello": hello})).encode()
    return str(len(source)).encode() + b"\n" + source
