"""llvmlite's binding, imported when something is first compiled or linked: a program that only traces needs none."""

from __future__ import annotations


def __getattr__(name: str):
    import llvmlite.binding
    found = globals()[name] = getattr(llvmlite.binding, name)
    return found
