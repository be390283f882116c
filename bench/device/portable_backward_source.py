"""The translation unit of a portable backward variant, as an emitter would write it.

A variant is e<head tile>v<value tile>_w<key warps>x<column warps>_k<strips>_q<query tile>c<chunk>_s<query stages><dO stages>_<mods>
[_option...]; options: f16 f32 tf32 (else bf16), c4 c2 (copies of 4 or 2 bytes), det (fixed order of additions), gradf (dO in fp32 beside
16-bit elements), copy (rows without live pairs may hold anything in dO), d1 (parts of dQ of 16 rows, else 32), only<gradients> (of q, k
and v, else all), b<blocks> (at least so many a multiprocessor).
"""
import re

GRADIENTS = {"causal": "causal", "alibi": "causal", "window": "window", "prefix": "prefix", "softcap": "softcap"}
ELEMENTS = {"f16": "F16", "f32": "F32", "tf32": "Tf32"}


class Tiles:
    """The numbers of kernels/cuda/attention/portable_backward_layout.cuh that the host needs too."""

    def __init__(self, name):
        parts = name.split("_")
        self.e, self.v = (int(x) for x in re.fullmatch(r"e(\d+)v(\d+)", parts[0]).groups())
        self.key_warps, self.column_warps = (int(x) for x in re.fullmatch(r"w(\d+)x(\d+)", parts[1]).groups())
        self.strips = int(parts[2][1:])
        self.query_tile, self.chunk = (int(x) for x in re.fullmatch(r"q(\d+)c(\d+)", parts[3]).groups())
        self.query_stages, self.grad_stages = int(parts[4][1]), int(parts[4][2])
        self.mods, self.options = parts[5], parts[6:]
        self.element = next((ELEMENTS[o] for o in self.options if o in ELEMENTS), "Bf16")
        self.size = 4 if self.element in ("F32", "Tf32") else 2
        self.copy_bytes = 4 if "c4" in self.options else 2 if "c2" in self.options else 16
        self.sum_strips = 1 if "d1" in self.options else 2
        self.blocks = next((int(o[1:]) for o in self.options if re.fullmatch(r"b\d+", o)), 1)
        only = next((o[4:] for o in self.options if o.startswith("only")), "qkv")
        self.wanted = tuple(g in only for g in "qkv")
        self.threads = 32 * self.key_warps * self.column_warps
        self.key_tile = 16 * self.strips * self.key_warps

    def shared_bytes(self):
        row = lambda d: d * self.size + 16
        keys = self.key_tile * (row(self.e) + row(self.v))
        queries = self.query_tile * (self.query_stages * (row(self.e) + 4) + self.grad_stages * (row(self.v) + 4))
        scores = self.key_tile * (row(self.query_tile) + (self.query_tile * self.size if self.column_warps > 1 else 0))
        return keys + queries + scores + 65 * 16 + 32 + 32


def flag(value):
    return "true" if value else "false"


def finish_kernel(name, tiles, rows, columns):
    return f"""
extern "C" __global__ void __launch_bounds__(256) {name}(const __grid_constant__ tilewright::cuda::GradientFinishParams params) {{
  tilewright::cuda::PortableGradientFinish<tilewright::cuda::{tiles.element}, {rows}, {columns}>{{params}}.run();
}}
"""


def source(name):
    t = Tiles(name)
    text = f"""#include "mods/{t.mods.replace("-", "_")}.cuh"
#include "gradients/{GRADIENTS.get(t.mods, "identity")}.cuh"
#include "attention/backward_prepare.cuh"
#include "attention/portable_backward.cuh"
#include "attention/portable_gradient_finish.cuh"

namespace tilewright::cuda {{
struct EmittedVariant {{
  using Element = {t.element};
  static constexpr int kHeadTile = {t.e};
  static constexpr int kValueTile = {t.v};
  static constexpr int kKeyWarps = {t.key_warps};
  static constexpr int kColumnWarps = {t.column_warps};
  static constexpr int kStrips = {t.strips};
  static constexpr int kQueryTile = {t.query_tile};
  static constexpr int kChunk = {t.chunk};
  static constexpr int kSumStrips = {t.sum_strips};
  static constexpr int kQueryStages = {t.query_stages};
  static constexpr int kGradStages = {t.grad_stages};
  static constexpr int kCopyBytes = {t.copy_bytes};
  static constexpr bool kDeterministic = {flag("det" in t.options)};
  static constexpr bool kWantsQuery = {flag(t.wanted[0])};
  static constexpr bool kWantsKey = {flag(t.wanted[1])};
  static constexpr bool kWantsValue = {flag(t.wanted[2])};
}};
}}  // namespace tilewright::cuda

extern "C" __global__ void __launch_bounds__(128) attention_backward_prepare(
    const __grid_constant__ tilewright::cuda::BackwardPrepareParams params) {{
  tilewright::cuda::BackwardPrepare<tilewright::cuda::{t.element}, {t.v}, {t.query_tile}>::of_block(params).run();
}}

extern "C" __global__ void __launch_bounds__({t.threads}, {t.blocks}) attention_backward(
    const __grid_constant__ tilewright::cuda::PortableBackwardParams params,
    const __grid_constant__ tilewright::cuda::EmittedMods::Bindings bindings) {{
  tilewright::cuda::portable_backward<tilewright::cuda::EmittedVariant, tilewright::cuda::EmittedMods,
                                      tilewright::cuda::EmittedGradient>(params, bindings);
}}
"""
    if t.wanted[0]:
        text += finish_kernel("attention_backward_finish_query", t, t.query_tile, t.e)
    if t.wanted[1]:
        text += finish_kernel("attention_backward_finish_key", t, t.key_tile, t.e)
    if t.wanted[2]:
        text += finish_kernel("attention_backward_finish_value", t, t.key_tile, t.v)
    return text
