#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tilewright/problem.h"

namespace tilewright::plan {

/// One kernel that a backend offers, as data: what it can serve and why it may be unusable here.
struct KernelRow {
  std::string name;               ///< "f32_avx2"
  std::vector<DType> dtypes;      ///< of query, key and value
  std::int64_t min_head_dim = 1;  ///< for E and Ev alike
  std::int64_t max_head_dim = 512;
  std::int64_t head_dim_multiple = 1;
  std::string unavailable;  ///< empty: usable on this machine
  bool fast = true;         ///< false: serves what no fast row can, refused under require_fast
  std::int64_t q_tile_rows = 64;
  std::int64_t q_band_rows = 64;  ///< query rows of one list of a mask map
  std::int64_t kv_tile_tokens = 128;
  std::int64_t alignment_bytes =
      0;  ///< of bases and strides of query, key and value; 0: any layout
};

/// What the planner must know of a backend on this machine. Rows come most preferred first.
struct Limits {
  std::string backend;
  std::string device;
  int threads = 1;
  std::vector<KernelRow> rows;
};

/// A kernel that was not taken, and why.
struct Rejection {
  std::string kernel;
  std::string reason;
};

/// The choice for one problem: plain data that prints.
struct Plan {
  std::string backend;
  std::size_t row = 0;  ///< index into Limits::rows
  std::string kernel;
  bool fast = true;
  std::int64_t q_tile_rows = 0;
  std::int64_t q_band_rows = 0;
  std::int64_t kv_tile_tokens = 0;
  std::int64_t alignment_bytes = 0;  ///< of the row; 0: any layout
  std::int64_t split_tokens = 0;     ///< key ranges split only at multiples of it
  std::vector<Rejection> rejections;
  std::vector<std::string> reasons;  ///< one line a choice
};

/// The first row that serves the problem, under `require_fast` the first fast one. Throws
/// Error{kUnsupported} listing every rejection where there is none.
Plan choose(const Problem& problem, const Limits& limits, bool require_fast);

/// Key ranges of one query row may be cut at multiples of this many tokens: fixed, so that the cut
/// never depends on the batch or the number of cores.
inline constexpr std::int64_t kSplitTokens = 2048;

std::string to_text(const Plan& plan);

}  // namespace tilewright::plan
