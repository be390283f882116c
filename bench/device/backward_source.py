"""The translation unit of a backward variant, as an emitter would write it.

A variant is e<E>v<Ev>_m<query tile>_s<query stages><dO stages>_<mods>[_option...]; options: f16, det (fixed order of additions), part (partial
results of dK and dV), copy (dO is copied, rows without live pairs zeroed), copyf32 (the same from fp32).
"""
import re

GRADIENTS = {"causal": "causal", "alibi": "causal", "window": "window", "prefix": "prefix", "softcap": "softcap"}


def chunks(dim):
    return (dim + 63) // 64


def own_columns(dim):
    return dim if chunks(dim) == 1 else (chunks(dim) + 1) // 2 * 64


class Tiles:
    """The numbers of kernels/cuda/attention/backward_layout.cuh that the host needs too."""

    def __init__(self, name):
        parts = name.split("_")
        self.e, self.v = (int(x) for x in re.fullmatch(r"e(\d+)v(\d+)", parts[0]).groups())
        self.query_tile = int(parts[1][1:])
        self.query_stages, self.grad_stages = int(parts[2][1]), int(parts[2][2])
        self.mods, self.options = parts[3], parts[4:]
        self.splits_keys = max(self.e, self.v) <= 128
        self.key_tile = 128 if self.splits_keys else 64
        self.sums_by_rows = self.query_tile == 128
        self.score_columns = self.query_tile if self.splits_keys else self.query_tile // 2
        self.key_columns = self.e if self.splits_keys else own_columns(self.e)
        self.value_columns = self.v if self.splits_keys else own_columns(self.v)
        self.sum_columns = self.e if self.sums_by_rows else own_columns(self.e)

    def shared_bytes(self):
        key_and_query = 128 * chunks(self.e) * (self.key_tile + self.query_stages * self.query_tile)
        value_and_grad = 128 * chunks(self.v) * (self.key_tile + self.grad_stages * self.query_tile)
        scores = 4 * 128 * self.key_tile * (self.query_tile // 64)
        stages = self.query_stages + self.grad_stages
        barriers = 2 * (2 + stages + 2) + (4 if self.splits_keys else 2) + 6 * 4 * self.query_stages
        small = stages * 4 * self.query_tile + 2 * 32 + 4 * self.query_stages * 16 + 8 * barriers
        return key_and_query + value_and_grad + scores + small


def flag(value):
    return "true" if value else "false"


def finish_kernel(name, tiles, dim, columns, tile_rows, splits_rows):
    return f"""
namespace tilewright::cuda {{
struct {name}_variant {{
  using Element = {"F16" if "f16" in tiles.options else "Bf16"};
  static constexpr int kDim = {dim};
  static constexpr int kColumns = {columns};
  static constexpr int kTileRows = {tile_rows};
  static constexpr bool kSplitsRows = {flag(splits_rows)};
}};
}}  // namespace tilewright::cuda

extern "C" __global__ void __launch_bounds__(256) {name}(const __grid_constant__ tilewright::cuda::GradientFinishParams params) {{
  tilewright::cuda::gradient_finish<tilewright::cuda::{name}_variant>(params);
}}
"""


def source(name):
    t = Tiles(name)
    element = "F16" if "f16" in t.options else "Bf16"
    shapes = sorted({t.score_columns, t.key_columns, t.value_columns, t.sum_columns})
    includes = "".join(f'#include "ptx/wgmma/m64n{n}k16.cuh"\n' for n in shapes)
    text = f"""#include "mods/{t.mods.replace("-", "_")}.cuh"
#include "gradients/{GRADIENTS.get(t.mods, "identity")}.cuh"
{includes}#include "attention/backward_prepare.cuh"
#include "attention/gradient_finish.cuh"
#include "attention/hopper_backward.cuh"

namespace tilewright::cuda {{
struct EmittedVariant {{
  using Element = {element};
  static constexpr int kHeadDim = {t.e};
  static constexpr int kValueDim = {t.v};
  static constexpr int kQueryTile = {t.query_tile};
  static constexpr bool kSplitsKeys = {flag(t.splits_keys)};
  static constexpr int kQueryStages = {t.query_stages};
  static constexpr int kGradStages = {t.grad_stages};
  static constexpr bool kDeterministic = {flag("det" in t.options)};
  static constexpr bool kWalksLists = false;
  static constexpr bool kReadsLengths = false;
}};
}}  // namespace tilewright::cuda

extern "C" __global__ void __launch_bounds__(128) attention_backward_prepare(
    const __grid_constant__ tilewright::cuda::BackwardPrepareParams params) {{
  tilewright::cuda::BackwardPrepare<tilewright::cuda::{element}, {t.v}, {t.query_tile}>::of_block(params).run();
}}

extern "C" __global__ void __launch_bounds__(384, 1) attention_backward(
    const __grid_constant__ tilewright::cuda::BackwardParams params,
    const __grid_constant__ tilewright::cuda::EmittedMods::Bindings bindings) {{
  tilewright::cuda::hopper_backward<tilewright::cuda::EmittedVariant, tilewright::cuda::EmittedMods,
                                    tilewright::cuda::EmittedGradient>(params, bindings);
}}
"""
    text += finish_kernel("attention_backward_finish_query", t, t.e, t.sum_columns, t.query_tile, t.sums_by_rows)
    if "part" in t.options:
        text += finish_kernel("attention_backward_finish_key", t, t.e, t.key_columns, t.key_tile, t.splits_keys)
        text += finish_kernel("attention_backward_finish_value", t, t.v, t.value_columns, t.key_tile, t.splits_keys)
    return text
