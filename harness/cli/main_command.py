"""The command `repro`: its groups, and the door to all of its commands.

Exit status of every command: 0 good, 1 findings or failures, 2 wrong usage, 3 it could not be run.
"""

from __future__ import annotations

import argparse
import difflib
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from harness.cli import (
    adopt_command,
    bisect_command,
    cache_command,
    capsule_commands,
    capture_command,
    completion_command,
    document,
    hosts_command,
    issue_command,
    new_command,
    reduce_command,
    run_command,
)
from harness.cli.exec import exec_command
from harness.cli.fix import fix_command
from harness.cli.golden import golden_commands
from harness.cli.outcomes import outcomes_command
from harness.cli.record import record_commands
from harness.terminal import OutputFailed, open_closed, say

_ABOUT = """\
What does this GPU language feature really do? Write the question as one small file, a repro, and run it.

  repro new my_question                    write repros/my_question.py, a first repro that passes
  repro run repros/my_question.py          run it on the emulator: verdict, claim, differences lane by lane
  repro run repros/my_question.py --ptx    the same, and the PTX that the compiler made
  pytest repros                            all of them, judged against their goldens
  pytest repros --gpu-host p1              the same on the host p1 of ssh_config
  repro fix repros/my_question.py --apply  make the edits that its findings propose, and run it again
  repro doctor p1                          what that host has and lacks
  repro capture -o repros/x.py -- python train.py     one call of a program as a file that runs alone
  repro golden review                      results that nobody judged yet
  repro record status                      the state of every claim in the record
  repro replay capsule repros -o all.capsule      all of them as one file for a GPU without a connection

`repro COMMAND --help` teaches each command; `repro golden`, `record`, `replay` and `cache` list theirs.
"""

_GROUPS = {  # name: (in the list of commands, its own help)
    "golden": ("review results and take them as goldens", "Results that wait for you, and the goldens they become."),
    "record": ("what ran and what changed", "Questions to the record of everything that was judged."),
    "replay": ("GPUs without a connection", "Files that run elsewhere, and the results that come back."),
    "cache": ("what is kept on this machine", "Files on this machine that can be made again."),
}
_MOVED = {
    **dict.fromkeys(("review", "accept", "reject", "unused"), "golden"),
    **dict.fromkeys(("status", "history", "diff", "compare", "regressions", "matrix", "forget", "report"), "record"),
    **dict.fromkeys(("capsule", "validate"), "replay"),
}  # the spellings of 0.1; they go with 0.3


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit status."""
    open_closed()
    try:
        return _main(list(sys.argv[1:] if argv is None else argv))
    except (BrokenPipeError, OutputFailed) as error:  # of what is printed before a command runs: help, the version
        return document.output_failed(error)


def _main(words: list[str]) -> int:
    parser = _parser()
    if words and words[0] in _MOVED:
        group = _MOVED[words[0]]
        say(
            f"note: `repro {words[0]}` is now `repro {group} {words[0]}`; the old spelling ends with 0.3",
            file=sys.stderr,
        )
        words.insert(0, group)
    asked, names = parser, []
    try:
        while commands := _commands(asked):
            if len(words) == len(names):
                asked.print_help(sys.stderr)
                return document.USAGE
            _check_name(asked, words[len(names)], commands)
            if words[len(names)] not in commands:
                break
            names.append(words[len(names)])
            asked = commands[names[-1]]
        arguments = _parsed(parser, asked, words)
    except document.WrongUsage as wrong:
        return document.answer_wrong_usage(wrong, words, names)
    return document.answer(arguments, names[-1])


def _commands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """The commands of a parser by their names."""
    return {
        name: one
        for action in parser._actions
        if isinstance(action, argparse._SubParsersAction)
        for name, one in action.choices.items()
    }


def _check_name(parser: argparse.ArgumentParser, word: str, names: Iterable[str]) -> None:
    """Raise WrongUsage for a command that is misspelt, or for a file in its place."""
    if word in names or word.startswith("-"):
        return
    if parser.prog == "repro" and Path(word).is_file():
        parser.error(f"`{word}` is a file; `repro run {word}` runs it")
    moved = _MOVED if parser.prog == "repro" else {}
    known = {name: name for name in names} | {name: f"{group} {name}" for name, group in moved.items()}
    if alike := difflib.get_close_matches(word, known, 1):
        parser.error(f"there is no command `{word}`; did you mean `{parser.prog} {known[alike[0]]}`?")


class _Version(argparse.Action):
    """Prints the version and ends; what it needs is imported then."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from harness.reporting.publish import version

        say(f"gpu-repro {version()}, Python {sys.version.split()[0]}")
        parser.exit()


def _parsed(parser: argparse.ArgumentParser, asked: argparse.ArgumentParser, given: list[str]) -> argparse.Namespace:
    """The arguments. Claims and a program's arguments may follow options; all after `--` belongs to the program."""
    head = (
        given[: given.index("--")]
        if given[:1] in (["run"], ["reduce"], ["bisect"], ["fix"], ["exec"]) and "--" in given
        else given
    )
    try:
        arguments, left = parser.parse_known_args(head)
    except document.WrongUsage as wrong:  # argparse misses an argument before it looks at what it does not know
        unknown = [word for word in head if _is_unknown(word, asked)]
        if unknown and "arguments are required" in str(wrong):
            asked.error(_unrecognized(unknown, asked))
        raise
    more = next((getattr(arguments, name) for name in ("names", "args") if hasattr(arguments, name)), None)
    if left and (more is None or any(text.startswith("-") for text in left)):
        hint = " (put the program's own options after --)" if hasattr(arguments, "args") else ""
        asked.error(_unrecognized(left, asked) + hint)
    if more is not None:
        more += left + given[len(head) + 1 :]
    if "" in getattr(arguments, "names", ()):
        asked.error(f"a name {document.EMPTY}")
    return arguments


def _is_unknown(word: str, parser: argparse.ArgumentParser) -> bool:
    """Whether a word is a long option, and no option of the parser begins so."""
    name = word.partition("=")[0]
    return name.startswith("--") and not any(one.startswith(name) for one in parser._option_string_actions)


def _unrecognized(words: Sequence[str], parser: argparse.ArgumentParser) -> str:
    """A sentence about words that a command does not take, with the option that is most like one of them."""
    names = [word.partition("=")[0] for word in words if word.startswith("--")]
    alike = [near for name in names for near in difflib.get_close_matches(name, parser._option_string_actions, 1, 0.7)]
    return f"unrecognized arguments: {' '.join(words)}" + (f"; did you mean `{alike[0]}`?" if alike else "")


def _parser() -> argparse.ArgumentParser:
    raw = argparse.RawDescriptionHelpFormatter
    parser = document.Parser("repro", description=_ABOUT, formatter_class=raw)
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version of gpu-repro and of Python")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for one in (run_command, new_command, adopt_command, hosts_command):
        one.add(commands)
    groups = {}
    for name, (about, text) in _GROUPS.items():
        group = commands.add_parser(name, help=about, description=text)
        groups[name] = group.add_subparsers(required=True, metavar="COMMAND")
    golden_commands.add(groups["golden"])
    record_commands.add(groups["record"])
    capsule_commands.add(groups["replay"])
    golden_commands.add_replay(groups["replay"])
    cache_command.add(groups["cache"])
    exec_command.add(commands)
    for one in (fix_command, outcomes_command, capture_command, reduce_command, bisect_command, issue_command):
        one.add(commands)
    completion_command.add(commands, _parser)
    return parser
