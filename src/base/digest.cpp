#include "base/digest.h"

#include <bit>
#include <cstring>

#include <xxhash.h>

namespace tilewright {

namespace {

void append_word(std::string& bytes, std::uint64_t word) {
  char raw[sizeof word];
  std::memcpy(raw, &word, sizeof word);
  bytes.append(raw, sizeof raw);
}

void append_hex(std::string& text, std::uint64_t word) {
  constexpr char kDigits[] = "0123456789abcdef";
  for (int shift = 60; shift >= 0; shift -= 4) text += kDigits[(word >> shift) & 0xF];
}

}  // namespace

std::string hex(const Digest& digest) {
  std::string text;
  append_hex(text, digest.high);
  append_hex(text, digest.low);
  return text;
}

DigestWriter& DigestWriter::text(std::string_view field) {
  append_word(bytes_, field.size());
  bytes_.append(field);
  return *this;
}

DigestWriter& DigestWriter::integer(std::int64_t field) {
  append_word(bytes_, static_cast<std::uint64_t>(field));
  return *this;
}

DigestWriter& DigestWriter::real(double field) {
  append_word(bytes_, std::bit_cast<std::uint64_t>(field));
  return *this;
}

Digest DigestWriter::finish() const {
  const XXH128_hash_t hash = XXH3_128bits(bytes_.data(), bytes_.size());
  return {hash.high64, hash.low64};
}

}  // namespace tilewright
