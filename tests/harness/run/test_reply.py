"""Replies of a host: hashed here, typed and bounded; any other reply is one sentence and no verdict."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from harness import store
from harness.comparison import golden
from harness.host.connection import connection
from harness.records import history
from harness.run import result
from tests.harness import mutants


def read(change, kind="outputs"):
    """The outcome of a whole reply after `change(header)`."""
    header, buffers = mutants.whole(kind)
    change(header)
    return result.from_reply(header, buffers, ["p"])


def kernel_of(header):
    return header["result"]["facts"]["kernels"][0]


@pytest.mark.parametrize(
    "change, said",
    [
        (lambda h: h["result"]["facts"].update(kernels=5),
         "result.facts.kernels must be a list of at most 10000, got 5"),
        (lambda h: h["result"].update(facts=[]), "result.facts must be a table, got a list of 0"),
        (lambda h: kernel_of(h).pop("ptx"), "result.facts.kernels[0].ptx is missing"),
        (lambda h: kernel_of(h).update(arch="sm_90/../../x"),
         "result.facts.kernels[0].arch must be an arch such as sm_90a, got 'sm_90/../../x'"),
        (lambda h: kernel_of(h)["launches"][0].update(block=[32, 1, 1 << 40]),
         f"result.facts.kernels[0].launches[0].block[2] must be a whole number from 1 to {2**31 - 1}, got {1 << 40}"),
        (lambda h: kernel_of(h)["launches"][0].update(grid=[1, 1]),
         "result.facts.kernels[0].launches[0].grid must be a list of 3, got a list of 2"),
        (lambda h: h["result"]["facts"]["device"].update(arch="../../x"),
         "result.facts.device.arch must be an arch such as sm_90a, got '../../x'"),
        (lambda h: h["result"]["outputs"][0].update(shape=[1 << 50]),
         f"result.outputs[0].shape[0] must be a whole number from 0 to {1 << 40}, got {1 << 50}"),
        (lambda h: h["result"]["outputs"][0].update(shape=[1 << 40, 1 << 40]),
         "output 'p' has 8 bytes, and float32 (1099511627776, 1099511627776) needs 4835703278458516698824704"),
        (lambda h: h["result"]["outputs"][0].update(name="s"), "two outputs are called 's'"),
        (lambda h: h["result"]["preds"].clear(), "the predicate of 'p' did not answer"),
        (lambda h: h["result"]["preds"][0].update(name="q"),
         "the predicate of 'q' must answer with booleans of its output's shape"),
        (lambda h: h["result"].update(count=1 << 70),
         "result.count must be a whole number from 1 to 1000000000, got a number of 71 bits"),
        (lambda h: h["durations"].update(run_s=float("nan")), "durations.run_s must be a number from 0 to 1e+09, got nan"),
        (lambda h: h["durations"].update({"\x1b": 0, "\\x1b": 0}), "two names in durations are the same once they are printable"),
        (lambda h: h.update(status=None), "status must be a table, got nothing"),
        (lambda h: h["result"].update(outcome="winner\u202e"), None),
        (lambda h: h.update(stdout=["x"]), "stdout must be a text of at most 1048576 characters, got a list of 1"),
        (lambda h: h["result"].update(text="x" * (2 << 20)),
         "result.text must be a text of at most 1048576 characters, got a text of 2097152 characters"),
        (lambda h: h["result"]["others"].extend(h["result"]["others"] * 200),
         "result.others must be a list of at most 64, got a list of 201"),
    ],
)  # fmt: skip
def test_a_reply_that_does_not_fit_is_one_sentence(change, said):
    outcome = read(change)
    assert outcome.kind == "infra" and outcome.text.startswith("the reply of the runner is broken: ")
    assert outcome.text.isprintable()
    if said:
        assert outcome.text == f"the reply of the runner is broken: {said}"


@pytest.mark.parametrize("kind", sorted(set(mutants.KINDS)))
def test_a_whole_reply_fits(kind):
    outcome = read(lambda header: None, kind)
    assert outcome.kind == {"fault": "race"}.get(kind, kind)
    assert outcome.facts["device"]["arch"] == "sm_90a"


def test_hashes_are_made_here(tmp_path):
    """A host cannot name a file: neither by the hash it sends, nor by a kernel's name, nor by what it calls a device."""
    victim = mutants.Victim(tmp_path)
    header, buffers = mutants.whole("outputs")
    kernel_of(header).update(ptx_sha256="../../../../x", name="../../y")
    outcome = result.from_reply(header, buffers, ["p"])
    ptx = kernel_of(header)["ptx"]
    (kernel,) = outcome.kernels
    assert kernel["ptx_sha256"] == store.sha256(store.without_folders(ptx))
    assert list(history.blobs(outcome)) == [f"{kernel['ptx_sha256']}.ptx"]
    victim.take(header, buffers)
    assert victim.strays() == []
    (kept,) = (tmp_path / "project/.repro/records/blobs").iterdir()
    assert store.sha256(kept.read_text()) == kept.stem


def test_a_line_of_another_file_is_not_read(tmp_path):
    """The file that a rejection names is on another machine: only the repro's own text is looked into."""
    secret = tmp_path / "secret"
    secret.write_text("one\ntwo\nthree\n")
    victim = mutants.Victim(tmp_path / "v")
    for file, wanted in ((str(secret), None), ("/elsewhere/one.py", "# params = { width = [8] }"), ("/dev/zero", None)):
        header, buffers = mutants.whole("rejected")
        header["result"]["file"] = file
        outcome = result.from_reply(header, buffers)
        assert golden.identity_of(victim.case, outcome)["line_text"] == wanted


@pytest.mark.parametrize("count", [200, pytest.param(20_000, marks=pytest.mark.slow)])
def test_mutants(tmp_path, monkeypatch, count):
    """Replies and frames changed at random: an outcome, or infra with one sentence; nothing else happens."""
    monkeypatch.setattr(os, "fsync", lambda fd: None)
    before_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    victim = mutants.sweep(count, 7, tmp_path)
    assert victim.kinds["infra"] > count // 3 and len(victim.kinds) > 4
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kb < 300 << 10


BOMBS = {
    "lists": b"[" + b"[]," * 3_000_000 + b"[]]",
    "texts": b"[" + b'"",' * 3_000_000 + b'""]',
    "quotes": b'["' + b'\\"' * 5_000_000 + b'"]',
    "escapes": b'["' + b"\\u202e" * 5_000_000 + b'"]',
    "deep": b"[" * 10_000_000,
    "digits": b"9" * 10_000_000,
    "open": b'"' * 10_000_001,
}
READ = """
import resource, struct, sys
from harness.run.frames import BadFrame, read_frame, read_from
body = BODY
before = resource.getrusage(resource.RUSAGE_SELF)
try:
    read_frame(read_from(b"RPR1" + struct.pack("<I", len(body)) + body), 64 << 20)
    print("read")
except BadFrame as error:
    print(str(error))
after = resource.getrusage(resource.RUSAGE_SELF)
print((after.ru_maxrss - before.ru_maxrss) >> 10, after.ru_utime - before.ru_utime)
"""


@pytest.mark.slow
def test_a_small_frame_takes_no_large_memory():
    """10 MB that a parser would make gigabytes of."""
    source = Path(__file__).read_text()
    table = source[source.index("BOMBS = ") : source.index("READ = ")]
    read = READ.replace("BODY", 'b\'{"buffers": [], "x": \' + BOMBS[sys.argv[1]] + b"}"')
    for name in BOMBS:
        done = subprocess.run(
            [sys.executable, "-c", f"import sys\n{table}\n{read}", name], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        said, numbers = done.stdout.splitlines()
        megabytes, seconds = map(float, numbers.split())
        assert said.startswith(("a header of more than", "the header of a frame is broken", "read")), said
        assert megabytes < 300 and seconds < 20, (name, megabytes, seconds)


def test_other_frames_of_an_agent():
    """Hello, the probe, the doctor and uv: the same door."""
    bad = [
        (connection.reply.Hello, {"kind": "hello", "protocol": "1"}, "protocol must be a whole number"),
        (connection.reply.Hello, {"protocol": 1, "packages": 5}, "packages must be a list"),
        (
            connection.reply.Probed,
            {"gpus": [{"arch": "ninety", "name": "x", "driver": "1"}]},
            "gpus[0].arch must be an arch",
        ),
        (connection.reply.Probed, {"gpus": [{"arch": "sm_90", "uuid": "../../x"}]}, "gpus[0].uuid must be letters"),
        (connection.reply.Probed, {"holders": [{"pid": "1"}]}, "holders[0].pid must be a whole number"),
        (connection.reply.Found, {"python": "3.11"}, "cache is missing"),
        (connection.reply.Found, None, "it must be a table"),
        (connection.reply.Uv, {"uv": ["x"]}, "uv must be a text"),
        (connection.reply.Said, {"kind": "down", "text": 5}, "text must be a text"),
    ]
    for cls, header, said in bad:
        with pytest.raises(connection.LinkDown) as caught:
            connection.understood(cls, header)
        assert str(caught.value).startswith(f"what the host answered is broken: {said}")
    whole = {"python": "3.11", "cache": "/c", "free_bytes": 5, "packages": 1, "left_processes": [[1, "a\u202e"]]}
    assert connection.understood(connection.reply.Found, whole).left_processes == [(1, r"a\u202e")]
