#include "io/npy_header.h"

#include <cctype>
#include <charconv>

namespace tilewright::io {

namespace {

/// Reads the little of Python that NumPy writes; every function is false where the text differs.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  bool take(std::string_view word) {
    skip_blanks();
    if (!text_.starts_with(word)) return false;
    text_.remove_prefix(word.size());
    return true;
  }

  bool quoted(std::string& value) {
    skip_blanks();
    if (text_.empty() || (text_.front() != '\'' && text_.front() != '"')) return false;
    const std::size_t end = text_.find(text_.front(), 1);
    if (end == std::string_view::npos) return false;
    value = std::string(text_.substr(1, end - 1));
    text_.remove_prefix(end + 1);
    return true;
  }

  bool truth(bool& value) {
    value = take("True");
    return value || take("False");
  }

  bool shape(Dims& value) {
    if (!take("(")) return false;
    while (!take(")")) {
      skip_blanks();
      std::int64_t extent = 0;
      const auto [end, fault] = std::from_chars(text_.data(), text_.data() + text_.size(), extent);
      if (fault != std::errc() || value.size() == Dims::kMaxRank) return false;
      text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
      value.push_back(extent);
      if (!take(",") && !text_.starts_with(")")) return false;
    }
    return true;
  }

 private:
  void skip_blanks() {
    while (!text_.empty() && std::isspace(static_cast<unsigned char>(text_.front())) != 0) {
      text_.remove_prefix(1);
    }
  }

  std::string_view text_;
};

struct Seen {
  bool descr = false;
  bool fortran_order = false;
  bool shape = false;
};

bool parse_entry(Scanner& scanner, NpyHeader& header, Seen& seen) {
  std::string key;
  if (!scanner.quoted(key) || !scanner.take(":")) return false;
  if (key == "descr") return seen.descr = scanner.quoted(header.descr);
  if (key == "fortran_order") return seen.fortran_order = scanner.truth(header.fortran_order);
  if (key == "shape" && !seen.shape) return seen.shape = scanner.shape(header.shape);
  return false;
}

}  // namespace

std::optional<NpyHeader> parse_npy_header(std::string_view text) {
  Scanner scanner(text);
  NpyHeader header;
  Seen seen;
  if (!scanner.take("{")) return std::nullopt;
  while (!scanner.take("}")) {
    if (!parse_entry(scanner, header, seen)) return std::nullopt;
    scanner.take(",");
  }
  if (!seen.descr || !seen.fortran_order || !seen.shape) return std::nullopt;
  return header;
}

std::string npy_header_text(std::string_view word, const Dims& shape) {
  std::string text = "{'descr': '";
  text += word.ends_with('1') ? "|" : "<";
  text += word;
  text += "', 'fortran_order': False, 'shape': (";
  for (const std::int64_t extent : shape) text += std::to_string(extent) + ", ";
  if (shape.size() > 1) text.resize(text.size() - 2);
  if (shape.size() == 1) text.pop_back();
  text += "), }";
  // NumPy's rule: magic, version, length and this text with its newline are a multiple of 64.
  constexpr std::size_t kFixedBytes = 11;
  constexpr std::size_t kAlignment = 64;
  text.append((kAlignment - (text.size() + kFixedBytes) % kAlignment) % kAlignment, ' ');
  return text + "\n";
}

}  // namespace tilewright::io
