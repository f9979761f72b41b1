"""The playback device: launches give what a GPU gave when a recording was replayed there.

Its folder is a recording (see recording.py) with what the replay adds: `result.json`, which holds `device` (the GPU's
facts), `arch`, `outcome` and for each launch `changes` ({region: [row, ...]}, as in a recording, in files).
The program runs here with its host code; a kernel's work is to put the GPU's bytes into memory.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from dsl.launch.devices.emulated import Emulated
from dsl.launch.devices.protocol import DeviceError, Launch
from dsl.launch.devices.recording import Regions, bytes_at


class Playback(Emulated):
    """A GPU remembered."""

    def __init__(self, folder: str):
        super().__init__()
        self.folder = Path(folder)
        self.launches = [json.loads(line) for line in (self.folder / "launches.jsonl").read_text().splitlines()]
        self.result = json.loads((self.folder / "result.json").read_text())
        self.arch = self.result["arch"]
        self._next = 0
        self._mirror: dict[str, np.ndarray] = {}  # what the GPU had in each region
        self._differed = False  # from the emulator, in a launch so far

    def facts(self) -> dict:
        return self.result["device"]

    def load(self, ptx: str) -> str:
        return ptx

    def launch(self, program: str, entry: str, launch: Launch, params: Sequence[bytes]) -> None:
        try:
            self._launch(entry, launch, params)
        except (
            ArithmeticError,
            AttributeError,
            LookupError,
            MemoryError,
            OSError,
            TypeError,
            ValueError,
            struct.error,
        ) as error:
            raise DeviceError("REPLAY_DAMAGED", f"launch {self._next} cannot be played back: {error!r}") from error

    def _launch(self, entry: str, launch: Launch, params: Sequence[bytes]) -> None:
        line = self._line(entry, launch, params)
        addresses = self._find(line, params)
        self._check_host_writes(line, addresses)
        for region, rows in line["writes"].items():
            contents = self._mirror.setdefault(region, np.zeros(line["regions"][region]["size_bytes"], np.uint8))
            self._apply(contents, rows)
        done = self.result["launches"][self._next : self._next + 1]
        self._next += 1
        if not done or done[0].get("changes") is None:
            raise self._failure()
        before = {(region, at): self._mirror[str(region)][at : at + 8].copy() for region, at, _, _ in line["pointers"]}
        for region, rows in done[0]["changes"].items():
            if rows and region not in addresses:
                raise _diverged(f"launch {self._next} changed memory that it does not point to here")
            self._apply(self._mirror[region], rows)
        self._differed |= not done[0]["as_predicted"]
        self._deliver(line, addresses, before)

    def _line(self, entry: str, launch: Launch, params: Sequence[bytes]) -> dict:
        """The recorded line of this launch. Raises DeviceError if the program launches something else."""
        if self._next >= len(self.launches):
            raise _diverged(f"launches `{entry}`, launch {self._next + 1} of {len(self.launches)} recorded")
        line = self.launches[self._next]
        for name, then, now in (
            ("entry", line["entry"], entry),
            ("grid", line["grid"], list(launch.grid)),
            ("block", line["block"], list(launch.block)),
            ("cluster", line["cluster"], list(launch.cluster)),
            ("smem_bytes", line["smem_bytes"], launch.smem_bytes),
            ("parameters' bytes", [len(p["bytes"]) // 2 for p in line["params"]], [len(p) for p in params]),
        ):
            if then != now:
                raise _diverged(f"launch {self._next + 1} has {name} {now}; recorded was {then}")
        return line

    def _find(self, line: dict, params: Sequence[bytes]) -> dict[str, int]:
        """The addresses of the recorded regions in this run, by the pointers to them.

        A value that looked like a pointer in memory may have been noise that nobody wrote: it counts only if it leads
        to memory of that size again.
        """
        addresses: dict[str, int] = {}
        here = Regions(self.memory.allocations())

        def fits(region: str, address: int) -> bool:
            at = here.find(address)
            return at is not None and at[1] + line["regions"][region]["size_bytes"] <= here.size_bytes(at[0])

        for param, recorded in zip(params, line["params"]):
            for at, region, offset in recorded["pointers"]:
                address = struct.unpack_from("<Q", param, at)[0] - offset
                if addresses.setdefault(str(region), address) != address or not fits(str(region), address):
                    raise _diverged(f"launch {self._next + 1} has its memory laid out otherwise")
        for region, at, to, offset in line["pointers"]:
            if str(region) in addresses and str(to) not in addresses:
                address = struct.unpack("<Q", bytes_at(addresses[str(region)] + at, 8).tobytes())[0] - offset
                if fits(str(to), address):
                    addresses[str(to)] = address
        return addresses

    def _check_host_writes(self, line: dict, addresses: dict[str, int]) -> None:
        """Check that the host wrote the recorded bytes: it may differ once the GPU has differed from the emulator."""
        if not self._differed:
            return
        skip = {(str(region), at) for region, at, _, _ in line["pointers"]}
        for region, recorded in self._mirror.items():
            if region not in addresses:
                continue
            wanted = recorded.copy()
            self._apply(wanted, line["writes"][region])
            actual = bytes_at(addresses[region], wanted.size).copy()
            for place, at in skip:
                if place == region:
                    actual[at : at + 8] = wanted[at : at + 8]
            if not np.array_equal(actual, wanted):
                label = line["regions"][region]["label"]
                raise _diverged(
                    f"before launch {self._next + 1} the host wrote other bytes into {label} than were "
                    "replayed, because an earlier launch gave other results on the GPU than here"
                )

    def _apply(self, contents: np.ndarray, rows: list[dict]) -> None:
        for row in rows:
            if not 0 <= row["at"] <= row["at"] + row["size"] <= contents.size:
                raise ValueError(f"bytes {row['at']} to {row['at'] + row['size']} of a region of {contents.size}")
            part = contents[row["at"] : row["at"] + row["size"]]
            if "fill" in row:
                part[:] = row["fill"]
                continue
            data = np.frombuffer((self.folder / row["bytes"]).read_bytes(), np.uint8)
            if "mask" in row:
                packed = np.frombuffer((self.folder / row["mask"]).read_bytes(), np.uint8)
                np.copyto(part, data, where=np.unpackbits(packed, count=row["size"], bitorder="little").astype(bool))
            else:
                part[:] = data

    def _deliver(self, line: dict, addresses: dict[str, int], before: dict) -> None:
        """Put the GPU's bytes into memory; pointers in memory keep this run's values if no kernel changed them."""
        for region, address in addresses.items():
            data, actual = self._mirror[region].copy(), bytes_at(address, self._mirror[region].size)
            for owner, at, _, _ in line["pointers"]:
                if str(owner) == region and np.array_equal(data[at : at + 8], before[owner, at]):
                    data[at : at + 8] = actual[at : at + 8]
            actual[:] = data

    def _failure(self) -> DeviceError:
        """The failure of the GPU that did not end the kernel."""
        result = self.result
        outcome = {"outcome": result["outcome"], "kind": result.get("kind"), "file": None, "line": None}
        is_outcome = result["outcome"] in ("trap", "fault", "deadlock")
        return DeviceError(
            result.get("name", "CUDA"), result.get("text", result["outcome"]), outcome if is_outcome else None
        )


def _diverged(why: str) -> DeviceError:
    return DeviceError(
        "REPLAY_DIVERGED",
        f"the program does not do what was recorded: {why}\n"
        "fix: record it again with `repro replay capsule`, and replay that",
    )
