#include "tilewright/device_mask_map.h"

#include "analyse/device_map_layout.h"
#include "analyse/facts.h"
#include "tilewright/error.h"

namespace tilewright {

namespace {

[[noreturn]] void raise(const char* what, const char* where, const std::string& expected,
                        const std::string& got) {
  throw Error({.code = ErrorCode::kInvalidArgument,
               .what = what,
               .where = where,
               .expected = expected,
               .got = got,
               .hint = {}});
}

void require_at_least(std::int64_t least, std::int64_t got, const char* where) {
  if (got < least)
    raise("a mask map cannot be made for these sizes", where, "at least " + std::to_string(least),
          std::to_string(got));
}

void require_equal(std::int64_t own, std::int64_t called, const char* where) {
  if (own != called)
    raise("the mask map was made for another call", where, std::to_string(called),
          std::to_string(own));
}

void check(const DeviceMaskMapOptions& options) {
  require_at_least(1, options.batch, "batch");
  require_at_least(1, options.heads, "heads");
  require_at_least(0, options.q_len, "q_len");
  require_at_least(0, options.kv_len, "kv_len");
  require_at_least(1, options.q_block, "q_block");
  require_at_least(1, options.spans_per_block, "spans_per_block");
}

std::int64_t blocks_of(const DeviceMaskMapOptions& options) {
  return (options.q_len + options.q_block - 1) / options.q_block;
}

/// Lists of a program: 1 for what it does not depend on.
struct ListCounts {
  std::int64_t batches, heads;
};
ListCounts counts_of(const Program& program, const DeviceMaskMapOptions& options) {
  const analyse::StructureFacts facts = analyse::structure_facts(program.structure());
  return {facts.mask_depends_on_b ? options.batch : 1, facts.mask_depends_on_h ? options.heads : 1};
}

}  // namespace

std::size_t DeviceMaskMap::bytes_for(const Program& program, const DeviceMaskMapOptions& options) {
  check(options);
  const auto [batches, heads] = counts_of(program, options);
  return analyse::device_map_layout(batches * heads * blocks_of(options), options.spans_per_block)
      .bytes;
}

DeviceMaskMap::DeviceMaskMap(const Program& program, const DeviceMaskMapOptions& options,
                             const TensorView& memory)
    : program_(program), options_(options), memory_(memory) {
  if (!program.has_mask_mod())
    raise("a mask map is made from a mask_mod", "program", "a mask_mod", "none");
  const std::size_t bytes = bytes_for(program, options);
  if (memory.device.kind == DeviceKind::kCpu)
    raise("the map's memory lies on a device", "memory", "a device", "the CPU");
  const std::size_t given =
      static_cast<std::size_t>(element_count(memory.shape)) * size_bytes(memory.dtype);
  if (given < bytes)
    raise("the map's memory is too small", "memory", std::to_string(bytes) + " bytes",
          std::to_string(given) + " bytes");
  constexpr std::uintptr_t kAlignment = 256;
  if (reinterpret_cast<std::uintptr_t>(memory.data) % kAlignment != 0)
    raise("the map's memory is not aligned", "memory", "a multiple of 256 bytes",
          "another address");
  const auto [batches, heads] = counts_of(program, options);
  batches_ = batches;
  heads_ = heads;
}

std::int64_t DeviceMaskMap::q_blocks() const noexcept { return blocks_of(options_); }

void DeviceMaskMap::require_serves(const Program& program, std::int64_t batch, std::int64_t heads,
                                   std::int64_t q_len, std::int64_t kv_len) const {
  if (program.content_digest() != program_.content_digest())
    raise("the mask map was made from another program", "device_map",
          "one of this program with these numbers", "another structure, or other numbers");
  require_equal(options_.q_len, q_len, "q_len");
  require_equal(options_.kv_len, kv_len, "kv_len");
  if (batches_ != 1) require_equal(batches_, batch, "batch");
  if (heads_ != 1) require_equal(heads_, heads, "heads");
}

}  // namespace tilewright
