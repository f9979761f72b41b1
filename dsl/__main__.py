"""python -m dsl FILE: run a CuTe DSL, Quadrants, TIRx or Triton program, or CUDA C++, on the emulator or a GPU."""

from __future__ import annotations

import argparse
import ast
import difflib
import errno
import functools
import importlib.util
import inspect
import itertools
import linecache
import os
import signal
import sys
import traceback
import types
import warnings
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dsl import environment_variables as variables, native_library, repro_block
from dsl.span import source_lines

if TYPE_CHECKING:
    from dsl.launch.session import Session

EXAMPLES = """\
examples:
  python -m dsl repros/cp_async/zfill_pred_false.py   run it; a file that only defines run() has run() called
  python -m dsl repros/shuffle/shuffle_idx_width.py -p width=8
  python -m dsl --show ptx kernel.py                  and print the PTX of every kernel it launched
  python -m dsl --check none kernel.py                without looking for races and reads of memory that nobody wrote
  python -m dsl --timeout 10 kernel.py                stop a kernel that hangs, and see where its warps are
  python -m dsl program.cu 1024                       CUDA C++, compiled by nvcc
  python -m dsl - < kernel.py                         a program from standard input
  python -m dsl -m package.module                     a module of a package, as python -m runs it
  python -m dsl -i                                    a prompt that keeps the source of what is typed
  python -m dsl reductions                            edits that make programs smaller, as JSON lines
"""
CUDA_SUFFIX = ".cu"
STAGES = ("mlir", "cuda", "llvm", "ptx", "sass")
# What NVIDIA's compiler does not take, by what is imported.
LANGUAGES = {"quadrants": "Quadrants", "tvm": "TIRx", "tvm_tirx": "TIRx"}


NO_OUTPUT = (errno.EPIPE, errno.ENOSPC, errno.EDQUOT)
CANNOT_PRINT, CLOSED = 3, 141  # a full disk; a reader that is gone: what a shell reports after SIGPIPE


def main(arguments: list[str] | None = None) -> int:
    """Run the command; its exit status. A full disk is named, a closed pipe ends it silently."""
    try:
        try:
            return _main(arguments)
        finally:
            if sys.stdout and sys.stdout is sys.__stdout__ and not sys.stdout.closed:  # not the program's own
                _print(end="")
    except OutputFailed as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.__stdout__.fileno())  # Python's end would try it again
        if isinstance(error.__cause__, BrokenPipeError):
            return CLOSED
        print(f"dsl: {error}", file=sys.stderr)
        return CANNOT_PRINT


class OutputFailed(Exception):
    """Standard output takes nothing more; the cause is the OSError."""


def _print(*lines: object, end: str = "\n") -> None:
    """Print it and all before it. Raises OutputFailed."""
    try:
        print(*lines, sep="\n", end=end, flush=True)
    except OSError as error:
        raise OutputFailed(f"standard output: {error.strerror or error}") from error


def _main(arguments: list[str] | None) -> int:
    if (sys.argv[1:] if arguments is None else arguments) == ["reductions"]:
        from dsl.reduction import answers  # noqa: PLC0415

        return answers.main()
    parser = _parser()
    options, rest = parser.parse_known_args(arguments)
    if unknown := _unknown_option(sys.argv[1:] if arguments is None else arguments, options, rest):
        alike = difflib.get_close_matches(unknown.partition("=")[0], parser._option_string_actions, 1, 0.7)
        parser.error(f"there is no option {unknown}" + (f"; did you mean `{alike[0]}`?" if alike else ""))
    if rest[:1] == ["--"]:
        rest = rest[1:]
    if options.module:
        rest = [options.file, *rest] if options.file else rest
        options.file = None
    if not options.file and not options.module and not options.prompt:
        print("dsl: give a FILE, - for standard input, -m MODULE, or -i for a prompt (see --help)", file=sys.stderr)
        return 2
    try:
        here = os.getcwd()
    except FileNotFoundError:
        print("dsl: the working directory is gone\nfix: `cd` to one that is there", file=sys.stderr)
        return 2
    sys.path.insert(0, os.path.dirname(os.path.abspath(options.file)) if options.file not in (None, "-") else here)
    try:
        file, source, spec = _program(options)
    except (OSError, ImportError, SyntaxError, UnicodeDecodeError) as error:
        print(
            f"dsl: cannot read {options.module or options.file}: {getattr(error, 'strerror', None) or error}",
            file=sys.stderr,
        )
        return 2
    if refusal := _of_repro_run(file, source, options):
        print(f"dsl: {refusal}", file=sys.stderr)
        return 2
    linecache.cache[file] = (len(source), None, source_lines(source), file)
    sys.argv = [options.file or (spec.origin if spec else ""), *rest]
    return _run(file, source, spec, options)


def _unknown_option(given: list[str], options: argparse.Namespace, rest: list[str]) -> str | None:
    """The first option that is none of ours, before the program's name; those after it are the program's own."""
    ends = (options.module, f"-m{options.module}") if options.module else (options.file,)
    ours = itertools.takewhile(lambda word: word not in ends, given)
    return next((word for word in ours if word in rest and word.startswith("-") and word not in ("-", "--")), None)


def _of_repro_run(file: str, source: str, options: argparse.Namespace) -> str:
    """The command for a program that only `repro run` can run on the emulator; '' for any other."""
    if file.endswith(".ptx"):
        return f"{file} is not Python\nfix: repro run {file}"
    if file.endswith(CUDA_SUFFIX):
        from dsl.driver import cuda_file  # noqa: PLC0415

        return cuda_file.refusal(file, options)
    if options.device != "cuda" and "numba" in source and "numba" in _imported(source):
        return f"{file} imports Numba, whose kernels run in another process\nfix: repro run {file}"
    return ""


def _standard_input() -> str:
    """The text that is piped in, decoded as UTF-8 or as the coding that it names, whatever the locale is."""
    stream = getattr(sys.stdin, "buffer", None)
    return importlib.util.decode_source(stream.read()) if stream else sys.stdin.read() if sys.stdin else ""


def _program(options: argparse.Namespace) -> tuple[str, str, ModuleSpec | None]:
    """Name and text of the program, and of a module its spec.
    Raises OSError, ImportError; SyntaxError, UnicodeDecodeError."""
    if not options.module:
        if options.file in (None, "-"):
            return ("<stdin>", _standard_input(), None) if options.file else ("<prompt>", "", None)
        with open(options.file, "rb") as stream:
            return options.file, importlib.util.decode_source(stream.read()), None  # PEP 263
    spec = importlib.util.find_spec(options.module)
    if spec is not None and spec.submodule_search_locations is not None:
        spec = importlib.util.find_spec(options.module + ".__main__")
    get_source = getattr(spec.loader, "get_source", None) if spec is not None else None
    source = get_source(spec.name) if spec is not None and get_source is not None else None
    if spec is None or spec.origin is None or source is None:
        raise ImportError("there is no source of a module of this name")
    return spec.origin, source, spec


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="python -m dsl",
        description=__doc__,
        epilog=EXAMPLES,
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "file",
        nargs="?",
        help="a Python program that imports cutlass, quadrants, tvm or triton, CUDA C++ (.cu), or - for standard input",
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version of gpu-repro and of Python")
    parser.add_argument("-m", dest="module", metavar="MODULE", help="run a module by its name, in its package")
    parser.add_argument(
        "-i",
        dest="prompt",
        action="store_true",
        help="a prompt, after the file where one is given; functions typed there have source",
    )
    parser.add_argument(
        "--show",
        choices=STAGES,
        action="append",
        default=[],
        help="print this stage of every kernel after the run (may be repeated)",
    )
    parser.add_argument(
        "--device",
        choices=("emulator", "cuda"),
        help="where kernels run; default: the GPU if there is one, else the emulator",
    )
    parser.add_argument(
        "--compiler",
        type=_compiler,
        choices=("ours", "nvidia"),
        default="ours",
        help="who compiles: ours (this project's compiler, default) or nvidia (the installed nvidia-cutlass-dsl)",
    )
    parser.add_argument(
        "--portable",
        action="store_true",
        help="refuse what works here and NVIDIA's compiler rejects, instead of warning",
    )
    parser.add_argument(
        "--full-traceback",
        action="store_true",
        default=variables.value(variables.FULL_TRACEBACK, "0") != "0",
        help="show the compiler's own frames of an error too (also: GPU_REPRO_FULL_TRACEBACK=1)",
    )
    parser.add_argument(
        "--no-cache",
        action="store_true",
        help="neither use nor fill the disk cache of compiled code (also: GPU_REPRO_CACHE=0)",
    )
    parser.add_argument(
        "--check",
        metavar="NAMES",
        type=_checks,
        default=variables.value(variables.CHECK) or None,
        help="what the emulator looks for in every kernel: race (two threads touch one place, one "
        "writes, and no barrier, fence or atomic orders them), undefined (a value that nobody "
        "wrote decides something); race,undefined, all or none; default: all, except with --delays "
        "and for repros whose outputs vary (also: GPU_REPRO_CHECK=none)",
    )
    parser.add_argument(
        "--notes",
        action="store_true",
        default=variables.value(variables.SYNC_NOTES, "0") != "0",
        help="note barriers, fences and waits that nothing in this run needs: the emulator leaves each out, and runs "
        "the kernel again (also: GPU_REPRO_NOTES=1)",
    )
    parser.add_argument(
        "--seed",
        metavar="N",
        type=_seed,
        default=0,
        help="let the emulator run blocks, warps and lanes in an order that N chooses; default: as is fastest",
    )
    parser.add_argument(
        "--schedule",
        metavar="LIST",
        default="",
        help="as --seed, with the decisions that count: `7` all of the seed 7, and their numbers are printed; "
        "`7: 0-4 19` these, and in the place of the others threads run in turn; @FILE: a list in a file",
    )
    parser.add_argument(
        "--delays",
        metavar="LIST",
        default="",
        help="delay some warps at some instructions, by nanosleep in the PTX: LIST is `seed 5`, a list, e.g. "
        "'kernel 12 before 800 ns warps 3/8', or @FILE with a list",
    )
    parser.add_argument(
        "--gpu-model",
        metavar="NAME",
        type=_gpu_model,
        default=variables.value(variables.GPU_MODEL) or None,
        help="the GPU that the emulator is: h100, a100, l40s, ... (how their tensor cores compute), b200, b300, rtx5090"
        "; default: h100, or the one that the program is built for (also: GPU_REPRO_GPU_MODEL=b200)",
    )
    parser.add_argument(
        "--timeout",
        metavar="SECONDS",
        type=_seconds,
        help="stop the program after this many seconds and print where every warp is; exit status 124",
    )
    parser.add_argument(
        "-p",
        "--param",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a parameter of the file's run() (may be repeated)",
    )
    return parser


class _Parser(argparse.ArgumentParser):
    """Prints help and the version. argparse hides that nothing takes them. Raises OutputFailed."""

    def _print_message(self, message: str, file: Any = None) -> None:
        _print(message, end="") if file is sys.stdout else super()._print_message(message, file)


class _Version(argparse.Action):
    """Prints the version and ends."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        import importlib.metadata

        _print(f"gpu-repro {importlib.metadata.version('gpu-repro')}, Python {sys.version.split()[0]}")
        parser.exit()


def _compiler(name: str) -> str:
    """The name of a compiler as it is now: in 0.1 ours was called `embedded`."""
    if name == "embedded":
        print("dsl: note: the compiler `embedded` is now `ours`; the old spelling ends with 0.3", file=sys.stderr)
        return "ours"
    return name


def _checks(text: str) -> str:
    """The names of checks, looked at before anything runs."""
    from dsl.launch.devices.emulated import checks_of

    try:
        checks_of(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text


def _seed(text: str) -> int:
    if not text.isdecimal() or int(text) > 0xFFFFFFFF:
        raise argparse.ArgumentTypeError(f"must be 0-{0xFFFFFFFF}, got {text}")
    return int(text)


def _seconds(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number <= 1e9:  # a timer takes no more
        raise argparse.ArgumentTypeError(f"must be a number of seconds above 0, got {text}")
    return number


def _from_file(text: str) -> str:
    """A list of delays or of decisions, or the one in the file that it names."""
    return Path(text[1:]).read_text() if text.startswith("@") else text


def _gpu_model(name: str) -> str:
    """The name of a GPU model, looked at before anything runs."""
    from dsl.emulator.tensor_core import tensor_core

    try:
        tensor_core.of_gpu(name)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return name


def _model_of_block(file: str, source: str) -> str | None:
    """The model of Blackwell that has what a repro needs."""
    from dsl import gpu_models  # noqa: PLC0415

    arch = repro_block.arch(source, file.endswith(CUDA_SUFFIX))
    model = gpu_models.model_for(arch)
    if model:
        print(f"dsl: the repro needs {arch} and runs on a {model}; --gpu-model chooses another", file=sys.stderr)
    return model


def _run(file: str, source: str, spec: ModuleSpec | None, options: argparse.Namespace) -> int:
    """Run the program; 0, or 1 where it failed, 2 for wrong usage, 124 after --timeout, 130 after Ctrl-C."""
    from dsl import alias  # noqa: PLC0415
    from dsl.core.errors import PortabilityWarning  # noqa: PLC0415
    from dsl.core.syntax.function_source import executed_texts_kept  # noqa: PLC0415
    from dsl.launch.devices.protocol import DeviceMissing  # noqa: PLC0415

    if options.portable or not sys.warnoptions:  # python -W decides where it is given
        warnings.simplefilter("error" if options.portable else "default", PortabilityWarning)
    if options.compiler == "nvidia" and (ours := {"mlir", "cuda", "llvm"}.intersection(options.show)):
        print(f"dsl: --show {min(ours)}: NVIDIA's compiler shows ptx and sass", file=sys.stderr)
        return 2
    if options.compiler == "nvidia" and (language := _language(source)):
        print(
            f"dsl: {file} is written in {language}: NVIDIA's compiler does not take it; leave out --compiler nvidia",
            file=sys.stderr,
        )
        return 2
    if not options.gpu_model and options.device != "cuda":
        options.gpu_model = _model_of_block(file, source)
    if options.gpu_model:
        os.environ[variables.GPU_MODEL] = options.gpu_model  # for processes that the program starts, too
    try:
        session = alias.install(options.device, options.compiler)
    except (RuntimeError, DeviceMissing, native_library.BuildError) as error:
        print(f"dsl: {error}", file=sys.stderr)
        return 3 if isinstance(error, native_library.BuildError) else 2
    if options.full_traceback:
        os.environ[variables.FULL_TRACEBACK] = "1"
    if options.no_cache:
        os.environ[variables.CACHE] = "0"
    if file.endswith(CUDA_SUFFIX):
        from dsl.driver import cuda_file  # noqa: PLC0415

        return cuda_file.run(file, source, sys.argv[1:], session, options)
    checks = "none" if options.delays else repro_block.checks(source)  # `repro run` has these defaults too
    session.look_for(checks if options.check is None else options.check)
    session.warn_of_host_memory()
    session.schedule(options.seed)
    if options.schedule:
        try:
            options.schedule = _from_file(options.schedule)
            session.follow(options.schedule)
        except (ValueError, OSError) as error:
            print(f"dsl: --schedule: {error}", file=sys.stderr)
            return 2
    if options.delays:
        try:
            session.perturb(_from_file(options.delays))
        except (ValueError, OSError) as error:
            print(f"dsl: --delays: {error}", file=sys.stderr)
            return 2
    session.announce(lambda sentence: print(f"dsl: {sentence}", file=sys.stderr, flush=True))
    if options.notes:
        try:
            session.seek_redundancy()
        except ValueError as error:
            print(f"dsl: {error}", file=sys.stderr)
            return 2
    if options.timeout:
        signal.signal(signal.SIGALRM, _time_is_over)
        signal.setitimer(signal.ITIMER_REAL, options.timeout)
    with executed_texts_kept():
        return _run_in(session, file, source, spec, options)


def _run_in(session: Session, file: str, source: str, spec: ModuleSpec | None, options: argparse.Namespace) -> int:
    """Run the program, then what is typed at the prompt, and show what was asked for; the exit status."""
    from dsl.core.errors import DSLUserCodeError  # noqa: PLC0415

    status = 0
    try:
        try:
            _execute(file, source, spec, options.param, session)
        except Exception:
            _let_handlers_run()
            raise
        session.check()
        session.report_redundancy()
    except SystemExit as leaving:
        session.report_redundancy()
        status = _exit_status(leaving)
    except OutputFailed:
        raise
    except BaseException as error:
        cause = session.cause(error)
        # a line, because what an unbuffered `print` could not write is not kept
        _print(end="\n" if isinstance(cause, OSError) and cause.errno in NO_OUTPUT else "")
        if isinstance(cause, KeyboardInterrupt):
            return _stopped(cause)
        if error is session.device.failure:
            print("dsl: a kernel failed; its report is above", file=sys.stderr)
        else:  # of the device's failure the report is printed
            print(
                _failure(error if cause is session.device.failure else cause, options.full_traceback), file=sys.stderr
            )
        status = 1
    if options.prompt:
        from dsl import prompt  # noqa: PLC0415

        try:
            prompt.ask(sys.modules["__main__"].__dict__, lambda error: _failure(error, options.full_traceback))
        except SystemExit as leaving:
            status = _exit_status(leaving)
    if options.schedule and ":" not in options.schedule and session.followed:
        print(f"dsl: decisions taken: --schedule '{session.followed}'", file=sys.stderr)
    for stage in options.show:
        try:
            _print(session.show(stage))
        except DSLUserCodeError as error:
            print(error, file=sys.stderr)
            status = status or 1
    return status


def _let_handlers_run() -> None:
    """Be called: Python runs the handlers of signals that have come when a function is."""


def _exit_status(leaving: SystemExit) -> int:
    """The exit status for `sys.exit(code)`; a code that is not a number is a message, as in Python."""
    if leaving.code is None or isinstance(leaving.code, int):
        return leaving.code or 0
    _print(end="")
    print(leaving.code, file=sys.stderr)
    return 1


def _stopped(error: KeyboardInterrupt) -> int:
    """Say that Ctrl-C ended the program, and where the warps of its kernel were; the exit status."""
    said = f"dsl: stopped: {error}" if isinstance(error, TimeIsOver) else "dsl: stopped"
    print(*getattr(error, "__notes__", ()), said, sep="\n", file=sys.stderr)
    return 124 if isinstance(error, TimeIsOver) else 130


class TimeIsOver(KeyboardInterrupt):
    """The program ran longer than --timeout allows."""


def _time_is_over(*_signal) -> None:
    raise TimeIsOver("it ran longer than --timeout allows")


def _language(source: str) -> str | None:
    """The language of LANGUAGES that a program imports, None for CuTe DSL."""
    return next((LANGUAGES[root] for root in _imported(source) if root in LANGUAGES), None)


def _imported(source: str) -> list[str]:
    """The top packages that a program imports; none if it cannot be parsed."""
    try:
        nodes = list(ast.walk(ast.parse(source)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    modules = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    modules += [node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module and not node.level]
    return [name.partition(".")[0] for name in modules]


def _execute(file: str, source: str, spec: ModuleSpec | None, params: list[str], session: Session) -> None:
    module = types.ModuleType("__main__")
    module.__file__, module.__spec__, module.__package__ = file, spec, spec and spec.parent
    sys.modules["__main__"] = module
    tree: Any = compile(source, file, "exec", ast.PyCF_ONLY_AST, dont_inherit=True)  # an ast.Module
    exec(compile(tree, file, "exec", dont_inherit=True), module.__dict__)
    run = getattr(module, "run", None)
    if callable(run) and not _has_main_block(tree):
        chosen = dict(_split(param) for param in params)
        block = repro_block.table(source)
        declared = block.get("params", {})
        if isinstance(kernels := block.get("source"), str):
            from dsl.driver import cuda_file  # noqa: PLC0415

            run = functools.partial(run, ptx=cuda_file.kernels(file, kernels, block, session.device.arch))
        if not chosen and not declared and _needs_arguments(run):  # a function of the program, not a repro
            return
        chosen_values = {name: _choice(value, declared.get(name)) for name, value in chosen.items()}
        axes = [[chosen_values[name]] if name in chosen_values else values for name, values in declared.items()]
        names = [*declared, *(name for name in chosen_values if name not in declared)]
        axes += [[chosen_values[name]] for name in chosen_values if name not in declared]
        for values in itertools.product(*axes):
            _report(run, dict(zip(names, values)))


def _needs_arguments(run) -> bool:
    """Whether a function cannot be called without arguments."""
    try:
        parameters = inspect.signature(run).parameters.values()
    except (TypeError, ValueError):
        return False
    return any(
        each.default is each.empty and each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD) for each in parameters
    )


def _has_main_block(tree: ast.Module) -> bool:
    return any(isinstance(node, ast.If) and "__name__" in ast.dump(node.test) for node in tree.body)


def _split(param: str) -> tuple[str, str]:
    name, _, value = param.partition("=")
    return name, value


def _choice(text: str, values: list | None) -> Any:
    """The declared value that reads like `text`, or `text` as a Python literal."""
    for value in values or ():
        if str(value) == text:
            return value
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def _report(run, params: dict) -> None:
    returned = run(**params)
    if params:
        _print(", ".join(f"{name}={value}" for name, value in params.items()))
    for name, value in returned.items() if isinstance(returned, dict) else [("result", returned)]:
        _print(f"{name} = {value}")


def _failure(error: BaseException, full: bool) -> str:
    """The author's error: our own text where it has one, else a traceback without our frames; all of them if `full`."""
    if full:
        return "".join(traceback.format_exception(error)).rstrip()
    from dsl.core.diagnosis import python_errors  # noqa: PLC0415
    from dsl.core.errors import at_author  # noqa: PLC0415
    from dsl.exceptions import OutcomeError, outcome_of  # noqa: PLC0415
    from dsl.layout import LayoutError  # noqa: PLC0415

    if isinstance(error, LayoutError):
        error = at_author(error)
    elif isinstance(error, (AttributeError, TypeError)) and not isinstance(error, OutcomeError):
        error = python_errors.explained(error) or error
    if outcome_of(error) is not None:
        return str(error)
    frames = list(_authors_frames(traceback.extract_tb(error.__traceback__)))
    head = ["Traceback (most recent call last):\n", *traceback.format_list(frames)] if frames else []
    text = "".join([*head, *traceback.format_exception_only(error)]).rstrip()
    if isinstance(error, ImportError) and "relative import with no known parent" in str(error):
        text += "\nfix: run it as a module of its package: python -m dsl -m PACKAGE.MODULE"
    return text


def _authors_frames(frames: list[traceback.FrameSummary]) -> Iterator[traceback.FrameSummary]:
    """`frames` without the frames of the compiler and of the libraries that it calls."""
    from dsl.core.syntax.function_source import is_authors  # noqa: PLC0415
    from dsl.span import is_our_file  # noqa: PLC0415

    inside = False
    for frame in frames:
        inside = is_our_file(frame.filename) or (inside and not is_authors(frame.filename))
        if not inside:
            yield frame


if __name__ == "__main__":
    sys.exit(main())
