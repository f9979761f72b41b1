"""Quadrants programs on this compiler's emulator compared with the real package on its CPU:
one run, alternating fresh processes.

    uv run python benchmarks/quadrants.py [--runs 5] [--elements 24]

Both start with compiled bytecode in their own caches and without a cache of compiled kernels. Import, init and
first calls are CPU seconds of the process and its ended children, the least of the runs; saxpy is wall time, the least
of several launches, on all CPUs of both; warm calls are CPU microseconds of the calling thread, of which ours launch
nothing (cuLaunchKernelEx answers 0), because that is the device's time, while the real package runs its empty loop.
Launches are calls whose kernels do run, ours on the emulator: of growing text, of which each call does as little; with
barriers; and a simulation of many small kernels. Arrays are kernels over whole fields, CPU milliseconds of all
threads after the first calls, in which ours switches to optimised code; MPM is its first
200 steps, with compilation, and one kernel of a step. Two rows are ours alone: 2 000 bodies take the real package
minutes to compile (200: a second, 1 000: half a minute), and on its CPU it refuses `block.sync`.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]

START = """
import json, sys, time
whose, kind, log2 = sys.argv[1], sys.argv[2], int(sys.argv[3])
found = {}


def cpu():
    import resource
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


begin = cpu()
if whose == "ours":
    sys.path.insert(0, sys.argv[4])
    from dsl import alias
    alias.install("emulator")
import quadrants as qd
found["import"] = cpu() - begin
"""

COLD = """
begin = cpu()
qd.init(arch=qd.cpu, offline_cache=False)
found["init"] = cpu() - begin
x = qd.field(qd.i32, shape=1024)


@qd.kernel
def trivial():
    x[0] = 1


@qd.kernel
def loop():
    for i in range(1024):
        x[i] = i


for name, kernel in (("first call, a store", trivial), ("first call, a loop", loop)):
    begin = cpu()
    kernel()
    qd.sync()
    found[name] = cpu() - begin
print(json.dumps(found))
"""

SAXPY = """
import numpy as np
qd.init(arch=qd.cpu, offline_cache=False)
n = 1 << log2
fx, fy = qd.field(qd.f32, shape=n), qd.field(qd.f32, shape=n)
ax, ay = qd.ndarray(qd.f32, n), qd.ndarray(qd.f32, n)
nx, ny = np.ones(n, np.float32), np.ones(n, np.float32)


@qd.kernel
def fields(a: float):
    for i in range(n):
        fy[i] = a * fx[i] + fy[i]


@qd.kernel
def struct_for(a: float):
    for i in fx:
        fy[i] = a * fx[i] + fy[i]


@qd.kernel
def arrays(a: float, x: qd.types.ndarray(), y: qd.types.ndarray()):
    for i in range(x.shape[0]):
        y[i] = a * x[i] + y[i]


def least(function):
    function()
    qd.sync()
    times = []
    for _ in range(9):
        begin = time.perf_counter()
        function()
        qd.sync()
        times.append(time.perf_counter() - begin)
    return min(times)


found = {"fields, range": least(lambda: fields(2.0)), "fields, for i in x": least(lambda: struct_for(2.0)),
         "qd.ndarray": least(lambda: arrays(2.0, ax, ay)), "numpy": least(lambda: arrays(2.0, nx, ny))}
print(json.dumps(found))
"""

WARM = '''
import numpy as np
if whose == "ours":
    from dsl.launch.devices import protocol as device, emulated, native_launch
    from dsl.launch import session
    from dsl.lower.host import native

    class Stub(emulated.Emulated):
        """A GPU that accepts everything: machine code ends in a function that returns 0."""
        kind, wants_storages, ends_launches_later = "stub", False, True

        def __init__(self):
            super().__init__()
            self.code = native("define i32 @accept(ptr %a, ptr %b, ptr %c, ptr %d) { ret i32 0 }", {}, ("accept",))
            self.launch_entry, self.entry = native_launch.entry(self.code.addresses["accept"])

        def nothing(self, *arguments): pass
        install = uninstall = begin = register = unregister = sync = launched = launch = load = nothing

        def function(self, program, entry, launch):
            return 1, 0

    session.stop()
    session.begin(session.Session(Stub()))
qd.init(arch=qd.cpu, offline_cache=False)
x, array, numbers = qd.field(qd.f32, shape=4), qd.ndarray(qd.f32, 4), np.zeros(4, np.float32)


@qd.kernel
def empty():
    pass


@qd.kernel
def store():
    x[0] = 1.0


@qd.kernel
def template(y: qd.template()):
    y[0] = 1.0


@qd.kernel
def scalars(a: int, b: float):
    x[0] = a + b


@qd.kernel
def of_array(y: qd.types.ndarray()):
    y[0] = 1.0


@qd.kernel
def returns(a: int) -> int:
    return a


def spent(function):
    function()
    least = float("inf")
    for _ in range(7):
        begin = time.thread_time()
        for _ in range(2000):
            function()
        least = min(least, (time.thread_time() - begin) / 2000)
    return least


found = {"empty": spent(empty), "global field": spent(store), "field as template": spent(lambda: template(x)),
         "two numbers": spent(lambda: scalars(1, 2.0)), "qd.ndarray": spent(lambda: of_array(array)),
         "numpy array": spent(lambda: of_array(numbers)), "returns a number": spent(lambda: returns(1))}
print(json.dumps(found))
'''

LAUNCHES = """
import numpy as np
qd.init(arch=qd.cpu, offline_cache=False)
x = qd.field(qd.f32, shape=64)


def with_bodies(bodies):
    @qd.kernel
    def kernel(n: int):
        for i in x:
            if n > 0:
                for j in qd.static(range(bodies)):
                    if x[i] > j:
                        x[i] += 1.0
            x[i] += 1.0
    return kernel


def spent(function, count=100):
    function()
    function()
    least = float("inf")
    for _ in range(7):
        begin = time.thread_time()
        for _ in range(count):
            function()
        least = min(least, (time.thread_time() - begin) / count)
    return least


found = {}
for bodies in (1, 50, 200) + (2000,) * (whose == "ours"):
    kernel = with_bodies(bodies)
    found[f"64 elements, {bodies} bodies"] = spent(lambda: kernel(0))



def with_barriers(barriers):
    @qd.kernel
    def kernel():
        qd.loop_config(block_dim=64)
        for i in range(64):
            for _ in qd.static(range(barriers)):
                qd.simt.block.sync()
            x[i] += 1.0
    return kernel


for barriers in (1, 50) * (whose == "ours"):
    found[f"64 threads, {barriers} barriers"] = spent(with_barriers(barriers))

particles = 256
position, velocity = (qd.Vector.field(2, qd.f32, shape=particles) for _ in range(2))


@qd.kernel
def fall(dt: float):
    for i in position:
        velocity[i][1] -= 9.8 * dt


@qd.kernel
def collide():
    for i in position:
        for axis in qd.static(range(2)):
            if position[i][axis] < 0.0 or position[i][axis] > 1.0:
                velocity[i][axis] *= -0.9


@qd.kernel
def move(dt: float):
    for i in position:
        position[i] += velocity[i] * dt


def simulate():
    for _ in range(200):
        fall(1e-3)
        collide()
        move(1e-3)


found["200 steps of 256 particles"] = spent(simulate, 1)
print(json.dumps(found))
"""

ARRAYS = """
import numpy as np
qd.init(arch=qd.cpu, offline_cache=False)
side, many, rng = 1024, 1 << 20, np.random.default_rng(0)


def field(dtype, values):
    made = qd.field(dtype, shape=values.shape)
    made.from_numpy(values)
    return made


x, y = (field(qd.f32, rng.random((side, side), np.float32)) for _ in range(2))
a, b, c = (field(qd.f32, rng.random((256, 256), np.float32)) for _ in range(3))
whole, floats = field(qd.i32, rng.integers(0, 1000, many).astype(np.int32)), field(qd.f32, rng.random(many, np.float32))
total, float_total = qd.field(qd.i32, shape=()), qd.field(qd.f32, shape=())


@qd.kernel
def copy():
    for i, j in x:
        y[i, j] = x[i, j]


@qd.kernel
def flat_copy():
    for k in range(side * side):
        i, j = k // side, k % side
        y[i, j] = x[i, j]


@qd.kernel
def stencil():
    for i, j in x:
        if 1 <= i < side - 1 and 1 <= j < side - 1:
            y[i, j] = 0.25 * (x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1])


@qd.kernel
def product():
    for i, j in c:
        s = 0.0
        for k in range(256):
            s += a[i, k] * b[k, j]
        c[i, j] = s


@qd.kernel
def add():
    for i in whole:
        total[None] += whole[i]


@qd.kernel
def add_floats():
    for i in floats:
        float_total[None] += floats[i]


@qd.kernel
def greatest():
    for i in whole:
        qd.atomic_max(total[None], whole[i])


@qd.kernel
def greatest_float():
    for i in floats:
        qd.atomic_max(float_total[None], floats[i])


def spent(function, count=3):
    begin = time.perf_counter()
    while time.perf_counter() - begin < 1.5:
        function()
    qd.sync()
    least = float("inf")
    for _ in range(7):
        begin = time.process_time()
        for _ in range(count):
            function()
        qd.sync()
        least = min(least, (time.process_time() - begin) / count)
    return least


kernels = {"copy 1024^2": copy, "copy 1024^2, one flat index": flat_copy, "stencil 1024^2": stencil,
           "matmul 256": product, "sum of 2^20": add, "sum of 2^20 floats": add_floats,
           "maximum of 2^20": greatest, "maximum of 2^20 floats": greatest_float}
found = {name: spent(kernel) for name, kernel in kernels.items()}
print(json.dumps(found))
"""

MPM = """
import numpy as np
qd.init(arch=qd.cpu, offline_cache=False)
particles, cells, volume = 4096, 64, (0.5 / 64) ** 2
place, speed = (qd.Vector.field(2, qd.f32, shape=particles) for _ in range(2))
shear, size = qd.Matrix.field(2, 2, qd.f32, shape=particles), qd.field(qd.f32, shape=particles)
momentum, mass = qd.Vector.field(2, qd.f32, shape=(cells, cells)), qd.field(qd.f32, shape=(cells, cells))
place.from_numpy((np.random.default_rng(0).random((particles, 2)) * 0.4 + 0.3).astype(np.float32))
size.from_numpy(np.ones(particles, np.float32))


@qd.kernel
def clear():
    for i, j in mass:
        momentum[i, j] = [0.0, 0.0]
        mass[i, j] = 0.0


@qd.kernel
def to_grid(dt: float):
    for p in place:
        base = qd.cast(place[p] * cells - 0.5, qd.i32)
        fx = place[p] * cells - base
        w = [0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1) ** 2, 0.5 * (fx - 0.5) ** 2]
        stress = -dt * 1600 * volume * (size[p] - 1) * cells * cells
        affine = qd.Matrix([[stress, 0], [0, stress]]) + volume * shear[p]
        for i, j in qd.static(qd.ndrange(3, 3)):
            offset = qd.Vector([i, j])
            weight = w[i].x * w[j].y
            momentum[base + offset] += weight * (volume * speed[p] + affine @ ((offset - fx) / cells))
            mass[base + offset] += weight * volume


@qd.kernel
def on_grid(dt: float):
    for i, j in mass:
        if mass[i, j] > 0:
            momentum[i, j] /= mass[i, j]
        momentum[i, j].y -= dt * 9.8
        if i < 3 and momentum[i, j].x < 0:
            momentum[i, j].x = 0
        if i > cells - 3 and momentum[i, j].x > 0:
            momentum[i, j].x = 0
        if j < 3 and momentum[i, j].y < 0:
            momentum[i, j].y = 0
        if j > cells - 3 and momentum[i, j].y > 0:
            momentum[i, j].y = 0


@qd.kernel
def to_particles(dt: float):
    for p in place:
        base = qd.cast(place[p] * cells - 0.5, qd.i32)
        fx = place[p] * cells - base
        w = [0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1) ** 2, 0.5 * (fx - 0.5) ** 2]
        v, shears = qd.Vector.zero(qd.f32, 2), qd.Matrix.zero(qd.f32, 2, 2)
        for i, j in qd.static(qd.ndrange(3, 3)):
            offset = qd.Vector([i, j])
            weight, here = w[i].x * w[j].y, momentum[base + offset]
            v += weight * here
            shears += 4 * weight * here.outer_product((offset - fx) / cells) * cells * cells
        speed[p] = v
        place[p] += dt * speed[p]
        size[p] *= 1 + dt * shears.trace()
        shear[p] = shears


begin = cpu()
for _ in range(200):
    clear()
    to_grid(2e-4)
    on_grid(2e-4)
    to_particles(2e-4)
qd.sync()
found = {"200 steps of 4 096 particles": cpu() - begin}
begin, least = time.perf_counter(), float("inf")
while time.perf_counter() - begin < 3:
    at = time.process_time()
    for _ in range(20):
        to_particles(0.0)
    qd.sync()
    least = min(least, (time.process_time() - at) / 20)
found["from grid to particles"] = least
print(json.dumps(found))
"""

PARTS = {
    "cold": ("CPU ms", 1e3, START + COLD),
    "saxpy": ("wall ms", 1e3, START + SAXPY),
    "warm": ("CPU us a call", 1e6, START + WARM),
    "launches": ("CPU us a call", 1e6, START + LAUNCHES),
    "arrays": ("CPU ms", 1e3, START + ARRAYS),
    "MPM": ("CPU ms", 1e3, START + MPM),
}


def sample(whose: str, kind: str, file: Path, log2: int, bytecode: str) -> dict[str, float]:
    """Seconds by name, from a fresh process."""
    environment = os.environ | {"GPU_REPRO_CACHE": "0", "QD_OFFLINE_CACHE": "0", "PYTHONPYCACHEPREFIX": bytecode}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    run = subprocess.run(
        [sys.executable, file, whose, kind, str(log2), str(ROOT)], capture_output=True, text=True, env=environment
    )
    if run.returncode:
        sys.exit(f"{whose} failed:\n{run.stderr}")
    return json.loads(run.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--runs", type=int, default=5, help="processes a package and part, after one that is not counted"
    )
    parser.add_argument("--elements", type=int, default=24, metavar="LOG2", help="saxpy of 2**LOG2 floats")
    parser.add_argument("--only", choices=PARTS, help="one part")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for kind, (unit, scale, text) in PARTS.items():
            if options.only not in (None, kind):
                continue
            file = Path(folder) / f"{kind}.py"
            file.write_text(text)
            rows: dict[str, list[dict]] = {"ours": [], "real": []}
            for number in range(options.runs + 1):
                for whose, found in rows.items():
                    one = sample(whose, kind, file, options.elements, folder)
                    found += [one] if number else []
            print(f"{kind + ', ' + unit:28}{'ours':>10}{'real':>10}{'ratio':>8}   least of {options.runs}")
            for name in rows["ours"][0]:
                print(f"{name:28}{min(row[name] for row in rows['ours']) * scale:10.2f}", end="")
                if name in rows["real"][0]:
                    ratio = statistics.median(a[name] / b[name] for a, b in zip(rows["ours"], rows["real"]))
                    print(f"{min(row[name] for row in rows['real']) * scale:10.2f}{ratio:8.2f}", end="")
                print(flush=True)


if __name__ == "__main__":
    main()
