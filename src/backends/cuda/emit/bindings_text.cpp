#include "backends/cuda/emit/bindings_text.h"

#include <fmt/format.h>

namespace tilewright::cuda {

namespace {

const char* stored_type(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return "double";
    case DType::kF32:
      return "float";
    case DType::kF16:
      return "mods::StoredF16";
    case DType::kBF16:
      return "mods::StoredBf16";
    case DType::kI8:
      return "signed char";
    case DType::kI16:
      return "short";
    case DType::kI32:
      return "i32";
    case DType::kI64:
      return "i64";
    case DType::kU8:
      return "u8";
    case DType::kBool:
      break;
  }
  return "mods::StoredBool";
}

}  // namespace

std::string bindings_text(const ir::Program& program, std::size_t numbers,
                          std::span<const PyramidRequest> pyramids, std::size_t bytes) {
  std::string text =
      "  struct Bindings {\n"
      "    ErrorRecord* error;\n"
      "    i64 q_base, kv_base;\n"
      "    i64 batch, heads, q_len, kv_len;\n";
  for (std::size_t slot = 0; slot < program.captures().size(); ++slot) {
    const ir::CaptureSlot& capture = program.captures()[slot];
    text += fmt::format("    mods::Capture<{}, {}> c{};\n", stored_type(capture.dtype),
                        capture.rank, slot);
  }
  for (std::size_t slot = 0; slot < numbers; ++slot) {
    const bool is_real = program.numbers()[slot].type == ir::Type::kFloat;
    text += fmt::format("    mods::{}Number n{};\n", is_real ? "Real" : "Integer", slot);
  }
  for (std::size_t i = 0; i < pyramids.size(); ++i)
    text += fmt::format("    mods::Pyramid p{};  // of c{} along axis {}\n", i, pyramids[i].capture,
                        pyramids[i].axis);
  return text + fmt::format("  }};\n  static_assert(sizeof(Bindings) == {});\n", bytes);
}

}  // namespace tilewright::cuda
