"""Recording and playback: rows lead from one content to another, pointers are found, a run is repeated.

Modules tested here: dsl/launch/devices/playback.py.
"""

import hashlib
import json
import struct

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from dsl.emulator.machine.memory import Allocation
from dsl.launch.devices import recording
from dsl.launch.devices.choice import choose
from dsl.launch.devices.playback import Playback
from dsl.launch.devices.protocol import DeviceError, Launch
from dsl.launch.devices.recording import Recording, Regions

PTX = """.version 7.0
.target sm_80
.address_size 64
.visible .entry twice(.param .u64 data, .param .u64 count, .param .u32 by)
{
    .reg .pred %p<3>; .reg .b32 %r<4>; .reg .b64 %rd<6>;
    mov.u32 %r1, %tid.x;
    ld.param.u64 %rd1, [data];
    ld.param.u64 %rd4, [count];
    ld.param.u32 %r3, [by];
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd3, %rd1, %rd2;
    ld.global.u32 %r2, [%rd3];
    mul.lo.u32 %r2, %r2, %r3;
    st.global.u32 [%rd3], %r2;
    setp.eq.s64 %p1, %rd4, 0;
    @%p1 bra done;
    ld.global.u64 %rd5, [%rd4];
    st.global.u32 [%rd5], %r3;
done:
    ret;
}
"""


def apply(data: np.ndarray, rows: list[dict]) -> None:
    """Apply rows to `data`, independently of the code that reads recordings."""
    for row in rows:
        for index in range(row["size"]):
            if "mask" not in row or row["mask"][index // 8] >> index % 8 & 1:
                data[row["at"] + index] = row["fill"] if "fill" in row else row["bytes"][index]


pieces = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 299), st.integers(1, 90)), max_size=6)


@settings(deadline=None)
@given(pieces, pieces, st.booleans())
def test_changes_lead_from_one_content_to_another(first, second, from_nothing):
    data = np.zeros(300, np.uint8)
    for value, at, size in first:
        data[at : at + size] = value
    before, start = (None, np.full(300, 77, np.uint8)) if from_nothing else (recording.content(data), data.copy())
    for value, at, size in second:
        data[at : at + size] = value
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recording, "CHUNK_BYTES", 64)
        before = None if from_nothing else recording.content(start)
        rows = list(recording.changes(before, recording.content(data), data.size))
    apply(start, rows)
    assert (start == data).all()
    if before is not None and second == []:
        assert rows == []


def test_neighbouring_fills_are_one_row():
    data = np.zeros(3 * recording.CHUNK_BYTES + 5, np.uint8)
    assert list(recording.changes(None, recording.content(data), data.size)) == [
        {"at": 0, "size": data.size, "fill": 0}
    ]


def test_overlapping_allocations_are_one_region():
    regions = Regions([Allocation(4096, 100, "a"), Allocation(4128, 200, "view of a"), Allocation(8192, 8, "b")])
    assert (regions.starts, regions.ends, regions.labels) == ([4096, 8192], [4328, 8200], ["a", "b"])


@pytest.mark.parametrize(
    "address, found", [(4095, None), (4096, (0, 0)), (4196, (0, 100)), (4197, None), (8200, (1, 8))]
)
def test_a_pointer_is_inside_or_just_after(address, found):
    assert Regions([Allocation(4096, 100, "a"), Allocation(8192, 8, "b")]).find(address) == found


def device_run(device, shift: int = 0) -> list[np.ndarray]:
    """Two launches with a host write between them, a null pointer first, then one in memory to a third array."""
    program = device.load(PTX)
    room = np.zeros(64 + shift, np.uint32)
    data, third = room[shift : shift + 32], np.zeros(4, np.uint32)
    data[:] = np.arange(32)
    pointer = np.array([third.ctypes.data + 8], np.uint64)
    arrays = {"data": data, "third": third, "pointer": pointer}
    for name, array in arrays.items():
        device.register(array.ctypes.data, array.nbytes, name)
    launch = Launch((1, 1, 1), (32, 1, 1))
    params = [struct.pack("<Q", data.ctypes.data), struct.pack("<Q", 0), struct.pack("<I", 2)]
    device.launch(program, "twice", launch, params)
    between = data.copy()
    data[3] = 1000
    params = [params[0], struct.pack("<Q", pointer.ctypes.data), struct.pack("<I", 3)]
    device.launch(program, "twice", launch, params)
    return [between, data.copy(), third.copy(), np.array([pointer[0] - third.ctypes.data])]


@pytest.fixture
def recorded(tmp_path):
    """A recording, what the run gave, and the notes."""
    returned = device_run(choose(f"recording:sm_80:{tmp_path}"))
    return tmp_path, returned, [json.loads(line) for line in (tmp_path / "launches.jsonl").read_text().splitlines()]


def test_a_recording_notes_what_a_launch_can_see(recorded):
    folder, returned, (first, second) = recorded
    assert returned[1][3] == 3000 and list(returned[2]) == [0, 0, 3, 0]
    assert first["params"][0]["pointers"] == [[0, 0, 0]] and first["params"][1] == {"bytes": "00" * 8, "pointers": []}
    assert [about["label"] for about in first["regions"].values()] == ["data"]
    assert sorted(about["label"] for about in second["regions"].values()) == ["data", "pointer", "third"]
    assert second["writes"]["0"] == [{"at": 12, "size": 2, "bytes": second["writes"]["0"][0]["bytes"]}]
    assert [[row[1], row[3]] for row in second["pointers"]] == [[0, 8]]
    for file in folder.iterdir():
        if file.name != "launches.jsonl":
            assert hashlib.sha256(file.read_bytes()).hexdigest() == file.name


def played(folder, **result) -> Playback:
    """The recording with the result of a GPU that did what the emulator did, except `result`."""
    lines = [json.loads(line) for line in (folder / "launches.jsonl").read_text().splitlines()]
    launches = [{"changes": line["predicted"], "as_predicted": True} for line in lines]
    table = {
        "outcome": "ran",
        "device": {"kind": "cuda", "name": "H200", "driver": "1", "arch": "sm_90"},
        "arch": "sm_80",
        "launches": launches,
    }
    (folder / "result.json").write_text(json.dumps(table | result))
    return choose(f"playback:{folder}")


def test_playback_gives_the_same_at_other_addresses(recorded):
    folder, returned, _ = recorded
    device = played(folder)
    assert device.facts()["name"] == "H200" and device.arch == "sm_80"
    for got, wanted in zip(device_run(device, shift=5), returned):
        assert (got == wanted).all()


@pytest.mark.parametrize(
    "changes, why",
    [
        ({"0": [{"at": -5, "size": 4, "fill": 0}]}, "ValueError('bytes -5 to -1 of a region of "),
        ({"0": [{"at": 0, "size": 1 << 60, "fill": 0}]}, f"ValueError('bytes 0 to {1 << 60} of a region of "),
        ({"0": [{"at": 0, "size": 4}]}, "KeyError('bytes')"),
        ({"77": []}, "KeyError('77')"),
    ],
)
def test_a_damaged_result_is_not_an_outcome_of_the_program(recorded, changes, why):
    device = played(recorded[0], launches=[{"changes": changes, "as_predicted": True}] * 2)
    with pytest.raises(DeviceError) as caught:
        device_run(device, shift=5)
    assert str(caught.value).startswith(f"REPLAY_DAMAGED: launch 1 cannot be played back: {why}")
    assert caught.value.repro_outcome is None


def test_noise_that_looks_like_a_pointer_is_kept_as_it_is(tmp_path):
    """Memory nobody wrote may hold old addresses: they lead elsewhere, or nowhere, in the next run."""

    def run(device, noise_to: int) -> np.ndarray:
        data, other = np.arange(64, dtype=np.uint32), np.zeros(8, np.uint64)
        data[40:42] = np.array([other.ctypes.data if noise_to == 0 else noise_to], np.uint64).view(np.uint32)
        for array in (data, other):
            device.register(array.ctypes.data, array.nbytes, "array")
        params = [struct.pack("<Q", data.ctypes.data), bytes(8), struct.pack("<I", 2)]
        device.launch(device.load(PTX), "twice", Launch((1, 1, 1), (32, 1, 1)), params)
        return data

    run(choose(f"recording:sm_80:{tmp_path}"), 0)
    (line,) = map(json.loads, (tmp_path / "launches.jsonl").read_text().splitlines())
    assert [row[1] for row in line["pointers"]] == [160]
    got = run(played(tmp_path), 0x7FFF_1234_5678)
    assert (got[:32] == 2 * np.arange(32)).all() and got[40:42].view(np.uint64)[0] == 0x7FFF_1234_5678


def test_a_gpu_that_gave_something_else_is_believed(recorded):
    folder, returned, lines = recorded
    other = np.arange(7, 39, dtype=np.uint32).tobytes()
    name = hashlib.sha256(other).hexdigest()
    (folder / name).write_bytes(other)
    launches = [
        {"changes": lines[0]["predicted"], "as_predicted": True},
        {"changes": {"0": [{"at": 0, "size": 128, "bytes": name}]}, "as_predicted": False},
    ]
    assert (device_run(played(folder, launches=launches))[1] == np.arange(7, 39)).all()


def test_host_writes_that_depend_on_a_difference_are_reported(recorded):
    """The host adds to what the first launch gave: were that different, the second launch had other inputs."""
    launches = [{"changes": {}, "as_predicted": False}, {"changes": {}, "as_predicted": False}]
    device = played(recorded[0], launches=launches)
    data, third = np.arange(32, dtype=np.uint32), np.zeros(4, np.uint32)
    pointer = np.array([third.ctypes.data + 8], np.uint64)
    for name, array in {"data": data, "third": third, "pointer": pointer}.items():
        device.register(array.ctypes.data, array.nbytes, name)
    params = [struct.pack("<Q", data.ctypes.data), struct.pack("<Q", 0), struct.pack("<I", 2)]
    device.launch(PTX, "twice", Launch((1, 1, 1), (32, 1, 1)), params)
    data += 1
    params[1] = struct.pack("<Q", pointer.ctypes.data)
    with pytest.raises(DeviceError, match="REPLAY_DIVERGED.*before launch 2 the host wrote other bytes into data"):
        device.launch(PTX, "twice", Launch((1, 1, 1), (32, 1, 1)), params)


@pytest.mark.parametrize("outcome, kind", [("fault", "out_of_bounds"), ("trap", "trap"), ("deadlock", "deadlock")])
def test_a_failure_on_the_gpu_is_an_outcome(recorded, outcome, kind):
    device = played(recorded[0], outcome=outcome, kind=kind, name="CUDA_ERROR", text="so it was", launches=[])
    with pytest.raises(DeviceError, match="CUDA_ERROR: so it was") as error:
        device_run(device)
    assert (error.value.repro_outcome["outcome"], error.value.repro_outcome["kind"]) == (outcome, kind)


def test_a_launch_that_differs_from_the_recording_is_reported(recorded):
    device = played(recorded[0])
    with pytest.raises(DeviceError, match=r"REPLAY_DIVERGED: .*block \[64, 1, 1\]; recorded was \[32, 1, 1\]"):
        device.launch(PTX, "twice", Launch((1, 1, 1), (64, 1, 1)), [bytes(8), bytes(8), bytes(4)])


def test_a_kernel_that_fails_is_recorded_too(tmp_path):
    device = Recording("sm_80", str(tmp_path))
    with pytest.raises(Exception, match="OUT_OF_BOUNDS") as error:
        device.launch(device.load(PTX), "twice", Launch((1, 1, 1), (32, 1, 1)), [bytes(8), bytes(8), bytes(4)])
    assert error.value.repro_outcome["kind"] == "out_of_bounds"
    (line,) = map(json.loads, (tmp_path / "launches.jsonl").read_text().splitlines())
    assert "predicted" not in line and line["regions"] == {}
