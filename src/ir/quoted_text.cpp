#include "ir/quoted_text.h"

#include <charconv>

namespace tilewright::ir {

std::string quote(std::string_view name) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text = "\"";
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = byte >= 0x20 && byte < 0x7f && c != '"' && c != '\\';
    if (plain)
      text += c;
    else
      text.append("\\x").append(1, kDigits[byte >> 4]).append(1, kDigits[byte & 15U]);
  }
  return text + "\"";
}

std::optional<std::string> unquote(std::string_view quoted) {
  std::string name;
  for (std::size_t i = 1; i + 1 < quoted.size(); ++i) {
    if (quoted[i] != '\\') {
      name += quoted[i];
      continue;
    }
    unsigned byte = 0;
    const char* digits = quoted.data() + i + 2;
    if (i + 4 >= quoted.size() || quoted[i + 1] != 'x') return std::nullopt;
    if (std::from_chars(digits, digits + 2, byte, 16).ptr != digits + 2) return std::nullopt;
    name += static_cast<char>(byte);
    i += 3;
  }
  return name;
}

}  // namespace tilewright::ir
