#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tilewright/tensor.h"

namespace tilewright::io {

/// The Python dictionary at the start of an .npy file.
struct NpyHeader {
  std::string descr;  ///< "<f4"
  bool fortran_order = false;
  Dims shape;
};

/// Absent for anything but the three keys with values of their kinds, in any order.
std::optional<NpyHeader> parse_npy_header(std::string_view text);

/// The header of a C-order array, padded so that data starts at a multiple of 64 bytes. `word` is
/// the dtype without its byte order.
std::string npy_header_text(std::string_view word, const Dims& shape);

}  // namespace tilewright::io
