"""A repro file as text: its claim, its table, its CHECK lines."""

import argparse
import math
import sys

# The files that can be repros; languages.py reads them.
PYTHON, CUDA, PTX = ".py", ".cu", ".ptx"
SUFFIXES = (PYTHON, CUDA, PTX)

# Options that `repro run` and pytest share. Every start of pytest reads them, so no separate module has them.
BUSY_WAYS = ("wait", "share", "skip")
BUSY_HELP = "a GPU that another run holds: wait for it (default), share it, or skip it and use the others"
CHECKS_HELP = (
    "run these checks of the emulator in each kernel: race (accesses that nothing orders), undefined "
    "(reads of memory that nobody wrote), both with a comma, all, or none; default: all, except for "
    "repros whose outputs vary (runs, allowed, undef, poison); schedules: all, and again in other orders of the "
    "threads for 10 seconds a case, schedules=60 for 60"
)
NOTES_HELP = (
    "note barriers, fences and waits that nothing in this run needs: the emulator leaves each out, and runs the kernel "
    "again, for a minute a case at most"
)
GPU_MODELS = (
    "a100", "a30", "a10", "a40", "rtx3090", "l4", "l40", "l40s", "rtx4090", "h100", "h200", "h800", "gh200", "b200",
    "b300", "rtx5090",
)  # fmt: skip
GPU_MODEL_HELP = "the GPU that the emulator is: h100 (default), a100, l40s, b200 ... (or GPU_REPRO_GPU_MODEL)"
PERTURB_HELP = (
    "run each case N times more, under the delays that the seeds 1 to N put into its PTX, and count its answers: a "
    "race that changes values shows two"
)

# Numbers of command lines, as types for argparse.
MOST_SECONDS = 1e9  # as a runner takes them: harness/run/reply.py
GREATEST_SEED = (1 << 32) - 1  # of numpy


def as_gpu_model(text: str) -> str:
    """The name of a GPU that the emulator can be."""
    if text not in GPU_MODELS:
        raise argparse.ArgumentTypeError(f"unknown GPU model {text}: the emulator has {', '.join(GPU_MODELS)}")
    return text


def as_seconds(text: str) -> float:
    """A time limit."""
    return _real(text, "a number of seconds above 0", MOST_SECONDS)


def as_minutes(text: str) -> float:
    """A time limit."""
    return _real(text, "a number of minutes above 0", MOST_SECONDS / 60)


def as_megabytes(text: str) -> float:
    """An amount of data."""
    return _real(text, "a number of MB, 0 or more", sys.float_info.max, or_zero=True)


def as_days(text: str) -> float:
    """An age."""
    return _real(text, "a number of days, 0 or more", MOST_SECONDS / 86400, or_zero=True)


def as_seed(text: str) -> int:
    """A start of random numbers, and of the emulator's order of threads."""
    return _whole(text, 0, GREATEST_SEED)


def as_count(text: str) -> int:
    """How many of something, at least one."""
    return _whole(text, 1, None)


def as_exit_status(text: str) -> int:
    """An exit status, 0-255."""
    return _whole(text, 0, 255)


def _whole(text: str, least: int, most: int | None) -> int:
    """A whole number within limits."""
    try:
        number = int(text)
    except ValueError:
        number = None
    if number is None or number < least or (most is not None and number > most):
        limits = f"{least} or more" if most is None else f"{least}-{most}"
        raise argparse.ArgumentTypeError(f"must be {limits}, got {text}")
    return number


def _real(text: str, what: str, most: float, or_zero: bool = False) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 <= number <= most or (number == 0 and not or_zero):
        raise argparse.ArgumentTypeError(f"must be {what}, got {text}")
    return number
