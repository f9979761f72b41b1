"""The command `repro`: what it prints and how it ends.

Modules tested here: harness/cli/choice.py, harness/cli/run_command.py, harness/claim/selection.py.
"""

import contextlib
import json
import os
import pty
import re
import subprocess
import sys
import termios

import pytest

import harness
from harness.claim.repro_file import read
from harness.cli import main, main_command, new_command
from harness.host import hosts

TWICE = """
import numpy as np
def run(width):
    print("from the repro")
    return {"out": np.arange(width, dtype=np.float32) * 2}
"""
WIDTHS = "params = { width = [8, 16] }"
COMMAND = [sys.executable, "-c", "import sys; from harness.cli import main; sys.exit(main())"]


@pytest.fixture(autouse=True)
def project(tmp_path, monkeypatch):
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text("")
    return tmp_path


def test_run_judges_and_records(write, project, capsys):
    write(TWICE, WIDTHS)
    assert main(["run", "repros/one.py", "-p", "width=8"]) == 1
    assert "there is no golden repros/goldens/one/width=8.json" in capsys.readouterr().out
    assert main(["run", "repros/one.py", "--update-goldens"]) == 0
    capsys.readouterr()
    assert main(["run", "repros/one.py", "-p", "width=8"]) == 0
    assert capsys.readouterr().out == (
        "repros/one.py::width=8\n"
        "pass: predicted, not validated\n"
        "claim: It is so.\n"
        "host:  embedded (emulator)\n"
        "    out: float32 (8) 0.0 2.0 4.0 6.0 8.0 10.0 12.0 14.0\n"
        "--- stdout of the repro\n"
        "from the repro\n"
    )
    lines = [line for path in (project / ".repro/records").iterdir() for line in path.read_text().splitlines()]
    records = sorted(map(json.loads, lines), key=lambda record: record["date"])
    assert [record["verdict"] for record in records] == ["fail", "pass", "pass", "pass"]


def test_a_value_that_is_not_declared(write, capsys):
    write(TWICE, WIDTHS)
    assert main(["run", "repros/one.py", "-p", "width=3", "--update-goldens"]) == 1
    assert "width=3 is not declared in params, and there is no expected() to judge it by" in capsys.readouterr().out
    write(TWICE + "def expected(width): return {'out': np.float32(range(width)) * 2}", WIDTHS)
    assert main(["run", "repros/one.py", "-p", "width=3"]) == 0
    assert "width=3 is not declared in params: judged by expected() alone" in capsys.readouterr().out


USAGE = {
    ("repros/gone.txt",): "repro: {folder}/repros/gone.txt: No such file or directory\n"
    "fix: name a file that is there; `repro new NAME` writes a first repro",
    ("repros", "-k", "zzz"): "no case of repros fits -k zzz\nfix: leave out -k, and see their names",
    ("repros/goldens",): "no repros in repros/goldens: none of its files has a `# /// script` block with "
    "[tool.repro]\nfix: `repro new NAME --folder repros/goldens` writes one",
    ("repros/none.py",): "there is no file repros/none.py; did you mean `repros/one.py`?",
    ("repros/one.py", "-p", "w=3"): "-p w=3: write -p NAME=VALUE; the parameters of repros/one.py are: width",
    ("repros/one.py", "-p", "width=x"): "-p width=x: 'x' is not of type int; declared are 8, 16",
    ("repros/one.py", "--host", "p9"): "unknown host 'p9': the hosts are embedded, local\n"
    "fix: give ~/.ssh/config a `Host` of that name, or write user@address",
}


@pytest.mark.parametrize("argv", USAGE)
def test_usage(needs, write, project, capsys, monkeypatch, argv):
    needs("ssh", "openssh-client")
    monkeypatch.setenv("GPU_REPRO_SSH_CONFIG", os.devnull)  # hosts of whoever runs the tests
    write(TWICE, WIDTHS)
    (project / "repros/goldens").mkdir(exist_ok=True)
    assert main(["run", *argv]) == 2
    assert capsys.readouterr().err == USAGE[argv].format(folder=project) + "\n"


def test_the_version(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0 and re.fullmatch(
        r"gpu-repro \d+\.\d+\.\d+, Python 3\.\d+\.\d+\n", capsys.readouterr().out
    )


def test_without_a_command_it_teaches(capsys):
    assert main([]) == 2
    assert "repro run" in capsys.readouterr().err


@pytest.mark.parametrize(
    "word, said",
    [("statsu", "there is no command `statsu`; did you mean `repro record status`?"),
     ("x.py", "`x.py` is a file; `repro run x.py` runs it")],
)  # fmt: skip
def test_a_wrong_command_gets_a_suggestion(project, capsys, word, said):
    (project / "x.py").write_text("print(1)\n")
    with pytest.raises(SystemExit) as ended:
        main([word])
    assert ended.value.code == 2 and capsys.readouterr().err.endswith(f"repro: error: {said}\n")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--verion"], "repro: error: unrecognized arguments: --verion; did you mean `--version`?"),
        (["run", "--hots"], "repro run: error: unrecognized arguments: --hots; did you mean `--host`?"),
        (["run", "x.py", "--hots", "p1"], "repro run: error: unrecognized arguments: --hots p1; did you mean `--host`? "
         "(put the program's own options after --)"),
        (["record", "status", "--jsno=1"], "repro record status: error: unrecognized arguments: --jsno=1; "
         "did you mean `--json`?"),
        (["record", "diff"], "repro record diff: error: the following arguments are required: A"),
    ],
)  # fmt: skip
def test_a_misspelt_option_gets_a_suggestion(project, capsys, words, said):
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2 and capsys.readouterr().err.endswith(f"\n{said}\n")


PRINTS = "print('hi')\n"
ENDLESS = "while True:\n    print('again')\n"


@pytest.mark.parametrize(
    "words",
    [["record", "matrix"], ["record", "matrix", "--json"], ["--version"], ["--help"], ["run", "--help"],
     ["run", "prints.py"], ["run", "endless.py"]],
)  # fmt: skip
def test_output_that_nobody_can_take(project, words):
    (project / "prints.py").write_text(PRINTS)
    (project / "endless.py").write_text(ENDLESS)
    with open("/dev/full", "w") as full:
        done = subprocess.run(COMMAND + words, cwd=project, stdout=full, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (3, "repro: standard output: No space left on device\n")


@pytest.mark.parametrize(
    "words", [["record", "matrix"], ["--version"], ["--help"], ["run", "prints.py"], ["run", "endless.py"]]
)
def test_output_that_nobody_reads(project, words):
    (project / "prints.py").write_text(PRINTS)
    (project / "endless.py").write_text(ENDLESS)
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(COMMAND + words, cwd=project, stdout=write, stderr=subprocess.PIPE, text=True)
    os.close(write)
    assert (done.returncode, done.stderr) == (141, "")


def test_a_program_that_prints_nothing_needs_no_room(project):
    (project / "silent.py").write_text("")
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*COMMAND, "run", "silent.py"], cwd=project, stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(("words", "status"), [(["rnu"], 2), (["run", "prints.py"], 0), (["record", "status"], 0)])
def test_closed_output_and_errors(project, words, status):
    """As `repro ... >&- 2>&-`, with standard input closed too: no file that is opened gets their numbers."""
    (project / "prints.py").write_text("import os\nprint('hi')\nopen('kept', 'w').write('x')\n")
    done = subprocess.run(["sh", "-c", '"$@" <&- >&- 2>&-', "sh", *COMMAND, *words], cwd=project)
    assert done.returncode == status
    assert words[-1] != "prints.py" or (project / "kept").read_text() == "x"


def test_errors_that_nobody_can_take_keep_the_status(project):
    with open("/dev/full", "w") as full:
        assert subprocess.run([*COMMAND, "rnu"], cwd=project, stderr=full).returncode == 2


@pytest.mark.parametrize(
    ("word", "near"), [("repros/oen.py", "repros/one.py"), ("oen", "repros/one.py"), ("repros/nothing.py", "")]
)
def test_a_misspelt_file_gets_a_suggestion(project, capsys, word, near):
    (project / "repros").mkdir()
    (project / "repros/one.py").write_text("")
    assert main(["run", word]) == 2
    said = capsys.readouterr().err
    if near:
        assert said == f"there is no file {word}; did you mean `{near}`?\n"
    else:
        fix = "fix: name a file that is there; `repro new NAME` writes a first repro\n"
        assert said == f"repro: {project}/{word}: No such file or directory\n{fix}"


def test_a_file_that_is_not_a_repro(project, capsys):
    (project / "x.py").write_text("def run(:\n")
    assert main(["run", "x.py"]) == 2
    assert capsys.readouterr().err.startswith("x.py:1:9: SYNTAX_ERROR\n    def run(:\n            ^ ")


def test_a_program_whose_run_needs_values_that_nothing_lists(project, capsys):
    """The message names what is missing; with the fix in the place that it names, the file can be read."""
    for head in ("", "# /// script\n# dependencies = []\n# ///\n"):
        for spec, names in (("f", "f"), ("n, *, m", "n, m"), ("n, k=1, *rest, m=2", "n")):
            text = f'{head}"""It is so."""\ndef run({spec}):\n    return {{}}\n'
            (project / "plain.py").write_text(text)
            assert main(["run", "plain.py"]) == 2
            line, them = text[: text.index("def")].count("\n") + 1, "them" if "," in names else "it"
            said = "\n".join(capsys.readouterr().err.splitlines()[:3])
            assert said == (
                f"plain.py:{line}:5: NO_PARAMS\n    def run({spec}):\n        ^^^ takes {names}, but the "
                f"file has no [tool.repro] block that lists values for {them}"
            )
    (project / "plain.py").write_text("def run(n, m):\n    pass\n")
    main(["run", "plain.py"])
    fix = [
        "fix: begin the file with",
        "    # /// script",
        "    # [tool.repro]",
        "    # params = { n = [1, 2], m = [1, 2] }",
        "    # ///",
        "or run it as a plain program: python -m dsl plain.py",
    ]
    assert capsys.readouterr().err.splitlines()[3:] == fix
    mended = "\n".join(line[4:] for line in fix[1:5]) + '\n"""It is so."""\ndef run(n, m):\n    pass\n'
    (project / "plain.py").write_text(mended)
    assert len(list(read(project / "plain.py").cases())) == 4
    (project / "plain.py").write_text("# /// script\n# dependencies = []\n# ///\ndef run(n):\n    pass\n")
    main(["run", "plain.py"])
    assert capsys.readouterr().err.splitlines()[3:] == [
        "fix: add to its `# /// script` block",
        "    # [tool.repro]",
        "    # params = { n = [1, 2] }",
        "or run it as a plain program: python -m dsl plain.py",
    ]


def test_accepting_a_replay_prints_each_line(project, capsys, monkeypatch):
    monkeypatch.setattr(
        "harness.capsules.capsule_file.accept", lambda *about: about[3]("adds: it holds") or {"validated": [1]}
    )
    assert main(["replay", "accept", "out"]) == 0
    assert capsys.readouterr().out == "adds: it holds\n1 validated\n"


def test_a_crash_and_an_infra_failure(write, capsys):
    write("import os\ndef run(): os.abort()")
    assert main(["run", "repros/one.py", "--fresh"]) == 1
    assert "fail: crash: SIGABRT" in capsys.readouterr().out
    write("import os\ndef run(): os.kill(os.getppid(), 9)")
    assert main(["run", "repros/one.py"]) == 3
    assert "infra: could not be run" in capsys.readouterr().out


def test_a_host_without_a_device_gives_no_verdict(write, capsys, monkeypatch):
    monkeypatch.setattr(hosts, "PROBE", "raise SystemExit('the driver sees no device')")
    write(TWICE, WIDTHS)
    assert main(["run", "repros/one.py", "--host", "local"]) == 3
    assert "no CUDA device that can be used: the driver sees no device\n" in capsys.readouterr().err


def test_help_teaches(capsys):
    for argv in (["--help"], ["run", "--help"], ["new", "--help"]):
        with pytest.raises(SystemExit) as left:
            main(argv)
        assert left.value.code == 0
        assert "repros/" in capsys.readouterr().out


def test_several_files_a_folder_and_an_expression(write, project, capsys):
    write(TWICE, WIDTHS)
    write(TWICE, WIDTHS, name="two")
    (project / "repros/script.py").write_text("print('x')\n")

    def ran(*words: str) -> list[str]:
        assert main(["run", *words, "--update-goldens"]) == 0
        lines = capsys.readouterr().out.splitlines()
        return [line.removeprefix("repros/").replace(".py::width=", " ") for line in lines if "::width=" in line]

    assert ran("repros") == ran("repros/one.py", "repros/two.py") == ["one 8", "one 16", "two 8", "two 16"]
    assert ran("repros", "-k", "two and not width=16") == ["two 8"]
    assert ran("repros/two.py::width=16", "one", "-p", "width=16") == ["two 16", "one 16"]
    for words, said in (
        (["repros", "-k", "three"], "no case of repros fits -k three\nfix: leave out -k, and see their names\n"),
        (["repros", "-k", "and"], "-k and: expected not OR left parenthesis OR identifier; got and, at column 1\n"),
        (["repros/one.py", "8"], "there is no file 8; a repro takes no arguments: -p NAME=VALUE chooses a value\n"),
        (["repros/one.py", "repros/script.py"],
         "repros/script.py is a script: run it alone, as `repro run repros/script.py`\n"),
        (["repros", "--watch"], "--watch runs one file again at every save: name one repro\n"),
        (["one::p1::width=8", "two::p2::width=8"], "the ids name several hosts, p1, p2: run them one after another\n"),
    ):  # fmt: skip
        assert main(["run", *words]) == 2
        assert capsys.readouterr().err == said


def test_quiet_prints_a_line_for_each_case(write, project, capsys):
    write(TWICE, WIDTHS)
    main(["run", "-q", "repros/one.py", "-p", "width=8", "--update-goldens"])
    capsys.readouterr()
    assert main(["run", "-q", "repros/one.py"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == [
        "pass: repros/one.py::width=8: predicted, not validated",
        "fail: repros/one.py::width=16: no golden",
    ]


def test_words_of_a_verdict_are_coloured_where_that_is_wanted(write, capsys, monkeypatch):
    write(TWICE, WIDTHS)
    command = ["run", "repros/one.py", "-p", "width=8"]
    for variable, options, wanted in (
        ("", [], False), ("FORCE_COLOR", [], True), ("FORCE_COLOR", ["--color", "never"], False),
        ("", ["--color", "always"], True), ("NO_COLOR", ["--color", "always"], True),
    ):  # fmt: skip
        with monkeypatch.context() as one:
            for name in ("FORCE_COLOR", "NO_COLOR"):
                one.delenv(name, raising=False)
            if variable:
                one.setenv(variable, "1")
            main([*command, *options])
        assert ("\x1b[31mfail\x1b[0m: no golden" in capsys.readouterr().out) is wanted, (variable, options)


def on_a_terminal(project, code: str, **variables: str) -> str:
    """The output of a Python program whose input and output are a terminal of 10 lines."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (10, 80))
    command = [sys.executable, "-c", code]
    known = {
        name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR", "PAGER", "LESS")
    }
    process = subprocess.Popen(command, cwd=project, stdin=theirs, stdout=theirs, stderr=theirs, env=known | variables)
    os.close(theirs)
    parts = []
    with contextlib.suppress(OSError):  # the terminal is gone when the process is
        while part := os.read(ours, 4096):
            parts.append(part)
    os.close(ours)
    assert process.wait() == 0
    return b"".join(parts).decode().replace("\r\n", "\n")


@pytest.mark.parametrize(
    "lines, pager, wanted", [(30, "sed s/^/paged:/", "paged:"), (5, "sed s/^/paged:/", ""), (30, "cat", "")]
)
def test_a_long_answer_goes_through_the_pager(project, lines, pager, wanted):
    code = (
        "import argparse; from harness.cli import document\n"
        f"document.give(argparse.Namespace(json=False), {{}}, '\\n'.join(map(str, range({lines}))))"
    )
    shown = on_a_terminal(
        project, code, PAGER=pager, TERM="xterm", PYTHONPATH=os.path.dirname(os.path.dirname(harness.__file__))
    )
    assert shown.splitlines()[:2] == [f"{wanted}0", f"{wanted}1"] and len(shown.splitlines()) >= lines


@pytest.mark.parametrize("old, new", [("matrix", "record"), ("review", "golden"), ("capsule", "replay")])
def test_the_spellings_of_the_last_release_go_on_with_a_note(project, capsys, old, new):
    words = [old, "--json"] if old != "capsule" else [old]
    with contextlib.suppress(SystemExit):
        main(words)
    note = f"note: `repro {old}` is now `repro {new} {old}`; the old spelling ends with 0.3\n"
    before = capsys.readouterr()
    assert before.err.startswith(note)
    with contextlib.suppress(SystemExit):
        main([new, *words])
    after = capsys.readouterr()
    assert (after.out, note + after.err) == (before.out, before.err)


def test_a_group_alone_lists_its_commands(capsys):
    assert main(["golden"]) == 2
    listed = capsys.readouterr().err
    assert "    accept    take results as goldens" in listed and "Results that wait for you" in listed
    for words, said in (
        (
            ["golden", "acept"],
            "repro golden: error: there is no command `acept`; did you mean `repro golden accept`?\n",
        ),
        (["acept"], "repro: error: there is no command `acept`; did you mean `repro golden accept`?\n"),
        (["record", "status", "--bogus"], "repro record status: error: unrecognized arguments: --bogus\n"),
    ):
        with pytest.raises(SystemExit) as ended:
            main(words)
        assert ended.value.code == 2 and capsys.readouterr().err.endswith(said)


@pytest.mark.parametrize("has_torch", [True, False])
def test_new_chooses_the_tensors(project, capsys, monkeypatch, has_torch):
    monkeypatch.setattr(new_command, "_has_torch", lambda: has_torch)
    monkeypatch.setattr(new_command, "_judge", lambda path, arguments: (0, {}))
    assert main(["new", "mine"]) == main(["new", "numbers", "--numpy"]) == 0
    out = capsys.readouterr().out
    assert ("import torch" in (project / "repros/mine.py").read_text()) is has_torch
    assert ("wrote repros/mine.py with numpy arrays: torch is not installed here\n" in out) is not has_torch
    assert "torch" not in (project / "repros/numbers.py").read_text() and "wrote repros/numbers.py\n" in out


def test_new_refuses_what_it_cannot_write(project, capsys):
    for name in ("Not-a-name", "../up", "/top", "a//b", "a/"):
        assert main(["new", name]) == 2
    (project / "repros").mkdir()
    (project / "repros/mine.py").write_text("mine")
    assert main(["new", "mine"]) == 2
    assert capsys.readouterr().err.endswith("repros/mine.py exists already; `repro run repros/mine.py` runs it\n")
    assert (project / "repros/mine.py").read_text() == "mine"


@pytest.mark.slow
def test_new_writes_a_repro_that_passes(project, capfd):
    assert main(["new", "my_question"]) == 0
    out = capfd.readouterr().out
    assert out.startswith(
        "wrote repros/my_question.py\n\nrepros/my_question.py::n=32\npass: predicted, not validated\n"
    )
    assert "accepted repros/goldens/my_question/n=40.json" in out
    golden = json.loads((project / "repros/goldens/my_question/n=40.json").read_text())
    assert golden["provenance"]["compiler"]["name"] == "ours"
    assert list(golden["provenance"]["ptx_sha256"].values())[0]
    assert main(["run", "repros/my_question.py", "-p", "n=40", "--ptx"]) == 0
    assert ".visible .entry" in capfd.readouterr().out
    assert main(["new", "warp/my_other_question", "--numpy"]) == 0
    assert "accepted repros/warp/goldens/my_other_question/n=40.json" in capfd.readouterr().out


def test_a_reader_who_has_read_enough():
    """As in `repro golden review | true`: no traceback, no complaint."""
    code = "import os, sys; from harness.cli import main; r, w = os.pipe(); os.close(r); os.dup2(w, 1); "
    argv = [sys.executable, "-c", code + "sys.exit(main(['golden', 'review']))"]
    done = subprocess.run(argv, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (141, "")


def test_a_setting_without_a_value(write, capsys):
    write(TWICE, WIDTHS)
    for argv in (["run", "repros/one.py"], ["doctor", "p1"], ["bisect", "repros/one.py", "--host", "p1,p2"]):
        assert main([*argv, "--set", "workdir"]) == 2
        assert "--set workdir: write KEY=VALUE, as in workdir=~/code/kestrel" in capsys.readouterr().err, argv


def leaves(parser, name=""):
    """Each command that runs something: its name and its parser."""
    commands = main_command._commands(parser)
    for word, one in commands.items():
        yield from leaves(one, f"{name} {word}".strip())
    if not commands:
        yield name, parser


def test_every_command_explains_its_exit_status():
    found = dict(leaves(main_command._parser()))
    assert len(found) > 25 and "golden review" in found
    assert [name for name, parser in found.items() if "Exit status" not in parser.format_help()] == []


@pytest.mark.parametrize("words, said", [
    (["run", ""], "repro run: error: argument FILE: "),
    (["run", "repros/one.py", ""], ""),
    (["fix", ""], "repro fix: error: argument FILE: "),
    (["issue", ""], "repro issue: error: argument CLAIM: "),
    (["golden", "accept", ""], "repro golden accept: error: argument CLAIM: "),
    (["golden", "accept", "one", "--json", ""], "repro golden accept: error: a name "),
    (["replay", "capsule", "repros", "-o", ""], "repro replay capsule: error: argument -o/--out: "),
    (["doctor", ""], "repro doctor: error: argument HOST: "),
])  # fmt: skip
def test_an_empty_word_names_nothing(write, capsys, words, said):
    """A variable of the shell that is unset: `repro golden accept "$CLAIM"` accepted all that waits."""
    write(TWICE, WIDTHS)
    try:
        assert main(words) == 2
    except SystemExit as ended:
        assert ended.code == 2
    heard = capsys.readouterr()
    text = json.loads(heard.out)["error"]["message"] if "--json" in words else heard.err.splitlines()[-1]
    assert text == f"{said or 'a name '}must not be empty: is a variable of the shell unset?"


def test_an_empty_program_and_an_empty_argument(capfd):
    assert main(["exec", ""]) == 2
    fix = "fix: repro exec ./a.out, or repro exec python program.py\n"
    assert capfd.readouterr().err == f"no program is given\n{fix}"
    assert main(["exec", "--", "printf", "<%s>", ""]) == 0
    assert capfd.readouterr().out == "<>"


def test_a_folder_in_the_place_of_a_file(write, capsys):
    write(TWICE, WIDTHS)
    assert main(["fix", "repros"]) == 2
    assert capsys.readouterr().err.endswith("/repros: Is a directory\nfix: name a file in it\n")


def test_a_working_directory_that_is_gone(tmp_path, monkeypatch, capsys):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert main(["run", "../one.py"]) == 3
    assert capsys.readouterr().err == "repro: the working directory is gone\nfix: `cd` to one that is there\n"
