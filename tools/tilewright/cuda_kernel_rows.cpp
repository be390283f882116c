#include "cuda_kernel_rows.h"

#include <algorithm>
#include <vector>

#include "backends/cuda/kernel_row.h"
#include "base/formatted.h"

namespace tilewright::cli {

namespace {

constexpr std::int64_t kLargestDim = 512, kDimStep = 8;

/// Rows of one family and class, and the dims and dtypes that the planner gave them.
struct Served {
  std::string name;
  bool is_hopper = false;
  bool walks_lists = false;
  bool reads_lengths = false;
  bool is_decode = false;
  int copy_bytes = 16;
  std::int64_t head_dim = 0, value_dim = 0;  ///< the largest
  std::vector<DType> dtypes;
};

/// Tile shapes aside.
std::string class_of(const cuda::KernelRow& row) {
  const bool is_hopper = row.family == cuda::Family::kHopper;
  std::string text = is_hopper ? "hopper_*" : "portable_*";
  if (!is_hopper && row.copy_bytes == 16) text += "_c16";
  if (row.walks_lists) text += "_lists";
  if (row.reads_lengths) text += "_lengths";
  if (row.splits_keys) text += "_pack_split";
  return text;
}

void note(std::vector<Served>& all, const cuda::KernelRow& row, const Problem& problem) {
  const std::string name = class_of(row);
  auto found = std::ranges::find(all, name, &Served::name);
  if (found == all.end()) {
    all.push_back({.name = name,
                   .is_hopper = row.family == cuda::Family::kHopper,
                   .walks_lists = row.walks_lists,
                   .reads_lengths = row.reads_lengths,
                   .is_decode = row.splits_keys,
                   .copy_bytes = row.copy_bytes,
                   .dtypes = {}});
    found = all.end() - 1;
  }
  found->head_dim = std::max(found->head_dim, problem.head_dim);
  found->value_dim = std::max(found->value_dim, problem.value_dim);
  if (std::ranges::find(found->dtypes, problem.query_dtype) == found->dtypes.end())
    found->dtypes.push_back(problem.query_dtype);
}

/// What a call may demand of a row.
struct Demand {
  bool any_layout = false, block_lists = false, device_lengths = false;
  cuda::LengthClass lengths = cuda::LengthClass::kLong;
};

void ask(std::vector<Served>& all, const Problem& problem, const Demand& demand) {
  const ir::Program none;
  const analyse::StructureFacts facts = analyse::structure_facts(none);
  const cuda::DeviceFacts device;
  for (const cuda::Candidate& candidate : cuda::candidates({.program = none,
                                                            .facts = facts,
                                                            .problem = problem,
                                                            .device = device,
                                                            .any_layout = demand.any_layout,
                                                            .block_lists = demand.block_lists,
                                                            .device_lengths = demand.device_lengths,
                                                            .lengths = demand.lengths}))
    if (candidate.rejection.empty()) note(all, candidate.row, problem);
}

std::vector<Served> served_rows() {
  std::vector<Served> all;
  for (const Demand& demand :
       {Demand{}, Demand{.any_layout = true}, Demand{.block_lists = true},
        Demand{.any_layout = true, .block_lists = true}, Demand{.device_lengths = true},
        Demand{.lengths = cuda::LengthClass::kDecode},
        Demand{.any_layout = true, .lengths = cuda::LengthClass::kDecode}})
    for (const DType dtype : {DType::kBF16, DType::kF16, DType::kF32})
      for (std::int64_t dim = kDimStep; dim <= kLargestDim; dim += kDimStep)
        for (const bool square : {true, false}) {
          Problem problem;
          problem.head_dim = dim;
          problem.value_dim = square ? dim : kDimStep;
          problem.query_dtype = problem.key_dtype = problem.value_dtype = problem.out_dtype = dtype;
          ask(all, problem, demand);
        }
  return all;
}

std::string needs(const Served& row) {
  std::string text = row.is_hopper ? "compute capability 9.0" : "compute capability 8.0";
  if (!row.is_hopper && row.copy_bytes == 16) text += ", 16-byte rows";
  if (row.walks_lists) text += "; block lists";
  if (row.reads_lengths) text += "; key lengths on the device";
  if (row.is_decode) text += "; few query rows";
  return text;
}

std::string words_of(const std::vector<DType>& dtypes) {
  std::string words;
  for (const DType dtype : dtypes) words += (words.empty() ? "" : ", ") + std::string(name(dtype));
  return words;
}

const char* products_of(const std::vector<DType>& dtypes) {
  const bool has_float = std::ranges::find(dtypes, DType::kF32) != dtypes.end();
  return has_float ? "their dtype, f32 as 3 x TF32" : "their dtype";
}

}  // namespace

std::string cuda_kernel_rows() {
  std::string text;
  for (const Served& row : served_rows())
    text += formatted("| `cuda/{}` | {} | {} | {} | f32 | to {}, {} |\n", row.name, needs(row),
                      words_of(row.dtypes), products_of(row.dtypes), row.head_dim,
                      row.is_hopper ? formatted("to {}", row.value_dim) : "any");
  return text;
}

}  // namespace tilewright::cli
