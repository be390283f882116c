#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backends/cuda/emit/mods_text.h"
#include "backends/cuda/parameter_block.h"
#include "ir/program.h"
#include "tilewright/problem.h"

namespace tilewright::test {

/// The structs of host/run_mods.h.
struct PairQuery {
  std::int32_t b = 0, h = 0, i = 0, j = 0;
  float product = 0, scale = 1;
};
struct PairResult {
  float exponent = 0;
  std::int32_t mask = 0;
  std::int32_t intervals = -1;
};
inline constexpr std::size_t kMostLoads = 40;
struct DerivativeResult {
  float d_score = 0;
  float factor[kMostLoads] = {};
  std::int64_t place[kMostLoads] = {};
};
struct TileQuery {
  std::int32_t b = 0, h = 0, q_begin = 0, q_end = 0, kv_begin = 0, kv_end = 0;
};
struct FaultRecord {
  std::int32_t code = 0;
  std::int32_t subject = 0;
  std::int64_t index = 0;
};

/// What a kernel's second parameter points to: the block, the pyramids, the fault record. The
/// tensors must outlive it.
class HostBlock {
 public:
  HostBlock(const ir::Program& program, const ir::Bindings& bindings, const Problem& problem,
            std::span<const cuda::PyramidRequest> pyramids);
  const void* data() const { return block_.data(); }
  FaultRecord& fault() { return *fault_; }

 private:
  std::vector<std::byte> block_;
  std::vector<std::vector<std::byte>> cells_;
  std::unique_ptr<FaultRecord> fault_;
};

/// Mods translated by the host compiler: one library for a whole batch.
class HostPrograms {
 public:
  /// Numbers count from 0.
  std::size_t add(const cuda::ModsText& mods);
  /// Translates what was added, once. Throws std::runtime_error with the compiler's words.
  void build();
  std::vector<PairResult> pairs(std::size_t program, const HostBlock& block,
                                std::span<const PairQuery> queries) const;
  /// Of mods that were emitted with a derivative.
  std::vector<DerivativeResult> derivatives(std::size_t program, const HostBlock& block,
                                            std::span<const PairQuery> queries) const;
  /// 0 empty, 1 partial, 2 full.
  std::vector<std::int32_t> classes(std::size_t program, const HostBlock& block,
                                    std::span<const TileQuery> queries) const;
  ~HostPrograms();
  HostPrograms() = default;
  HostPrograms(const HostPrograms&) = delete;
  HostPrograms& operator=(const HostPrograms&) = delete;

 private:
  void* symbol(const char* name, std::size_t program) const;

  std::string text_;
  std::size_t count_ = 0;
  void* library_ = nullptr;
};

}  // namespace tilewright::test
