#include "catalogue_text.h"

#include <cctype>
#include <charconv>
#include <string_view>

#include "tilewright/error.h"

namespace tilewright::cli {

namespace {

std::string_view trimmed(std::string_view text) {
  const char* blanks = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

bool is_word(std::string_view text) {
  if (text.empty() || std::isdigit(static_cast<unsigned char>(text.front())) != 0) return false;
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_') return false;
  }
  return true;
}

double value_of(std::string_view text, const std::string& call) {
  double value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault == std::errc() && end == text.data() + text.size()) return value;
  throw Error({.code = ErrorCode::kParse,
               .what = "a parameter of a catalogue entry is not a number",
               .where = call,
               .expected = "name(parameter=number, ...)",
               .got = std::string(text),
               .hint = {}});
}

/// Reads "W=4096, d=2"; false where the text has another form.
bool read_values(std::string_view list, const std::string& call, CatalogueValues& values) {
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    const std::string_view item = trimmed(list.substr(0, comma));
    const std::size_t equals = item.find('=');
    if (equals == std::string_view::npos) return false;
    const std::string_view name = trimmed(item.substr(0, equals));
    // "a == b" is a comparison, not a value.
    if (!is_word(name) || item.substr(equals + 1).starts_with('=')) return false;
    values[std::string(name)] = value_of(trimmed(item.substr(equals + 1)), call);
    list = comma == std::string_view::npos ? "" : trimmed(list.substr(comma + 1));
  }
  return true;
}

}  // namespace

std::optional<CatalogueCall> parse_catalogue_call(const std::string& text) {
  constexpr std::size_t kLongest = 1000;
  const std::string_view whole = trimmed(text);
  if (whole.size() > kLongest) return std::nullopt;
  const std::size_t open = whole.find('(');
  const std::string_view name = trimmed(whole.substr(0, open));
  if (!is_word(name)) return std::nullopt;
  CatalogueCall call{.name = std::string(name), .values = {}};
  if (open == std::string_view::npos) return call;
  if (!whole.ends_with(')')) return std::nullopt;
  const std::string_view inside = whole.substr(open + 1, whole.size() - open - 2);
  if (!read_values(trimmed(inside), text, call.values)) return std::nullopt;
  return call;
}

std::string catalogue_text(const CatalogueCall& call, const Problem& problem,
                           ir::Declarations& declared, std::vector<Table>& tables) {
  const CatalogueMod mod = catalogue_entry(call.name).make(problem, call.values);
  tables.insert(tables.end(), mod.tables.begin(), mod.tables.end());
  const Program program = mod.trace();
  const auto captures = program.structure().captures();
  for (std::size_t slot = 0; slot < captures.size(); ++slot) {
    declared.captures.emplace_back(captures[slot], program.bindings().captures[slot]);
  }
  const std::string text = program.text();
  // The first line is the version of the text form, which may stand once only.
  return text.starts_with("tilewright") ? text.substr(text.find('\n') + 1) : text;
}

}  // namespace tilewright::cli
