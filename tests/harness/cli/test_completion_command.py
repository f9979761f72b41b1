"""Scripts that complete the command line: each shell reads its own and answers."""

import subprocess

import pytest

from harness.cli import main

ASK = {
    "bash": "source {script}; COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); "
    '$(complete -p repro | sed "s/.*-F \\([^ ]*\\).*/\\1/"); printf "%s\\n" "${{COMPREPLY[@]}}"',
    "fish": 'source {script}; complete -C "{words}"',
}


@pytest.mark.parametrize("shell", ASK)
@pytest.mark.parametrize(
    "words, found",
    [
        ("repro gol", "golden"),
        ("repro golden acc", "accept"),
        ("repro run --upd", "--update-goldens"),
        ("repro xyz", ""),
    ],
)
def test_the_shell_completes(tmp_path, capsys, needs, shell, words, found):
    needs(shell, shell)
    assert main(["completion", shell]) == 0
    (tmp_path / "script").write_text(capsys.readouterr().out)
    ask = ASK[shell].format(script=tmp_path / "script", words=words)
    done = subprocess.run([shell, "-c", ask], capture_output=True, text=True, timeout=600, check=True, cwd=tmp_path)
    assert [line.split("\t")[0] for line in done.stdout.splitlines()] == [found] * bool(found) or done.stdout == "\n"


def test_zsh_reads_its_script(tmp_path, capsys, needs):
    needs("zsh", "zsh")
    assert main(["completion", "zsh"]) == 0
    text = capsys.readouterr().out
    (tmp_path / "_repro").write_text(text)
    subprocess.run(["zsh", "-n", tmp_path / "_repro"], check=True, timeout=600)
    assert text.startswith("#compdef repro") and ":_files" in text and "--update-goldens" in text
