"""Instructions that Hopper does not have, by target: those that ptxas 13.0 takes run, the others are refused."""

from __future__ import annotations

import re
import subprocess

import pytest

from dsl import emulator
from tests.emulator.conftest import use

TARGETS = "sm_90a sm_100 sm_100a sm_103f sm_110a sm_120a".split()
BOX = "cp.async.bulk.tensor.2d"
FILL = "mbarrier::complete_tx::bytes"
ROWS = "[%d1, {%r2, %r3, %r4, %r5, %r6}]"
PIXEL = "[%d1, {%r2, %r3, %r5, %r6}]"
CLC = "clusterlaunchcontrol"
INSTRUCTIONS = f"""
add.f32x2 %d1, %d1, %d2;
fma.rz.ftz.f32x2 %d1, %d1, %d2, %d3;
add.ftz.rn.sat.f32x2 %d1, %d1, %d2;
min.f32 %r1, %r2, %r3, %r4;
max.ftz.NaN.abs.f32 %r1, %r2, %r3, %r4;
max.xorsign.abs.f32 %r1, %r2, %r3, %r4;
min.f64 %d1, %d1, %d2, %d3;
redux.sync.min.f32 %r1, %r2, -1;
redux.sync.max.abs.NaN.f32 %r1, %r2, -1;
redux.sync.add.f32 %r1, %r2, -1;
redux.sync.min.abs.s32 %r1, %r2, -1;
ld.global.v8.b32 {{%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8}}, [%d1];
ld.shared.v8.b32 {{%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8}}, [%r1];
st.global.v4.b64 [%d1], {{%d1, %d2, %d3, %d4}};
{CLC}.try_cancel.async.shared::cta.{FILL}.b128 [%r1], [%r2];
{CLC}.try_cancel.async.{FILL}.multicast::cluster::all.b128 [%d1], [%d2];
{CLC}.query_cancel.is_canceled.pred.b128 %p1, %q1;
{CLC}.query_cancel.get_first_ctaid.v4.b32.b128 {{%r1, %r2, _, _}}, %q1;
{CLC}.query_cancel.get_first_ctaid::y.b32.b128 %r1, %q1;
{CLC}.query_cancel.get_first_ctaid.b32.b128 %r1, %q1;
{BOX}.shared::cluster.global.tile.{FILL}.cta_group::2 [%r1], [%d1, {{%r2, %r3}}], [%r4];
{BOX}.shared::cluster.global.tile.{FILL}.multicast::cluster.cta_group::1.L2::cache_hint [%r1], [%d1, {{%r2, %r3}}], [%r4], %h1, %d2;
{BOX}.shared::cta.global.{FILL}.cta_group::2 [%r1], [%d1, {{%r2, %r3}}], [%r4];
cp.async.bulk.tensor.3d.shared::cluster.global.im2col.{FILL}.cta_group::2 [%r1], [%d1, {{%r2, %r3, %r5}}], [%r4], {{%h1}};
{BOX.replace("2d", "4d")}.shared::cluster.global.im2col::w.{FILL} [%r1], {PIXEL}, [%r4], {{%h1, %h2}};
{BOX.replace("2d", "4d")}.shared::cta.global.im2col::w.{FILL} [%r1], {PIXEL}, [%r4], {{%h1, 3}};
{BOX.replace("2d", "4d")}.shared::cta.global.im2col::w.{FILL}.cta_group::2 [%r1], {PIXEL}, [%r4], {{%h1, 3}};
{BOX.replace("2d", "4d")}.shared::cta.global.im2col::w.{FILL} [%r1], {PIXEL}, [%r4], {{%h1}};
{BOX.replace("2d", "4d")}.shared::cta.global.im2col::w.{FILL} [%r1], {PIXEL}, [%r4];
{BOX}.shared::cta.global.im2col::w.{FILL} [%r1], [%d1, {{%r2, %r3}}], [%r4], {{%h1, %h2}};
{BOX.replace("2d", "4d")}.shared::cluster.global.im2col::w::128.{FILL}.multicast::cluster [%r1], {PIXEL}, [%r4], {{%h1, %h2}}, %h3;
{BOX.replace("2d", "4d")}.shared::cta.global.im2col::w::128.{FILL} [%r1], {PIXEL}, [%r4], {{2, 1}};
{BOX.replace("2d", "4d")}.global.shared::cta.im2col::w.bulk_group {PIXEL}, [%r1], {{%h1, %h2}};
cp.reduce.async.bulk.tensor.4d.global.shared::cta.add.im2col::w.bulk_group {PIXEL}, [%r1];
cp.async.bulk.prefetch.tensor.4d.L2.global.im2col::w {PIXEL}, {{%h1, %h2}};
cp.async.bulk.prefetch.tensor.4d.L2.global.im2col::w::128.L2::cache_hint {PIXEL}, {{%h1, %h2}}, %d2;
cp.async.bulk.shared::cluster.global.{FILL}.cta_group::2 [%r1], [%d1], 16, [%r4];
{BOX}.shared::cluster.global.tile::gather4.{FILL} [%r1], {ROWS}, [%r4];
{BOX}.shared::cta.global.tile::gather4.{FILL} [%r1], {ROWS}, [%r4];
{BOX}.shared::cluster.global.tile::gather4.{FILL}.multicast::cluster.cta_group::2 [%r1], {ROWS}, [%r4], %h1;
{BOX.replace("2d", "3d")}.shared::cta.global.tile::gather4.{FILL} [%r1], {ROWS}, [%r4];
{BOX}.global.shared::cta.tile::scatter4.bulk_group {ROWS}, [%r1];
{BOX}.global.shared::cta.tile::gather4.bulk_group {ROWS}, [%r1];
cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile::scatter4.bulk_group {ROWS}, [%r1];
cp.async.bulk.prefetch.tensor.2d.L2.global.tile::gather4 {ROWS};
cvt.rn.satfinite.e2m1x2.f32 %c1, %f1, %f2;
cvt.rn.satfinite.e2m1x2.f16x2 %c1, %r1;
cvt.rn.satfinite.e2m3x2.f16x2 %h1, %r1;
cvt.rp.satfinite.ue8m0x2.f32 %h1, %f1, %f2;
cvt.rz.ue8m0x2.bf16x2 %h1, %r1;
cvt.rn.ue8m0x2.f32 %h1, %f1, %f2;
cvt.rn.bf16x2.ue8m0x2 %r1, %h1;
cvt.rn.relu.bf16x2.ue8m0x2 %r1, %h1;
ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {{%r1, %r2}}, [%r3];
ldmatrix.sync.aligned.m16n16.x2.trans.shared::cta.b8x16.b4x16_p64 {{%r1, %r2, %r4, %r5}}, [%r3];
ldmatrix.sync.aligned.m16n16.x4.trans.shared.b8 {{%r1, %r2, %r4, %r5, %r6, %r7, %r8, %r0}}, [%r3];
ldmatrix.sync.aligned.m16n16.x1.shared.b8 {{%r1, %r2}}, [%r3];
ldmatrix.sync.aligned.m8n16.x4.b8x16.b6x16_p32 {{%r1, %r2, %r4, %r5}}, [%d1];
ldmatrix.sync.aligned.m8n16.x1.trans.shared.b8x16.b4x16_p64 {{%r1}}, [%r3];
ldmatrix.sync.aligned.m8n16.x1.shared.b8 {{%r1}}, [%r3];
stmatrix.sync.aligned.m16n8.x4.trans.shared.b8 [%r3], {{%r1, %r2, %r4, %r5}};
stmatrix.sync.aligned.m16n8.x1.shared.b8 [%r3], {{%r1}};
stmatrix.sync.aligned.m8n8.x1.trans.shared.b8 [%r3], {{%r1}};
st.bulk.weak.shared::cta [%r1], %d1, 0;
st.bulk [%d1], 64, 0;
st.bulk.shared::cta [%r1], 64, 1;
st.bulk.shared::cluster [%r1], 64, 0;
cvt.rs.relu.satfinite.f16x2.f32 %r1, %f1, %f2, %r3;
cvt.rs.bf16x2.f32 %r1, %f1, %f2, %r3;
cvt.rs.f16x2.f32 %r1, %f1, %f2;
cvt.rs.f16.f32 %h1, %f1, %r3;
cvt.rs.f16x2.f32 %r1, %f1, %f2, 7;
cvt.rs.f16x2.f32 %r1, %f1, %f2, %f3;
cvt.rs.satfinite.e4m3x4.f32 %r1, {{%f0, %f1, %f2, %f3}}, %r3;
cvt.rs.relu.satfinite.e5m2x4.f32 %r1, {{%f0, %f1, %f2, %f3}}, %r3;
cvt.rs.satfinite.e2m3x4.f32 %r1, {{%f0, %f1, %f2, %f3}}, %r3;
cvt.rs.satfinite.relu.e3m2x4.f32 %r1, {{%f0, %f1, %f2, %f3}}, %r3;
cvt.rs.satfinite.e2m1x4.f32 %h1, {{%f0, %f1, %f2, %f3}}, %r3;
cvt.rs.satfinite.e2m1x4.f32 %r1, {{%f0, %f1, %f2, %f3}}, %r3;
cvt.rs.e4m3x4.f32 %r1, {{%f0, %f1, %f2, %f3}}, %r3;
cvt.rn.satfinite.e4m3x4.f32 %r1, {{%f0, %f1, %f2, %f3}};
setmaxnreg.dec.sync.aligned.u32 64;
griddepcontrol.launch_dependents;
wgmma.fence.sync.aligned;
""".strip().splitlines()
REGISTERS = ".reg .b8 %c<4>; .reg .b16 %h<4>; .reg .b32 %r<9>; .reg .f32 %f<4>; .reg .b64 %d<5>; .reg .b128 %q<2>; .reg .pred %p<2>;"


def module(instruction: str, target: str) -> str:
    return (
        f".version 9.0\n.target {target}\n.address_size 64\n.visible .entry k() .reqntid 128 .maxnreg 128 {{ {REGISTERS}\n"
        f"{instruction}\nret; }}"
    )


def assembles(ptxas_path: str, text: str, target: str) -> bool:
    argv = [ptxas_path, f"-arch=compute_{target[3:]}", "-o", "/dev/null", "-"]
    done = subprocess.run(argv, input=text, text=True, capture_output=True)
    assert done.returncode == 0 or re.search(r"line \d+; error", done.stderr + done.stdout), done.stderr
    return done.returncode == 0


def runs(text: str) -> bool:
    try:
        use(text)
    except (emulator.Unsupported, emulator.PtxError):
        return False
    return True


@pytest.mark.parametrize("target", TARGETS)
def test_the_emulator_has_what_ptxas_takes(ptxas_path, target):
    texts = {each: module(each, target) for each in INSTRUCTIONS}
    taken = {each: assembles(ptxas_path, text, target) for each, text in texts.items()}
    assert {each: runs(text) for each, text in texts.items()} == taken
    assert 0 < sum(taken.values()) < len(taken)
