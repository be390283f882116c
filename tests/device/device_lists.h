#pragma once

#include <cstring>
#include <random>

#include "device/gpu_fixture.h"
#include "tilewright/block_lists.h"

namespace tilewright::device_tests {

struct ListSpec {
  std::int64_t q_block = 128;
  std::int64_t kv_block = 128;
  std::int64_t batches = 1;
  std::int64_t heads = 1;
  bool full = true;
  std::uint32_t seed = 1;
};

/// Random tiles, unsorted, some listed twice or in both lists; garbage behind each count.
struct RandomLists {
  RandomLists(const cases::Extents& extents, const ListSpec& spec)
      : counts(DType::kI32, {spec.batches, spec.heads, tiles(extents.q_len, spec.q_block)}),
        indices(DType::kI32, entries(extents, spec)),
        full_counts(DType::kI32, counts.shape()),
        full_indices(DType::kI32, indices.shape()) {
    std::mt19937 random(spec.seed);
    fill(counts, indices, tiles(extents.kv_len, spec.kv_block), random);
    fill(full_counts, full_indices, tiles(extents.kv_len, spec.kv_block), random);
    lists = {.q_len = extents.q_len,
             .kv_len = extents.kv_len,
             .q_block = spec.q_block,
             .kv_block = spec.kv_block,
             .kv_num_blocks = counts.view(),
             .kv_indices = indices.view(),
             .full_kv_num_blocks = {},
             .full_kv_indices = {}};
    if (!spec.full) return;
    lists.full_kv_num_blocks = full_counts.view();
    lists.full_kv_indices = full_indices.view();
  }

  static std::int64_t tiles(std::int64_t length, std::int64_t block) {
    return (length + block - 1) / block;
  }
  static Dims entries(const cases::Extents& extents, const ListSpec& spec) {
    return {spec.batches, spec.heads, tiles(extents.q_len, spec.q_block),
            tiles(extents.kv_len, spec.kv_block) + 2};
  }
  static void fill(const cases::Tensor& counts, const cases::Tensor& indices, std::int64_t kv_tiles,
                   std::mt19937& random) {
    auto* const count = static_cast<std::int32_t*>(counts.view().data);
    auto* const index = static_cast<std::int32_t*>(indices.view().data);
    const std::int64_t rows = element_count(counts.shape()), room = indices.shape()[3];
    for (std::int64_t row = 0; row < rows; ++row) {
      count[row] = static_cast<std::int32_t>(random() % static_cast<unsigned>(room + 1));
      for (std::int64_t n = 0; n < room; ++n)
        index[row * room + n] =
            n < count[row] ? static_cast<std::int32_t>(random() % static_cast<unsigned>(kv_tiles))
                           : -123456789;
    }
  }

  /// The tiles of other lists of the same shape.
  void take(const RandomLists& others) const {
    const auto copy = [](const cases::Tensor& to, const cases::Tensor& from) {
      std::memcpy(to.bytes().data(), from.bytes().data(), to.bytes().size());
    };
    copy(counts, others.counts);
    copy(indices, others.indices);
    copy(full_counts, others.full_counts);
    copy(full_indices, others.full_indices);
  }

  cases::Tensor counts, indices, full_counts, full_indices;
  BlockLists lists;
};

/// The same lists on the GPU.
struct ListsOnDevice {
  explicit ListsOnDevice(const RandomLists& host)
      : counts(host.counts),
        indices(host.indices),
        full_counts(host.full_counts),
        full_indices(host.full_indices),
        lists(host.lists) {
    lists.kv_num_blocks = counts.view();
    lists.kv_indices = indices.view();
    if (!lists.full_kv_num_blocks) return;
    lists.full_kv_num_blocks = full_counts.view();
    lists.full_kv_indices = full_indices.view();
  }
  void upload() const {
    for (const DeviceCopy* copy : {&counts, &indices, &full_counts, &full_indices}) copy->upload();
  }
  DeviceCopy counts, indices, full_counts, full_indices;
  BlockLists lists;
};

}  // namespace tilewright::device_tests
