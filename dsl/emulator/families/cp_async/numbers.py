"""Numbers and structures about cp.async that C++ and Python share: see dsl/native_library.py."""

from __future__ import annotations

import ctypes

_u32, _u64 = ctypes.c_uint32, ctypes.c_uint64


class CopyQueue(ctypes.Structure):
    """A thread's cp.async copies (cp_async_queue.cc), from `head` on: those before `done` have landed. `arrivals`: how
    many entries that have not landed are arrivals at mbarriers; `gone`: how many entries came before the first."""

    _fields_ = [
        ("copies", _u64),
        ("count", _u32),
        ("room", _u32),
        ("head", _u32),
        ("committed", _u32),
        ("done", _u32),
        ("arrivals", _u32),
        ("gone", _u64),
    ]
