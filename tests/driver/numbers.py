"""The numbers of the device, read from the file that C++ includes."""

import re

from dsl import native_library

_TEXT = (native_library.DRIVER / "device.inc").read_text()
_ROWS = re.findall(r"^(ATTRIBUTE|NUMBER)\((\w+), (\d+)\)", _TEXT, re.M)
_OF_MODELS = re.findall(r"^MODEL_ATTRIBUTE\((\w+), (\d+), (\d+)\)", _TEXT, re.M)
ATTRIBUTES = {int(which): int(value) for kind, which, value in _ROWS if kind == "ATTRIBUTE"}
OF_MODEL = {model: {int(which): int(value) for name, which, value in _OF_MODELS if name == model}
            for model, _, _ in _OF_MODELS}  # fmt: skip
NUMBERS = {name: int(value) for kind, name, value in _ROWS if kind == "NUMBER"}
