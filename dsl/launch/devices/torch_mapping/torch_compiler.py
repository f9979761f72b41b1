"""`torch.compile` on the emulator: what it returns runs uncompiled.

torch would write kernels for a GPU that is not there, of tensors that are in host memory. It has a word for this, the
stance `force_eager`: the functions and modules that `torch.compile` returns are torch's own, and call what they wrap.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any


class Uncompiled:
    """A stand-in for `torch.compile`: torch's own, whose functions run uncompiled until `undo`."""

    def __init__(self, torch: ModuleType):
        self._torch, self._real, self._is_set = torch, torch.compile, False

    def stand_in(self) -> Callable:
        def compile(*arguments: Any, **options: Any) -> Any:
            if not self._is_set:
                self._is_set = True
                self._torch.compiler.set_stance("force_eager")
                text = "torch.compile: functions run uncompiled on the emulator (torch's stance `force_eager`)"
                warnings.warn(text, stacklevel=2)
            return self._real(*arguments, **options)

        return compile

    def undo(self) -> None:
        if self._is_set:
            self._torch.compiler.set_stance("default")
