"""A repro file as text: its claim, its table, its CHECK lines."""

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
GPU_MODEL_HELP = "the GPU that the emulator is: h100 (default), a100, l40s, b200 ... (or GPU_REPRO_GPU_MODEL)"
PERTURB_HELP = (
    "run each case N times more, under the delays that the seeds 1 to N put into its PTX, and count its answers: a "
    "race that changes values shows two"
)
