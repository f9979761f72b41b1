"""The helper process of a program that uses libcuda.so.1 of the emulator: it translates PTX and runs kernels.

python -m dsl.driver.helper ADDRESS PROCESS LIBRARY: where device memory is mapped (hexadecimal), the program's process
id and its libcuda.so.1. File 3 is a socket to the program, file 4 the device memory, and file 5 wakes the helper, which
ends when the program does.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import sys
import threading
from pathlib import Path
from typing import Any

from dsl.driver.messages import OUTPUT, REPORT, Channel, Ended, Output
from dsl.driver.ring import FAILED, MESSAGE, Ring

SOCKET, ARENA, WAKE = 3, 4, 5


def main() -> None:
    """Answer until the program ends."""
    address, process = int(sys.argv[1], 16), int(sys.argv[2])
    connection = socket.socket(fileno=SOCKET)
    threading.Thread(target=_end_with_program, daemon=True).start()
    channel = Channel(connection)
    output: Any = Output(channel, OUTPUT)
    report: Any = Output(channel, REPORT)
    errors = sys.stderr
    sys.stdout, sys.stderr = output, report
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        from dsl.driver.device import HelperDevice  # noqa: PLC0415 - takes long; the process may end meanwhile

        try:
            device = HelperDevice(channel, address, ARENA, process)
        except Exception as error:  # such as an unknown GPU model, or a CPU without AVX2
            print(f"gpu-repro: kernels cannot run: {error}", file=sys.stderr)
            os._exit(1)
        ring = Ring(Path(sys.argv[3]), address, SOCKET, WAKE)
        while True:
            what, number = ring.wait()
            if what == MESSAGE:
                device.answer(*channel.receive())
            else:
                message = ring.launch()
                ring.finish()
                device.answer_posted(message, number if what == FAILED else None)
    except (Ended, ConnectionError):
        os._exit(0)  # nothing here has to be put in order, and a kernel may still run in another thread
    except BaseException:
        sys.stderr = errors
        raise


def _end_with_program() -> None:
    """End when the socket is closed, whatever the main thread does."""
    poll = select.poll()
    poll.register(SOCKET, 0)  # POLLHUP needs no asking
    poll.poll()
    os._exit(0)


if __name__ == "__main__":
    main()
