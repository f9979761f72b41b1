"""Runs one case of a repro in this process and writes what came of it as one frame.

It runs next to the repro: standard library and numpy, and `dsl.alias` by name, which makes `import cutlass` ours.
The header of the frame holds `outcome` and what belongs to it:

    outputs     outputs, expected, preds: lists of {name, dtype, shape}, whose bytes are the buffers, in that order;
                depends: output -> the instructions on whose open results it depends, null where nobody looked;
                decisions: the places in which kernels decided by such results;
                count, others, uncounted: how often run() gave these, and what else it gave (see repeat.py)
    rejected, trap, deadlock, fault    whatever is in the exception's `repro_outcome` (exception_protocol)
    exited      of a script: exit, its status; found, and what belongs to it: what ended or failed it, if anything did
    error       text: what the author reads;  full_text: the same with the frames inside the compiler
    infra       text: the repro could not be run at all
    begun       of a frame before that one: the device and the compiler, known also of a repro that does not come back

and always `facts` (kernels, device, compiler; see dsl.alias), `perturbed` (the delays of this run; None without any),
`orders` (what other orders of its threads gave; None where none was asked for), `versions` and `durations`.
"""

from __future__ import annotations

import contextlib
import dataclasses
import faulthandler
import gc
import importlib
import importlib.util
import inspect
import linecache
import os
import random
import re
import signal
import sys
import time
import traceback
import weakref
from collections.abc import Callable
from types import ModuleType
from typing import Any, NoReturn, cast

import numpy as np
import numpy.random  # here, and so before the fork: each job seeds it

from harness.run import environment, executed, frames, repeat, script
from harness.run.exception_protocol import is_missing, outcome_of
from harness.run.languages import cuda_kernels, cuda_program, numba_program, ptx_kernel

_OWN_FOLDERS = tuple(
    os.path.dirname(os.path.abspath(spec.origin)) + os.sep
    for spec in (importlib.util.find_spec("harness"), importlib.util.find_spec("dsl"))
    if spec and spec.origin
)
KEPT_TEXT = 256 << 10  # characters of an error's text
_RAW_VIEWS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


class Refused(Exception):
    """The repro broke a rule of the harness; the text is for its author, `finding` the same as data."""

    finding: dict[str, Any] | None = None


class TimeIsOver(KeyboardInterrupt):
    """The supervisor asks where the repro is; the emulator notes where the warps of its kernel are."""


class Unavailable(Exception):
    """The compiler is not here; nothing is known about the claim."""


def warm(modules: list[str], compiler: str, device: str) -> None:
    """Import what is slow to import, before a fork. A failed import is left for the repro to report; so are the
    packages `cuda`: at their import they look for the driver of the device.

    Our compiler is imported on the emulator whatever the repro's device is: a process that touched CUDA cannot fork.
    NVIDIA's compiler is imported for the emulator or not at all.
    """
    before = len(sys.modules)
    gc.disable()  # it would look through what is imported again and again: a third of the time of importing torch
    try:
        _warm_up(modules, compiler, device)
    finally:
        gc.enable()
        if len(sys.modules) > before:
            gc.freeze()  # what is imported stays, and forks share its memory for longer
            for each in list(weakref.finalize._registry):  # pyright: ignore[reportAttributeAccessIssue] - as atexit does
                each.atexit = False  # in each fork torch would take its operators apart, for 50 ms


def _warm_up(modules: list[str], compiler: str, device: str) -> None:
    if "torch" in modules:
        _import("torch")
        if "torch" in sys.modules:
            sys.modules["torch"].set_num_threads(1)  # an OpenMP pool does not survive a fork
    new = [name for name in _compilers(modules) if name not in _warm]
    if new and compiler == "nvidia":
        if device != "cuda":
            try:
                importlib.import_module("dsl.alias").warm(compiler)
            except Exception:
                return
            _warm.update(new)
    elif new:
        try:
            install_alias("emulator")
            sys.modules["dsl.alias"].warm()
        except Exception:
            return
        for name in new:
            _import(name)
        _warm.update(new)
        sys.modules["dsl.alias"].uninstall()  # its modules stay imported; each job chooses its own device


_WENT_ON = "repro: a kernel failed, and the program went on (exit status 1 for 0)"
_warm: set[str] = set()
# If a fork has these already, a program could leave out the line that imports them.
_IMPORTS, _DOTTED = re.compile(r"(?m)^\s*import\s.*"), re.compile(r"\btorch(?:\.\w+)+")


def warm_as(used: Any) -> None:
    """Import and compile what the package `dsl` needed for the last job, before the next fork."""
    before = len(sys.modules)
    try:
        sys.modules["dsl.alias"].warm_as(used)
    except Exception:
        return  # then each job does it for itself
    if len(sys.modules) > before:
        gc.freeze()


def _import(name: str) -> None:
    if name not in sys.modules:
        try:
            importlib.import_module(name)
        except Exception:
            pass  # the repro that imports it meets the same error, and reports it


def _compilers(modules: list[str]) -> list[str]:
    return [name for name in modules if name not in ("torch", "cuda", "numba")]


def install_alias(device: str, compiler: str = "ours") -> Any:
    """Make `import cutlass` this compiler's on this device and return the session. Raises Unavailable."""
    try:
        alias = importlib.import_module("dsl.alias")
    except ModuleNotFoundError as error:
        if error.name not in ("dsl", "dsl.alias"):
            raise
        raise Unavailable("the package `dsl`, which compiles the repro, is not installed: uv add gpu-repro") from None
    try:
        return alias.install(device, compiler) if compiler == "nvidia" else alias.install(device)
    except Exception as error:
        if type(error).__name__ in ("DeviceMissing", "CompilerMissing"):
            raise Unavailable(str(error)) from None
        raise


def run_job(job: dict[str, Any], result_fd: int, fault_fd: int) -> NoReturn:
    """Run the job, write its frame to `result_fd` and end the process. A crash or a hang is reported on `fault_fd`."""
    faulthandler.enable(fault_fd)
    faulthandler.register(frames.DUMP_SIGNAL, fault_fd, chain=False)
    signal.signal(frames.STOP_SIGNAL, _time_is_over)
    try:
        with executed.record(job["path"]) if job["lines"] else contextlib.nullcontext(set()) as ran:
            header, buffers = _run(job, result_fd)
    except TimeIsOver as stop:
        os.write(fault_fd, _where(stop).encode("utf-8", "replace"))
        signal.signal(frames.STOP_SIGNAL, signal.SIG_DFL)
        os.kill(os.getpid(), frames.STOP_SIGNAL)  # it may be the repro's own, and then this is how it ended
        os._exit(frames.FAILED)
    header["lines"] = sorted(ran)
    signal.signal(frames.STOP_SIGNAL, signal.SIG_IGN)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            pass
    frames.write_frame(result_fd, header, cast(Any, buffers))  # arrays are buffers
    os._exit(0)


def _time_is_over(*_: Any) -> NoReturn:
    raise TimeIsOver


def _where(stop: BaseException) -> str:
    """The place of the repro: its kernel, then the author's frames, innermost first, as faulthandler prints them."""
    rows = [
        f'  File "{one.filename}", line {one.lineno} in {one.name}'
        for one in reversed(traceback.extract_tb(stop.__traceback__))
        if not _is_ours(one.filename)
    ]
    return "\n".join([*getattr(stop, "__notes__", ()), "(most recent call first):", *rows]) + "\n"


def _run(job: dict[str, Any], result_fd: int) -> tuple[dict[str, Any], list[np.ndarray]]:
    header: dict[str, Any] = {"outcome": "outputs", "facts": None, "durations": {}}
    buffers: list[np.ndarray] = []
    session = exploration = None
    program = job["source"]
    started = time.monotonic()
    try:
        if job["gpu_model"]:
            os.environ["GPU_REPRO_GPU_MODEL"] = job["gpu_model"]  # for processes that the repro starts, too
            os.environ["DSL_GPU_MODEL"] = job["gpu_model"]  # for commits of this compiler before 0.2, in a bisection
        helper = _numba_helper(job) if numba_program.uses(job) else None
        if _compilers(job["warm"]):
            session = install_alias(job["device"], job["compiler"])
        elif "cuda" in job["warm"] or (job["warm"] and job["device"] != "cuda"):
            session = install_alias(job["device"])  # no compiler's program, but the device is ours
        if session is not None:
            session.elsewhere = helper and helper.failure
            frames.write_frame(result_fd, {"outcome": "begun", "facts": session.facts()})
        if job["seed"] or not job["script"]:
            _seed(job["seed"])
        if session is not None:
            session.schedule(job["seed"])
            session.look_for(job["checks"])
            _order(session, job)
            if job["notes"]:
                _seek_redundancy(session)
            if job["perturb"]:
                _perturb(session, job["perturb"])
            exploration = session.explore(job["bound"]) if job["bound"] else None
            session.follow_open_results()
            if job["coverage"]:
                os.environ["GPU_REPRO_CACHE"] = "0"  # code with notes is of this process alone
                program = session.cover(job["source"], job["path"])
            if job["script"]:
                session.warn_of_host_memory()
                session.announce(lambda sentence: print(f"repro: {sentence}", file=sys.stderr, flush=True))
            else:
                session.refuse_host_memory()
        if job["fill"] is not None:
            repeat.fill_new_memory(job["fill"])
        if job["bound"] and session is None:
            raise Refused("it launches no kernel: it imports neither a compiler nor cuda.bindings")
        if job["path"].endswith(cuda_program.SUFFIX):
            header |= _run_program(job, session)
        elif job["script"]:
            job["program"] = program
            header |= _in_every_order(job, session) if job["orders_s"] and session else _run_script(job, session)
            if exploration is not None:
                header["explored"] = repeat.explored(exploration, [])
            header["durations"]["call_s"] = round(time.monotonic() - started, 4)
        else:
            module = _load(job["path"], job["source"], program) if job["launch"] is None else ptx_kernel.module(job)
            if job["kernels"] is not None:
                cuda_kernels.give(module, job, session)
            header["durations"]["load_s"] = round(time.monotonic() - started, 4)
            if exploration is not None:
                header |= _explored(module, job, exploration, buffers)
            else:
                _run_case(module, job, session, header, buffers)
    except Refused as error:
        header |= {"outcome": "error", "text": str(error), "finding": error.finding}
    except Unavailable as error:
        header |= {"outcome": "infra", "text": str(error)}
    except BaseException as error:
        cause = error if session is None else session.cause(error)
        if isinstance(cause, TimeIsOver):
            raise cause from None
        header |= _outcome_of(cause, job)
    if header["outcome"] != "outputs":
        buffers.clear()
    header["seed"] = job["seed"]
    if session is not None:
        header |= _facts(session, job["sass"])
        header["perturbed"] = session.perturbed()
        header["coverage"] = session.covered() if job["coverage"] else {}
    names = ("numpy", "torch", "triton")
    header["versions"] = {
        n: str(sys.modules[n].__version__) for n in names if hasattr(sys.modules.get(n), "__version__")
    }
    header["versions"]["python"] = sys.version.split()[0]
    if job["device"] != "cuda" and "dsl.alias" in sys.modules:
        header["used"] = sys.modules["dsl.alias"].used(_DOTTED.findall("".join(_IMPORTS.findall(job["source"]))))
    return header, buffers


def _order(session: Any, job: dict[str, Any]) -> None:
    """Let its threads run as the job asks. Raises Unavailable for a schedule that cannot be read or followed."""
    try:
        if job["schedule"]:
            session.follow(job["schedule"])
        if job["orders_s"]:
            session.note_orders()
    except ValueError as error:
        raise Unavailable(str(error)) from None


def _seek_redundancy(session: Any) -> None:
    """Find synchronisation that the run does not need. Raises Unavailable on a GPU."""
    try:
        session.seek_redundancy()
    except ValueError as error:
        raise Unavailable(str(error)) from None


def _perturb(session: Any, delays: str) -> None:
    """Delay the kernels of this run. Raises Unavailable for a list that cannot be read."""
    try:
        session.perturb(delays)
    except ValueError as error:
        raise Unavailable(str(error)) from None


def _run_case(
    module: ModuleType, job: dict[str, Any], session: Any, header: dict[str, Any], buffers: list[np.ndarray]
) -> None:
    """Call what the module claims, and write the outcome into the header."""
    schedule = session.schedule if session is not None else lambda seed: None
    try:
        returned = _call(module, job, header, buffers, schedule)
    except Exception:
        _let_handlers_run()
        raise
    if session is not None:
        session.check()
        session.report_redundancy()
        if job["orders_s"]:
            _in_other_orders(module, job, session, header, buffers)
        header["decisions"] = session.open_decisions()
        header["depends"] = {name: session.open_results(*_place(value)) for name, value in returned.items()}


def _in_other_orders(
    module: ModuleType, job: dict[str, Any], session: Any, header: dict[str, Any], buffers: list[np.ndarray]
) -> None:
    """Run the case in other orders of its threads. A finding of one of them is raised here; its outputs, if they are
    others, become the outputs of another run."""
    varies = job["runs"] > 1 or job["fill"] is not None
    open_ones = [i for i, one in enumerate(header["outputs"]) if varies or one["name"] in (*job["near"], *job["preds"])]

    def run() -> tuple[dict[str, Any], list[dict[str, Any]], list[np.ndarray]]:
        _seed(job["seed"])
        mine: list[np.ndarray] = []
        returned = module.run(**job["params"])
        described = _arrays(module.run, returned, mine, job["limit_bytes"])
        session.check()
        return returned, described, mine

    def call() -> bytes:
        _, described, mine = run()
        return repeat.answer_key(described, mine, open_ones)

    def kind(error: BaseException) -> str:
        return repr([_outcome_of(session.cause(error), job).get(name) for name in ("outcome", "kind")])

    first = repeat.answer_key(header["outputs"], buffers[: len(header["outputs"])], open_ones)
    found = session.other_orders(call, first, kind, job["orders_s"], job["seed"] * repeat.SEEDS + 1)
    header["orders"] = dataclasses.asdict(found)
    if found.schedule:
        session.follow(found.schedule)
        returned, described, mine = run()
        preds = repeat.judged(module, job["preds"], returned, described, mine)
        buffers += [array.copy() for array in mine]
        header["others"] = [{"count": 1, "outputs": described, "preds": preds}]


def _explored(module: ModuleType, job: dict[str, Any], exploration: Any, buffers: list[np.ndarray]) -> dict[str, Any]:
    """All outcomes that the memory model allows: with executions, or as outputs of several runs. Raises Refused."""

    def run() -> dict[str, Any]:
        return _checked_run(module, job)

    if not job["as_outputs"]:
        return {"outcome": "explored", "explored": repeat.for_each_outcome(run, exploration)}
    found = repeat.as_runs(
        run, exploration, buffers, lambda returned, mine: _arrays(module.run, returned, mine, job["limit_bytes"])
    )
    if not exploration.is_complete:
        raise Refused(
            f"the memory model gives `allowed`, and not all outcomes are found in {job['bound']} visits of each "
            "instruction\nfix: shorten its loops, or write the values: `allowed = { out = [[0, 1], [1, 0]] }`"
        )
    return found


def _checked_run(module: ModuleType, job: dict[str, Any]) -> dict[str, Any]:
    """The answer of run(), of the same random numbers each time. Raises Refused if it is not a dict of arrays."""
    _seed(job["seed"])
    returned = module.run(**job["params"])
    _arrays(module.run, returned, [], job["limit_bytes"])
    return returned


def _in_every_order(job: dict[str, Any], session: Any) -> dict[str, Any]:
    """Run a script, and tell whether its order of threads speaks for all; that may take a second run, which prints
    nothing."""

    def again() -> bool:
        return _run_script(job, session) == mine

    mine = {"outcome": "exited", "exit": 0, "found": None}
    standby = session.standby(again)
    try:
        ran = _run_script(job, session)
        return ran | ({"orders": dataclasses.asdict(standby.holds())} if ran == mine else {})
    finally:
        standby.close()


def _numba_helper(job: dict[str, Any]) -> Any:
    """Let Numba use the emulator. Raises Unavailable for an option that it cannot have."""
    try:
        return numba_program.begin(job)
    except cuda_program.NotForPrograms as error:
        raise Unavailable(str(error)) from None


def _run_program(job: dict[str, Any], session: Any) -> dict[str, Any]:
    """Run a .cu file. Raises Unavailable for an option that it cannot have."""
    try:
        return cuda_program.run(job, session)
    except cuda_program.NotForPrograms as error:
        raise Unavailable(str(error)) from None


def _run_script(job: dict[str, Any], session: Any) -> dict[str, Any]:
    """Run a script. Returns its exit status and why it failed."""
    found: dict[str, Any] = {}

    def check() -> None:
        if session is not None:
            session.check()

    def fail(error: BaseException) -> str:
        cause = error if session is None else session.cause(error)
        if isinstance(cause, TimeIsOver):
            raise cause from None
        if not isinstance(cause, KeyboardInterrupt):
            found.update(_outcome_of(cause, job))
        if session is not None and session.has_printed(cause):
            return _WENT_ON if cause is error else _traceback(error, False)
        trouble = f"\nrepro: {found['text']}" if found.get("outcome") == "infra" else ""
        return (_traceback(cause, False) if trouble or not found else found["text"]) + trouble

    status = script.run(job, check, fail)
    if job["notes"] and session is not None:
        session.report_redundancy()
    unheard = session.swallowed() if session is not None and not found else None
    if session is not None and unheard is not None:
        found.update(_outcome_of(unheard, job))
        if not status:
            status = 1
            text = "" if session.has_printed(unheard) else f":\n{found['text'].rstrip()}"
            print(f"{_WENT_ON}{text}", file=sys.stderr, flush=True)
    kind = found.pop("outcome", None)
    return found | {"outcome": "exited", "exit": status, "found": "error" if kind == "infra" else kind}


def _let_handlers_run() -> None:
    """Be called: Python runs the handlers of signals that have come when a function is. The time may be over, which has
    ended a kernel; the program knows of an error of CUDA."""


def _facts(session: Any, sass: bool) -> dict[str, Any]:
    """Facts of kernels and launches. `no_sass`: why there is no SASS, and whether only a tool is missing."""
    try:
        return {"facts": session.facts(sass=sass)}
    except Exception as error:
        if not sass:
            raise
        missing = is_missing(error)
        return {"facts": session.facts(), "no_sass": {"missing": missing, "text": str(error)}}


def _seed(seed: int) -> None:
    random.seed(seed)
    np.random.seed(seed)
    repeat.once_imported("torch", lambda torch: torch.default_generator.manual_seed(seed))


def _load(path: str, source: str, program: Any) -> ModuleType:
    """Execute the program, text or tree, as a module that is not `__main__`, with its source at hand for inspect."""
    name = "repro_" + os.path.splitext(os.path.basename(path))[0]
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    sys.path.insert(0, os.path.dirname(path))
    sys.argv = [path]
    sys.dont_write_bytecode = True
    script.remember(path, source)
    exec(compile(program, path, "exec", dont_inherit=True), module.__dict__)
    return module


def _call(
    module: ModuleType,
    job: dict[str, Any],
    header: dict[str, Any],
    buffers: list[np.ndarray],
    schedule: Callable[[int], None],
) -> dict[str, Any]:
    """Call run() and expected(), and describe what they gave; returns what run() returned first."""
    started = time.monotonic()
    returned = module.run(**job["params"])
    header["durations"]["call_s"] = round(time.monotonic() - started, 4)
    header["outputs"] = _arrays(module.run, returned, buffers, job["limit_bytes"])
    header["expected"] = []
    if hasattr(module, "expected"):
        header["expected"] = _arrays(module.expected, module.expected(**job["params"]), buffers, job["limit_bytes"])
    header["preds"] = repeat.judged(module, job["preds"], returned, header["outputs"], buffers)
    if job["runs"] > 1:
        first = (returned, header["outputs"], buffers[: len(header["outputs"])])
        header |= repeat.others(module, job, first, buffers, _arrays, schedule)
    return returned


def _place(value: Any) -> tuple[int | None, int]:
    """The address of an array's first byte and how far it reaches; None for a number, which is in no array."""
    if hasattr(value, "untyped_storage"):
        address, item_bytes = value.data_ptr(), value.element_size()
        strides = [stride * item_bytes for stride in value.stride()]
    elif isinstance(value, np.ndarray):
        address, item_bytes, strides = value.ctypes.data, value.itemsize, value.strides
    else:
        return None, 0
    steps = [(size - 1) * stride for size, stride in zip(value.shape, strides, strict=True)]
    low, high = (sum(f(step, 0) for step in steps) for f in (min, max))
    return address + low, high - low + item_bytes


def _arrays(function: Any, returned: Any, buffers: list[np.ndarray], limit_bytes: int) -> list[dict[str, Any]]:
    """Append the raw bytes of each array to `buffers` and describe them. Raises Refused."""
    if not isinstance(returned, dict):
        raise _refusal(function, f"returned {_a(returned)}")
    if not returned:
        raise _refusal(function, "returned an empty dict: there is nothing to judge")
    described = []
    for key, value in returned.items():
        if not isinstance(key, str) or not key:
            raise _refusal(function, f"returned the name {key!r}, which is not a string")
        try:
            dtype, raw = _raw(value)
        except Refused as error:
            raise _refusal(function, f"returned {error} for {key!r}") from None
        buffers.append(raw)
        described.append({"name": key, "dtype": dtype, "shape": list(raw.shape)})
        total = sum(buffer.nbytes for buffer in buffers)
        if total > limit_bytes:
            raise _refusal(function, f"returned {total} bytes, and the limit is {limit_bytes}")
    return described


def _refusal(function: Any, message: str) -> Refused:
    """The error for a result of run() or expected() that cannot be judged: the place, the author's line, the fix."""
    name, code = function.__name__, getattr(inspect.unwrap(function), "__code__", None)
    fix = f'return a dict of name to torch tensor or numpy array from {name}(), e.g. `return {{"out": out}}`'
    if code is None:
        return Refused(f"{name}() {message}\nfix: {fix}")
    path, line = os.path.relpath(code.co_filename), linecache.getline(code.co_filename, code.co_firstlineno).strip()
    place = path if not path.startswith("..") else code.co_filename
    carets = " " * max(line.find(name), 0) + "^" * len(name)
    refused = Refused(f"{place}:{code.co_firstlineno}: BAD_RETURN\n    {line}\n    {carets} {message}\nfix: {fix}")
    about = {"id": "BAD_RETURN", "message": message, "fix": fix}
    refused.finding = about | {"file": place, "line": code.co_firstlineno}
    return refused


def _raw(value: Any) -> tuple[str, np.ndarray]:
    """The dtype's name and the elements as unsigned integers of its width, C-contiguous. Raises Refused."""
    if type(value).__module__.partition(".")[0] == "torch" and hasattr(value, "detach"):
        torch = sys.modules["torch"]
        if value.layout != torch.strided or value.is_complex() or value.is_quantized:
            raise Refused(f"a {value.layout} tensor of {value.dtype}")
        tensor = value.detach().cpu().contiguous()
        flat = tensor.reshape(-1).view(torch.uint8).numpy()
        view = flat.view(_RAW_VIEWS[tensor.element_size()]).reshape(tuple(tensor.shape))
        return str(tensor.dtype).removeprefix("torch."), view
    if isinstance(value, np.ndarray | np.generic):
        array = np.asarray(value)
        registered = array.dtype.kind == "V" and array.dtype.isbuiltin == 2  # bfloat16 and the like of ml_dtypes
        if array.dtype.itemsize not in _RAW_VIEWS or not (registered or array.dtype.kind in "biuf"):
            raise Refused(f"an array of {array.dtype}")
        if array.dtype.byteorder == ">":
            array = array.astype(array.dtype.newbyteorder("<"))
        array = np.ascontiguousarray(array).reshape(array.shape)
        return array.dtype.name, array.view(_RAW_VIEWS[array.dtype.itemsize])
    raise Refused(_a(value))


def _a(value: Any) -> str:
    if value is None:
        return "None"
    name = type(value).__name__
    return f"{'an' if name[:1] in 'aeiou' else 'a'} {name}"


def _outcome_of(error: BaseException, job: dict[str, Any]) -> dict[str, Any]:
    """The outcome that an exception out of the repro means."""
    why = environment.trouble(error, job["path"], job["needs"], job["device"] == "cuda")
    if why:
        return {"outcome": "infra", "text": why, "full_text": _traceback(error, True)[-KEPT_TEXT:]}
    outcome = outcome_of(error)
    if outcome is not None:
        return dict(outcome) | {"text": str(outcome.get("text") or "")[:KEPT_TEXT]}
    if isinstance(error, SystemExit):
        return {"outcome": "error", "text": f"the repro called sys.exit({error.code!r})\n" + _traceback(error, False)}
    text, full_text = _traceback(error, False)[-KEPT_TEXT:], _traceback(error, True)[-KEPT_TEXT:]
    frames = traceback.extract_tb(error.__traceback__)
    if (
        not hasattr(error, "is_authors")
        and frames
        and os.sep + "dsl" + os.sep in frames[-1].filename
        and _is_ours(frames[-1].filename)
    ):
        text += "(raised inside the compiler: --full-traceback shows where)\n"
    return {"outcome": "error", "text": text, "full_text": full_text if full_text != text else None}


def _traceback(error: BaseException, full: bool) -> str:
    """The traceback as Python prints it; without frames of ours, and of the import system, unless `full`."""
    described = traceback.TracebackException.from_exception(error)
    if not full:
        seen: list[traceback.TracebackException] = []
        todo = [described]
        while todo:
            one = todo.pop()
            if one is None or any(one is other for other in seen):
                continue
            seen.append(one)
            one.stack = traceback.StackSummary.from_list([f for f in one.stack if not _is_ours(f.filename)])
            todo += [one.__cause__, one.__context__]
    return "".join(described.format())


def _is_ours(filename: str) -> bool:
    return filename.startswith(_OWN_FOLDERS) or filename.startswith("<frozen importlib")


def main() -> NoReturn:
    """Read the job from the first file descriptor named, and run it. Runs in a new interpreter."""
    try:
        job_fd, result_fd, fault_fd = map(int, sys.argv[1:4])
        frame = frames.read_frame(frames.read_exactly(job_fd), limit_bytes=0)
        os.close(job_fd)
        for fd in (result_fd, fault_fd):
            os.set_inheritable(fd, False)
        assert frame is not None
        run_job(frame[0], result_fd, fault_fd)
    except BaseException:
        traceback.print_exc()
        os._exit(frames.FAILED)


if __name__ == "__main__":
    from harness.run import runner  # one copy of this module, under its own name

    runner.main()
