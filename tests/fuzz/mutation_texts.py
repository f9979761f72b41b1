"""Texts that the mistakes of mutations.py put into a program: values, uses of a value X, and statements.

A statement is a line, in which a ¶ stands for the end of a line.
"""

IMPORTS = """\
import copy, functools, itertools, json, math, operator, pickle, random, sys, threading, time, warnings
import numpy as np, torch
import cutlass, cutlass.cute as cute
from cutlass.cute.runtime import from_dlpack
"""
VALUES = """0, 1, -1, 2, 7, 1 << 20, 1 << 31, 1 << 40, 2 ** 70, 1.5, -0.0, 1e300, float("nan"), "text", b"bytes", "",
None, True, (), (1,), (1, (2, 3)), (0, 0), (0, 0, 0, 0), (None, 0), [1, 2], [], {"a": 1}, {1, 2}, ..., slice(None),
slice(1, 2), object(), int, float, cutlass.Int32, cutlass.Int32(3), cutlass.Float32(0.5), cutlass.Boolean(True),
cutlass.Float16, cutlass.Int8, lambda: 0, lambda x: x, print, len, cute, cutlass, 1j, range(3),
cute.make_layout((2, 3)), (-1, 2), (4, 0), __import__("numpy").zeros(3), __import__("numpy").float32(2),
__import__("torch").zeros(2, 3), iter([1]), NotImplemented""".replace("\n", " ")
WRAPPERS = """int(X); float(X); str(X); bool(X); repr(X); complex(X); bytes(X); len(X); iter(X); next(X); hash(X);
list(X); tuple(X); set(X); sorted(X); sorted([X, X]); {X: 1}; {X}; dict(X); {"a": X}["a"]; [X][X]; X[X]; X[0]; X[0, 0];
X[None]; X[99999]; X[-1]; X["k"]; X[1.5]; X[:]; X(); X(1); X.foo; X.shape; X.ir; X.value; X.__dict__; X.dtype;
X.iterator; X.load(); X.store(1); X.item(); X.to(cutlass.Float32); -X; ~X; not X; abs(X); round(X); round(X, 2); X @ X;
X ** X; X // 0; X % 0; X << 40; X >> -1; X in [1, 2]; 1 in X; X is 3; X < X < X; X == "a"; X + "a"; X + None;
X * (1, 2); X if X else "b"; X and "x"; X or None; divmod(X, 2); pow(X, 2, 3); sum([X, X]); sum(X); max(X); min(X, "a");
max(X, X); any([X]); all(X); range(X); list(range(X)); enumerate(X); zip(X, X); reversed(X); map(X, [1]);
filter(X, [1]); chr(X); hex(X); format(X, "d"); f"{X}"; f"{X:04}"; "%d" % X; "{}".format(X); "a" * X; [0] * X;
isinstance(X, int); isinstance(X, cute.Tensor); isinstance(1, X); issubclass(X, int); callable(X); type(X); type(X)(X);
id(X); vars(X); dir(X); getattr(X, "y"); hasattr(X, "y"); copy.copy(X); copy.deepcopy(X); pickle.dumps(X);
json.dumps(X); operator.index(X); functools.reduce(lambda a, b: a + b, [X, X]); functools.partial(X)();
itertools.chain(X, X); math.sqrt(X); math.floor(X); np.sin(X); np.asarray(X); np.array([X, X]); np.float32(X);
np.add(X, X); np.zeros(X); torch.sin(X); torch.tensor(X); torch.zeros(X); cutlass.Int32(X); cutlass.Float32(X);
cutlass.Boolean(X); cutlass.Int8(X); cutlass.const_expr(X); cutlass.range_constexpr(X); cutlass.range(X); cute.size(X);
cute.make_layout(X); cute.make_layout(X, stride=X); cute.rank(X); cute.shape(X); cute.ceil_div(X, 0);
cute.ceil_div(X, X); cute.make_rmem_tensor(X, cutlass.Float32); cute.make_rmem_tensor((2, 2), X);
cute.zipped_divide(X, X); cute.local_tile(X, X, X); cute.slice_(X, X); cute.composition(X, X); cute.complement(X);
cute.coalesce(X); cute.logical_divide(X, X); cute.make_tensor(X, X); cute.recast_ptr(X, dtype=X); cute.copy(X, X, X);
cute.cosize(X); cute.crd2idx(X, X); cute.idx2crd(X, X); cute.group_modes(X, 0, 9); cute.append(X, X);
cute.select(X, [5]); cute.make_fragment_like(X); cute.arch.shuffle_sync(X, X); cute.arch.shuffle_sync_bfly(X, 99);
cute.arch.vote_ballot_sync(X); cute.arch.barrier(barrier_id=99, number_of_threads=7); cute.arch.sync_warp(X);
cute.arch.atomic_add(X, X); cute.math.exp(X); cute.math.sqrt(X); cute.where(X, X, X); cute.printf(X);
cute.printf("{} {}", X); cute.printf("%s %d", X); cute.print_tensor(X); from_dlpack(X); eval("X"); exec("X"); open(X);
super(); X.launch(grid=1, block=1); await_(X); lambda X=X: X; (yield_ for yield_ in X); [y for y in X];
[y for y in range(X)]; {y: y for y in (X, X)}; (lambda *a: a[X])(X); print(X, file=X); print(X, sep=X);
cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, X); cutlass.utils.SmemAllocator().allocate(X); X.foo();
X.__class__; random.choice(X); random.randint(0, X); time.sleep(X); str.join(",", X); (X := 5); [*X]; {**X}; print(*X);
(X, *X); X[X:X]; X[::X]; X.a.b; -(X) ** X; (X,)[X]; "abc"[X]"""
STATEMENTS = """yield X
yield from X
global Q; Q = X
nonlocal X; X = 1
def inner(): nonlocal X; X = 1
def inner(): return X; ¶ X = inner()
def inner(): yield X; ¶ X = list(inner())
async def inner(): return X; ¶ X = inner()
class Inner: a = X; ¶ X = Inner().a
class Inner: pass; ¶ Inner.a = X
exec("X = 1")
exec("for i in range(X): pass")
import numpy
from math import *
from cutlass import no_such
import no_such_module
import cutlass.cute.no_such
with open("/no/such/file") as file: pass
with X: pass
with X as y: y = 1
try: ¶  X = X + 1; ¶ except: ¶  pass
try: ¶  X.foo; ¶ except AttributeError: ¶  X = 0
try: ¶  return X; ¶ finally: ¶  X = 1
try: ¶  if X: raise ValueError("x"); ¶ except ValueError: ¶  X = 0
raise ValueError(X)
raise X
raise
return
return X
return X, X
return "text"
return lambda: X
break
continue
del X
del X, X
del X[0]
del X.foo
assert X
assert X, X
assert False, "never"
assert (X, "always")
match X: ¶  case 1: pass; ¶  case _: X = 2
match X: ¶  case [a, b]: pass; ¶  case {"k": v}: X = v; ¶  case int(): X = 1
def recursive(k): return recursive(k + 1); ¶ X = recursive(X)
def recursive(k): ¶  if k > 0: return recursive(k - 1); ¶  return k; ¶ X = recursive(X)
recursive = lambda k: recursive(k); ¶ X = recursive(X)
_ = X; ¶ X = _
X = None
X = "text"
X = 1.5
X = (1, 2)
X = [X]
X = {"a": X}
X = lambda: X
X: int = "text"
X += "a"
X += None
X += 1.5
X @= X
X //= 0
X <<= 99
X[0] = X
X[X] = X
X["a"] = 1
X[0, 0, 0] = 1.5
X[:] = 0
X.foo = 1
X.foo += 1
X.shape = (1, 2)
setattr(X, "y", 1)
a, b = X
a, *b = X
(a, b), c = X, 1
for i in X: X = i
for i, j in range(3): X = i
for i in range(X): late = i; ¶ X = late
for i in range(3, X, 0): X = i
for i in range(X): i = "text"
for X in range(X): pass
for i in cutlass.range(3, unroll=X): X = i
for i in cutlass.range(X, unroll_full=True): X = i
for i in cutlass.range(X, vectorize=True): X = i
for i in cutlass.range_constexpr(X): X = i
for i in cutlass.range_constexpr(10 ** 12): break
for i in cutlass.range_dynamic(X): X = X + i
for i in range(X, X, X, X): pass
for i in range(): pass
for i in range("3"): pass
for i in range(1.5): pass
for i in [X, X]: X = i
for k, v in {"a": X}.items(): X = v
for i in range(X): lst = []; lst.append(i); ¶ X = lst[0]
lst = []; ¶ for i in range(X): lst.append(i)
lst = [X]; ¶ for i in range(X): lst[i] = i
lst = [1, 2]; ¶ if X: lst.pop()
d = {}; ¶ if X: d["a"] = X; ¶ X = d["a"]
while X: X = X - 1
while X > 0: X = 1.5
while cutlass.const_expr(X): pass
while True: ¶  X = X + 1; ¶  if X > 9: break
if X: late = 1; ¶ X = late
if X: X = 1.5
if X: X = None
if X: X = "a"
if X: X = (1, 2)
if X: return
if X: return X
if X: ¶  return 1; ¶ else: ¶  return "a"
if X: pass; ¶ elif X > "a": pass
if cutlass.const_expr(X): X = 1
if X is None: X = 1
if not X: X = X; ¶ else: del X
if X == X: ¶  class Inner: pass
if X > 1: ¶  def inner(): return X; ¶ X = inner()
for i in range(X): ¶  for j in range(i): ¶   if j == X: break; ¶  else: ¶   continue; ¶  break
for i in range(2): ¶  def inner(a=X, *, b=i): return a + b; ¶  X = inner()
x, y, z = cute.arch.thread_idx(); ¶ X = x
x, y = cute.arch.block_idx()
x = cute.arch.block_dim()[5]
cute.arch.sync_threads()
cute.arch.barrier()
cute.arch.cp_async_wait_group(X)
cute.arch.cp_async_commit_group()
cute.printf("{}")
cute.printf("%d %f %s", X)
cute.printf(X)
cute.printf("x", "y")
print(locals()); print(globals)
print(X, X.foo)
print(f"{X!r:>10}")
smem = cutlass.utils.SmemAllocator(); ¶ t = smem.allocate_tensor(cutlass.Float32, cute.make_layout(1 << 20)); \
¶ t[0] = 1
smem = cutlass.utils.SmemAllocator(); ¶ t = smem.allocate_tensor(cutlass.Float32, cute.make_layout((8, 8)), 3); \
¶ t[9, 9] = 1
smem = cutlass.utils.SmemAllocator(); ¶ t = smem.allocate_tensor(cutlass.Float32, cute.make_layout((8, 8)), 16); \
¶ t[X] = X
r = cute.make_rmem_tensor((2, 3), cutlass.Float32); ¶ r[2, 3] = X
r = cute.make_rmem_tensor((2, 3), cutlass.Float32); ¶ X = r[X, X]
r = cute.make_rmem_tensor((2, 3), cutlass.Float32); ¶ r.store(X)
r = cute.make_rmem_tensor(X, cutlass.Float32); ¶ r.fill(X)
r = cute.make_rmem_tensor((2,), cutlass.Boolean); ¶ r.fill(X); \
¶ cute.copy(cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), X), r, r, pred=r)
atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float32, num_bits_per_copy=X); ¶ cute.copy(atom, X, X)
atom = cute.make_copy_atom(cute.nvgpu.cpasync.CopyG2SOp(), cutlass.Float32, num_bits_per_copy=24)
tiled = cute.make_tiled_copy_tv(X, cute.make_layout((4, 8)), cute.make_layout((1, 4))); ¶ s = tiled.get_slice(X); \
¶ s.partition_S(X)
gX = cute.zipped_divide(X, (4, 8)); ¶ X = gX[(None, None), 0]
gX = cute.local_tile(X, (4, 8, 2), (X, X)); ¶ X = gX[0]
c = cute.make_identity_tensor(X); ¶ X = c[X]
sys.exit(3)
threading.Thread(target=lambda: X).start()
warnings.warn("x")
self.x = X
X.append(X)
X.update(a=X)
kernel(X)
host(X)
run()
"""
