"""The numbers of the device, read from the file that C++ includes."""

import re

from dsl import native_library

_ROWS = re.findall(r"^(ATTRIBUTE|NUMBER)\((\w+), (\d+)\)", (native_library.DRIVER / "device.inc").read_text(), re.M)
ATTRIBUTES = {int(which): int(value) for kind, which, value in _ROWS if kind == "ATTRIBUTE"}
NUMBERS = {name: int(value) for kind, name, value in _ROWS if kind == "NUMBER"}
