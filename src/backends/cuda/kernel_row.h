#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyse/facts.h"
#include "backends/cuda/device_facts.h"
#include "ir/program.h"
#include "tilewright/problem.h"

namespace tilewright::cuda {

/// Which hand-written kernel a row instantiates; each has a parameter struct of its own.
enum class Family : std::uint8_t {
  kHopper,   ///< attention/hopper_forward.cuh: TMA, wgmma, sm_90a only
  kPortable  ///< attention/portable_forward.cuh: cp.async, mma.sync, sm_80 and later
};

/// One instantiation of a kernel family: tile sizes and what follows from them. `name` reads
/// family, warpgroups (or warps), key tile, stages: "hopper_w2_n128_s232".
struct KernelRow {
  std::string name;
  Family family = Family::kHopper;
  int threads = 384;            ///< of a block, the producer included
  int q_rows = 128;             ///< query rows of a work item
  int kv_rows = 128;            ///< keys of a tile
  int consumer_warpgroups = 2;  ///< hopper
  int query_stages = 2;         ///< hopper
  int key_stages = 3;
  int value_stages = 2;
  bool ping_pong = true;      ///< hopper
  bool defers_check = true;   ///< hopper; never together with max_scores
  int polynomial_period = 0;  ///< hopper
  int max_registers = 168;    ///< of a thread at launch, as __launch_bounds__ allows

  // The portable family: the members of a variant in attention/portable_layout.cuh. Its q_rows are
  // 16 * strips * warps, its stages are key_stages.
  int warps = 4;
  int strips = 1;
  int head_tile = 0;    ///< E rounded up as the variant needs
  int value_tile = 0;   ///< columns of Ev that a block computes
  int copy_bytes = 16;  ///< 16 needs aligned rows; smaller ones take any strides
  bool packs_group = false;
  bool tries_reference = false;
  bool holds_query = false;
  bool walks_lists = false;    ///< key tiles come from span lists
  bool splits_keys = false;    ///< fp32 partial outputs, joined by a second kernel
  bool reads_lengths = false;  ///< hopper: key lengths on the device; portable rows always may
};

/// What a call's lengths prefer. Every row is right for every length.
enum class LengthClass : std::uint8_t {
  kLong,
  kShort,  ///< masked and few keys: smaller query tiles
  kDecode  ///< few query rows a group of heads: groups are packed and keys split
};
inline constexpr int kLengthClasses = 3;
LengthClass length_class_of(const ir::Program& program, const Problem& problem) noexcept;

/// A row and whether it may serve; rows that may not keep their reason, which `explain` prints.
struct Candidate {
  KernelRow row;
  std::string rejection;  ///< empty: it may
  bool fast = true;       ///< false: refused under require_fast
};

/// What a choice depends on: structure, dtypes, dims, wanted outputs, the device and the class of
/// the lengths; no length of `problem` itself.
struct RowQuestion {
  const ir::Program& program;
  const analyse::StructureFacts& facts;
  const Problem& problem;
  const DeviceFacts& device;
  bool any_layout = false;      ///< tensors may have any strides: no TMA, no 16-byte copies
  bool block_lists = false;     ///< the call brings block lists or a mask map: span lists decide
  bool device_lengths = false;  ///< the call brings a table of key lengths on the device
  bool fast_functions = false;  ///< tanh and sigmoid are single instructions
  LengthClass lengths = LengthClass::kLong;
};

/// Every row of every family, most preferred first, each either usable or with its rejection.
/// Deterministic: equal questions give equal lists.
std::vector<Candidate> candidates(const RowQuestion& question);

/// Dynamic shared memory of a block of this row for the problem's dims and dtype; equals the
/// kernel's own layout (checked by the compiled tests).
std::int64_t shared_bytes(const KernelRow& row, const Problem& problem);

}  // namespace tilewright::cuda
