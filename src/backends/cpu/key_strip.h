#pragma once

#include <cstdint>
#include <vector>

#include "backends/cpu/block_operands.h"
#include "backends/cpu/strip_order.h"
#include "backends/cpu/strip_steps.h"

namespace tilewright::cpu {

/// The row blocks of the units in hand.
struct UnitBlocks {
  const std::vector<RowBlock>* blocks = nullptr;  ///< of each unit
  std::int64_t first_unit = 0;
  char* memory = nullptr;

  std::int64_t per_unit() const { return static_cast<std::int64_t>(blocks->size()); }
};

/// Where block `block` of unit `unit` (counted from first_unit) lies in the tensors.
BlockPlace block_place(const BackwardCall& call, const UnitBlocks& units, std::int64_t unit,
                       std::int64_t block);
BlockMemory block_memory(const BackwardLayout& layout, const UnitBlocks& units, std::int64_t unit,
                         std::int64_t block);

/// One worker of the backward and its buffers, carved from the workspace. A strip holds one tile of
/// keys, packed three ways, and their gradients in fp32 (fp64), and meets every row block once:
///
///   S = Q K^T    dP = dO V^T    P, dS by the pass    dQ += dS K    dV += P^T dO    dK += dS^T Q
class KeyStrip {
 public:
  KeyStrip(const BackwardCall& call, const BackwardLayout& layout, char* memory);

  /// Runs a strip and writes its keys' gradients.
  void run(const StripOrder::Strip& strip, const UnitBlocks& units, StripOrder& order,
           const std::vector<void*>& capture_sums, PassFault& fault);

 private:
  /// One row block of the strip in hand.
  struct Meeting {
    BlockPlace place;
    BlockMemory memory;
  };

  /// sums [keys][columns] += left^T [keys][rows] * right [rows][columns]
  struct KeyProduct {
    const char* left;
    const char* right;
    char* sums;
    std::int64_t columns;
  };

  void begin(const StripOrder::Strip& strip, const UnitBlocks& units);
  void pack_keys(TokenRange keys);
  void meet(const StripOrder::Strip& strip, const Meeting& meeting, const StripOrder& order,
            std::int64_t block);
  void score(const Meeting& meeting, const StripStep& step);
  void run_pass(const Meeting& meeting, const StripStep& step);
  void add_d_query(const Meeting& meeting, const StripStep& step);
  void add_transposed(const Meeting& meeting, const StripStep& step);
  void add_product(const KeyProduct& product, const Meeting& meeting, const StripStep& step);
  void store_keys();

  std::int64_t offset(const StripStep& step) const { return step.kv_begin - keys_.begin; }
  std::int64_t prob_cols(const StripStep& step) const;

  const BackwardCall& call_;
  const BackwardLayout& layout_;
  const MicroKernel& kernel_;
  char* key_b_;
  char* key_turned_;
  char* value_b_;
  char* d_key_;
  char* d_value_;
  char* score_;
  char* d_prob_;
  char* prob_;
  char* d_score_;
  char* turned_;
  char* column_scratch_;
  std::int64_t prob_multiple_;
  std::int64_t step_alignment_;
  std::vector<StripStep> steps_;

  // The strip in hand.
  std::int64_t kv_b_ = 0;
  std::int64_t kv_h_ = 0;
  TokenRange keys_;
  TokenRange packed_;  ///< those of keys_ that the row block in hand can have
  void* const* capture_sums_ = nullptr;
  PassFault* fault_ = nullptr;
};

}  // namespace tilewright::cpu
