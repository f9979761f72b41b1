"""Loops of a host function hear signals: native code that runs long lets Python's handlers run,
and ends where one raises.

Python notes a signal and runs its handler when its own code goes on, which a loop in machine code may put off for good.
So every backward branch counts down; every few thousand a clock is read, and some milliseconds later Python is asked.
An innermost loop that counts is cut into stretches of as many trips, so that LLVM may unroll and vectorise it.
A handler's exception cannot go through machine code: it is kept, the function returns `RAISED`, and who called it asks
`raised`. Python/C API: PyErr_CheckSignals, which runs handlers in the main thread only. What a handler raises at the
start of a Python function that machine code calls is kept likewise (CALL_PYTHON).
"""

from __future__ import annotations

import ctypes
import functools
import re

RAISED = -1  # what a host function returns that a signal's handler has ended
TURNS, PAUSE_NS = 4096, 20_000_000  # between looks at the clock, and between questions

_FUNCTION = re.compile(r"^  llvm\.func @host\(.*?^  }$", re.MULTILINE | re.DOTALL)
_LABEL = re.compile(r"^  (\^\w+)", re.MULTILINE)
_BRANCH = re.compile(r"^( *)llvm\.(?:br|cond_br) .*$", re.MULTILINE)
_ANNOTATION = re.compile(r" \{[^{}]*loop_annotation[^{}]*\}")
_PYTHON = {"PyGILState_Ensure": "i32 ()", "PyGILState_Release": "void (i32)", "PyErr_CheckSignals": "i32 ()",
           "PyErr_Fetch": "void (ptr, ptr, ptr)", "PyErr_NormalizeException": "void (ptr, ptr, ptr)",
           "PyObject_CallFunction": "ptr (ptr, ptr, ...)", "PyLong_AsLong": "i64 (ptr)",
           "Py_DecRef": "void (ptr)"}  # fmt: skip
_kept = (ctypes.c_void_p * 3)()  # type, value and traceback; signals are the main thread's


def heard_in_loops(llvm_dialect_text: str) -> str:
    """The module with `if (dsl_turn(turns, trips)) return RAISED;` before each backward branch of `@host`."""
    return _FUNCTION.sub(_with_turns, llvm_dialect_text)


def _with_turns(function: re.Match) -> str:
    text, stretches = _in_stretches(function[0])
    begins = {label[1]: label.start() for label in _LABEL.finditer(text)}
    count = 0

    def turn(branch: re.Match) -> str:
        nonlocal count
        targets = re.findall(r"\^\w+", branch[0])
        if targets[0].startswith(_STRETCH) or all(begins[target] > branch.start() for target in targets):
            return branch[0]
        count += 1
        indent, trips = branch[1], stretches.get(targets[0], "%dsl_once")
        return "\n".join(
            [
                f"{indent}%dsl_heard_{count} = llvm.call @dsl_turn(%dsl_turns, {trips}) : (!llvm.ptr, i64) -> i32",
                f'{indent}%dsl_ends_{count} = llvm.icmp "ne" %dsl_heard_{count}, %dsl_none : i32',
                f"{indent}llvm.cond_br %dsl_ends_{count}, ^dsl_raised_{count}, ^dsl_turn_{count}",
                f"  ^dsl_raised_{count}:",
                f"{indent}llvm.return %dsl_heard_{count} : i32",
                f"  ^dsl_turn_{count}:",
                _ANNOTATION.sub("", branch[0]),
            ]
        )  # LLVM does not unroll it any more, and would say so

    text = _BRANCH.sub(turn, text)
    if not count:
        return text
    head, _, body = text.partition("\n")
    start = [
        "    %dsl_none = llvm.mlir.constant(0 : i32) : i32",
        "    %dsl_one = llvm.mlir.constant(1 : i32) : i32",
        "    %dsl_once = llvm.mlir.constant(1 : i64) : i64",
        "    %dsl_turns = llvm.alloca %dsl_one x !llvm.array<2 x i64> {alignment = 8 : i64} : (i32) -> !llvm.ptr",
        f"    %dsl_first = llvm.mlir.constant({TURNS} : i64) : i64",
        "    %dsl_never = llvm.mlir.constant(0 : i64) : i64",
        "    llvm.store %dsl_first, %dsl_turns : i64, !llvm.ptr",
        "    %dsl_asked = llvm.getelementptr %dsl_turns[1] : (!llvm.ptr) -> !llvm.ptr, i64",
        "    llvm.store %dsl_never, %dsl_asked : i64, !llvm.ptr",
    ]
    return "\n".join([head, *start, body, "  llvm.func @dsl_turn(!llvm.ptr, i64) -> i32"])


# --- stretches of trips -----------------------------------------------------------------------------------------------

_STRETCH = "^dsl_stretch"
# `for`, as MLIR's conversion leaves one: a block of its variables that tests the counter, and one that is the body.
_LOOP = re.compile(
    r"""
    ^\ \ (?P<head>\^\w+)\((?P<variables>(?P<counter>%\w+):[^\n]*)\):[^\n]*\n
    \ {4}(?P<test>%\w+)\ =\ llvm\.icmp\ "slt"\ (?P=counter),\ (?P<stop>%\w+)\ :\ (?P<type>i32|i64)\n
    \ {4}llvm\.cond_br\ (?P=test),\ (?P<inside>\^\w+),\ (?P<after>\^\w+)\n
    \ \ (?P=inside):[^\n]*\n
    (?P<body>(?:\ {4}(?!llvm\.(?:br|cond_br|switch|return|unreachable)\b)[^\n]*\n)*)
    \ {4}llvm\.br\ (?P=head)\((?P<next>%\w+)(?P<rest>[^\n]*)\n""",
    re.MULTILINE | re.VERBOSE,
)
_CALL = re.compile(r"llvm\.call @|llvm\.inline_asm|llvm\.invoke")
_CONSTANT = re.compile(r"^ *(%\w+) = llvm\.mlir\.constant\((\d+) : i(?:32|64)\)", re.MULTILINE)


def _in_stretches(function: str) -> tuple[str, dict[str, str]]:
    """The function with each innermost straight `for` as a loop over stretches of TURNS trips; by the head of such a
    loop, the value that counts a stretch's trips, or more where the step is.

    What calls is left as it is: its trips may be long.
    """
    constants = {name: int(number) for name, number in _CONSTANT.findall(function)}
    stretches: dict[str, str] = {}

    def cut(loop: re.Match) -> str:
        counter, type_ = loop["counter"], loop["type"]
        step = re.search(rf"^ *{loop['next']} = llvm\.add {counter}, (%\w+) : {type_}$", loop["body"], re.MULTILINE)
        size = constants.get(step[1], 0) * TURNS if step else 0
        if not 0 < size < 1 << 30 or _CALL.search(loop["body"]) or "(" in loop["variables"]:
            return loop[0]
        n = len(stretches)
        names = re.findall(r"(%\w+): ([^,]+)", loop["variables"])
        own = {name: f"%dsl_own_{n}_{index}" for index, (name, _) in enumerate(names)}
        renamed = re.compile("|".join(rf"{re.escape(name)}(?!\w)" for name in own))
        body, rest = (renamed.sub(lambda name: own[name[0]], loop[part]) for part in ("body", "rest"))
        types = ", ".join(kind for _, kind in names)
        wide = f"%dsl_span_{n}" if type_ == "i64" else f"%dsl_trips_{n}"
        stretches[loop["head"]] = wide
        return "\n".join(
            [
                f"  {loop['head']}({loop['variables']}):",
                f'    {loop["test"]} = llvm.icmp "slt" {counter}, {loop["stop"]} : {type_}',
                f"    llvm.cond_br {loop['test']}, ^dsl_begin_{n}, {loop['after']}",
                f"  ^dsl_begin_{n}:",
                f"    %dsl_most_{n} = llvm.mlir.constant({size} : {type_}) : {type_}",
                f"    %dsl_left_{n} = llvm.sub {loop['stop']}, {counter} : {type_}",  # as an unsigned number
                f'    %dsl_less_{n} = llvm.icmp "ult" %dsl_left_{n}, %dsl_most_{n} : {type_}',
                f"    %dsl_span_{n} = llvm.select %dsl_less_{n}, %dsl_left_{n}, %dsl_most_{n} : i1, {type_}",
                f"    %dsl_stop_{n} = llvm.add {counter}, %dsl_span_{n} : {type_}",
                *([f"    {wide} = llvm.zext %dsl_span_{n} : i32 to i64"] if type_ == "i32" else []),
                f"    llvm.br {_STRETCH}_{n}({', '.join(own)} : {types})",
                f"  {_STRETCH}_{n}({', '.join(f'{own[name]}: {kind}' for name, kind in names)}):",
                f'    %dsl_goes_{n} = llvm.icmp "slt" {own[counter]}, %dsl_stop_{n} : {type_}',
                f"    llvm.cond_br %dsl_goes_{n}, {loop['inside']}, ^dsl_end_{n}",
                f"  {loop['inside']}:",
                f"{body}    llvm.br {_STRETCH}_{n}({loop['next']}{rest}",
                f"  ^dsl_end_{n}:",
                f"    llvm.br {loop['head']}({', '.join(own.values())} : {types})",
                "",
            ]
        )

    return _LOOP.sub(cut, function), stretches


_DECLARATION = re.compile(r"^declare i32 @dsl_turn\(ptr, i64\).*$", re.MULTILINE)
_TURN = f"""
define internal i32 @dsl_turn(ptr %turns, i64 %trips) alwaysinline {{
  %left = load i64, ptr %turns
  %less = sub i64 %left, %trips
  store i64 %less, ptr %turns
  %more = icmp sgt i64 %less, 0
  br i1 %more, label %go, label %look, !prof !{{!"branch_weights", i32 {TURNS}, i32 1}}
look:
  %heard = call i32 @dsl_look(ptr %turns)
  ret i32 %heard
go:
  ret i32 0
}}

define internal i32 @dsl_look(ptr %turns) noinline cold {{
  store i64 {TURNS}, ptr %turns
  %time = alloca [2 x i64], align 8
  %told = call i32 @clock_gettime(i32 6, ptr %time)
  %seconds = load i64, ptr %time
  %rest.at = getelementptr i64, ptr %time, i64 1
  %rest = load i64, ptr %rest.at
  %whole = mul i64 %seconds, 1000000000
  %now = add i64 %whole, %rest
  %asked.at = getelementptr i64, ptr %turns, i64 1
  %asked = load i64, ptr %asked.at
  %first = icmp eq i64 %asked, 0
  br i1 %first, label %note, label %compare
note:
  store i64 %now, ptr %asked.at
  ret i32 0
compare:
  %since = sub i64 %now, %asked
  %late = icmp ugt i64 %since, {PAUSE_NS}
  br i1 %late, label %ask, label %go
ask:
  store i64 %now, ptr %asked.at
  %ends = call i32 @dsl_hear()
  ret i32 %ends
go:
  ret i32 0
}}

declare i32 @clock_gettime(i32, ptr)
"""
_KEEP = """
  %value.at = getelementptr ptr, ptr @dsl_raised, i64 1
  %trace.at = getelementptr ptr, ptr @dsl_raised, i64 2
  call void @PyErr_Fetch(ptr @dsl_raised, ptr %value.at, ptr %trace.at)
  call void @PyErr_NormalizeException(ptr @dsl_raised, ptr %value.at, ptr %trace.at)"""
_DECLARATIONS = "@dsl_raised = external global [3 x ptr]\n" + "\n".join(
    f"declare {text.partition(' ')[0]} @{name}{text.partition(' ')[2]}" for name, text in _PYTHON.items()
)
# `dsl_hear()`: run the handlers of signals; RAISED where one raises, which is kept for `raised`.
_HEAR = f"""
define internal i32 @dsl_hear() noinline cold {{
  %lock = call i32 @PyGILState_Ensure()
  %raised = call i32 @PyErr_CheckSignals()
  %any = icmp ne i32 %raised, 0
  br i1 %any, label %keep, label %release
keep:{_KEEP}
  br label %release
release:
  call void @PyGILState_Release(i32 %lock)
  %ends = sext i1 %any to i32
  ret i32 %ends
}}

{_DECLARATIONS}"""
# `dsl_call_python(function, handle, index, record, params)`: what the Python function returns, an int; RAISED where it
# raises, which is kept for `raised`. Python runs the handlers of signals before a function's first statement, where the
# function cannot catch what they raise: a callback of ctypes prints that, and returns what was in memory.
CALL_PYTHON = f"""
@dsl_arguments = internal constant [5 x i8] c"LiLL\\00"

define internal i32 @dsl_call_python(ptr %function, ptr %handle, i32 %index, ptr %record, ptr %params) {{
  %lock = call i32 @PyGILState_Ensure()
  %result = call ptr (ptr, ptr, ...) @PyObject_CallFunction(ptr %function, ptr @dsl_arguments,
                                                            ptr %handle, i32 %index, ptr %record, ptr %params)
  %none = icmp eq ptr %result, null
  br i1 %none, label %keep, label %read
keep:{_KEEP}
  br label %release
read:
  %number = call i64 @PyLong_AsLong(ptr %result)
  call void @Py_DecRef(ptr %result)
  %answer = trunc i64 %number to i32
  br label %release
release:
  %ends = phi i32 [{RAISED}, %keep], [%answer, %read]
  call void @PyGILState_Release(i32 %lock)
  ret i32 %ends
}}

{_DECLARATIONS}
"""


def with_turn(llvm_ir: str) -> str:
    """A host module with `@dsl_turn` defined, where it is called."""
    return _DECLARATION.sub(_TURN + _HEAR, llvm_ir) if _DECLARATION.search(llvm_ir) else llvm_ir


@functools.cache
def symbols() -> dict[str, int]:
    """The addresses of what a host function with loops calls, by name."""
    functions = {name: ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0 for name in _PYTHON}
    return {"dsl_raised": ctypes.addressof(_kept), **functions}


def raised() -> BaseException:
    """What the handler of a signal raised in a host function that has returned `RAISED`."""
    kept = list(_kept)
    _kept[:] = [None] * 3
    error = ctypes.cast(kept[1], ctypes.py_object).value
    if kept[2]:
        error = error.with_traceback(ctypes.cast(kept[2], ctypes.py_object).value)
    for reference in kept:
        ctypes.pythonapi.Py_DecRef(ctypes.c_void_p(reference))
    return error
