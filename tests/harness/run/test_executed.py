"""The lines that ran, of one file and of every thread."""

import sys
import threading

import numpy as np

from harness.run import executed

SOURCE = """\
import threading
def one():
    return 1
def other():
    return 2
thread = threading.Thread(target=one)
thread.start()
thread.join()
"""


def test_lines_of_the_file_alone_and_of_its_threads():
    lines = executed.record("<program>")
    try:
        exec(compile(SOURCE, "<program>", "exec"), {})
        np.ones(3)
    finally:
        sys.settrace(None)
        threading.settrace(None)
    assert lines == {1, 2, 3, 4, 6, 7, 8}
