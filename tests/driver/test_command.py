"""`python -m dsl.driver`: the folder of the library, and programs that are started on it."""

import subprocess
import sys

from dsl import driver, native_library
from dsl.driver import __main__ as command


def test_without_a_program_the_folder_is_printed(capsys):
    assert command.main([]) == 0
    assert capsys.readouterr().out == f"{driver.library_folder()}\n"


def test_the_command_becomes_the_program(tmp_path):
    argv = [sys.executable, "-m", "dsl.driver", "sh", "-c", 'echo "$LD_LIBRARY_PATH" $1; exit 5', "sh", "a b"]
    done = subprocess.run(argv, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (5, "")
    assert done.stdout.split(":")[0].split()[0] == str(driver.library_folder()) and done.stdout.endswith(" a b\n")


def test_programs_that_cannot_be_started_have_the_statuses_of_env(tmp_path, capsys):
    assert command.main(["/no/such"]) == 127
    assert capsys.readouterr().err == "there is no program `/no/such`\n"
    (tmp_path / "text").write_text("text")
    assert command.main([str(tmp_path / "text")]) == 126
    assert capsys.readouterr().err == f"`{tmp_path}/text` cannot be run: Permission denied\n"
    for status, program in ((127, "/no/such"), (126, tmp_path / "text")):
        assert subprocess.run(["env", program], capture_output=True).returncode == status


def test_without_the_library_the_status_is_3(monkeypatch, capsys):
    def none():
        raise native_library.BuildError("it does not compile")

    monkeypatch.setattr(command, "library_folder", none)
    assert command.main(["true"]) == 3
    assert capsys.readouterr().err == "it does not compile\n"


def test_the_interpreter_of_the_helper_is_noted_once(tmp_path, monkeypatch):
    file = tmp_path / driver.PYTHON_FILE
    driver._note_interpreter(file)
    assert file.read_text() == sys.executable
    before = file.stat()
    driver._note_interpreter(file)
    assert file.stat().st_mtime_ns == before.st_mtime_ns and file.stat().st_ino == before.st_ino
    monkeypatch.setattr(sys, "executable", "/another/python")
    driver._note_interpreter(file)
    assert file.read_text() == "/another/python" and list(tmp_path.iterdir()) == [file]
    driver._note_interpreter(tmp_path / "missing" / driver.PYTHON_FILE)  # a folder that cannot be written
