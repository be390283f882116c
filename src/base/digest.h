#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tilewright {

/// 128-bit content name.
struct Digest {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  bool operator==(const Digest&) const = default;
  auto operator<=>(const Digest&) const = default;
};

/// 32 lower-case hex digits.
std::string hex(const Digest& digest);

/// Collects length-prefixed fields, so that no two field lists give the same bytes, and names them
/// by XXH3-128.
class DigestWriter {
 public:
  DigestWriter& text(std::string_view field);
  DigestWriter& integer(std::int64_t field);
  DigestWriter& real(double field);
  Digest finish() const;

 private:
  std::string bytes_;
};

}  // namespace tilewright
