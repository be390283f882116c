#include "mod_options.h"

#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>
#include <utility>

#include "catalogue_text.h"
#include "io/mapped_file.h"
#include "ir/text.h"
#include "tilewright/error.h"

namespace tilewright::cli {

namespace {

[[noreturn]] void raise_bad_option(const std::string& option, std::string expected,
                                   const std::string& got) {
  throw Error({.code = ErrorCode::kInvalidArgument,
               .what = "cannot read " + option,
               .where = option,
               .expected = std::move(expected),
               .got = got,
               .hint = {}});
}

/// Splits "name=rest".
std::pair<std::string, std::string> assignment(const std::string& option, const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == 0 || equals == std::string::npos) raise_bad_option(option, "name=...", text);
  return {text.substr(0, equals), text.substr(equals + 1)};
}

ir::CaptureSlot slot_of(const std::string& name, const TensorView& view) {
  return {.name = name, .dtype = view.dtype, .rank = static_cast<std::uint32_t>(view.rank())};
}

/// The whole text as a number; absent for anything else.
template <class T>
std::optional<T> parsed(const std::string& text) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [stop, fault] = std::from_chars(text.data(), end, value);
  if (fault != std::errc() || stop != end) return std::nullopt;
  return value;
}

std::pair<ir::NumberSlot, ir::NumberValue> number_of(const std::string& text) {
  const auto [name, value] = assignment("--number", text);
  if (const auto integer = parsed<std::int64_t>(value)) {
    return {{.name = name, .type = ir::Type::kInt}, {.real = 0, .integer = *integer}};
  }
  const auto real = parsed<double>(value);
  if (!real) raise_bad_option("--number", "name=number", text);
  return {{.name = name, .type = ir::Type::kFloat}, {.real = *real, .integer = 0}};
}

std::string file_text(const std::string& path) {
  const io::MappedFile file(path);
  return {reinterpret_cast<const char*>(file.data()), file.size_bytes()};
}

bool is_declared(const ir::Declarations& declared, const std::string& name) {
  const auto has_name = [&name](const auto& entry) { return entry.first.name == name; };
  return std::ranges::any_of(declared.captures, has_name) ||
         std::ranges::any_of(declared.numbers, has_name);
}

/// The statements that one --mask or --score stands for.
std::string statements(const std::string& text, const Problem& problem, ir::Declarations& declared,
                       std::vector<Table>& tables) {
  const std::optional<CatalogueCall> call = parse_catalogue_call(text);
  const bool is_call = call && call->name != "score" && !is_declared(declared, call->name);
  return (is_call ? catalogue_text(*call, problem, declared, tables) : text) + "\n";
}

ir::Declarations declarations(const ModOptions& options, OpenFiles& files,
                              const io::TensorFile* context) {
  ir::Declarations declared;
  for (const std::string& text : options.captures) {
    const auto [name, source] = assignment("--capture", text);
    const TensorView view = files.tensor(source, name);
    declared.captures.emplace_back(slot_of(name, view), view);
  }
  for (const std::string& text : options.numbers) declared.numbers.push_back(number_of(text));
  if (context == nullptr) return declared;
  for (const io::NamedTensor& tensor : context->tensors()) {
    if (is_declared(declared, tensor.name)) continue;
    declared.captures.emplace_back(slot_of(tensor.name, tensor.view), tensor.view);
  }
  return declared;
}

}  // namespace

void add_mod_options(OptionList& list, ModOptions& options) {
  const std::string group = "Program";
  list.add({.name = "--mask",
            .target = &options.mask,
            .meaning = "mask_mod as text or catalogue name: which pairs (q, kv) are live",
            .value_name = "TEXT",
            .group = group});
  list.add({.name = "--score",
            .target = &options.score,
            .meaning = "score_mod as text or catalogue name: what happens to one score",
            .value_name = "TEXT",
            .group = group});
  list.add({.name = "--program",
            .target = &options.program_file,
            .meaning = "file with both, in the text form",
            .value_name = "FILE",
            .group = group});
  list.add({.name = "--capture",
            .target = &options.captures,
            .meaning = "tensor that the text reads by this name (may be given again)",
            .value_name = "NAME=FILE[:TENSOR]",
            .group = group});
  list.add({.name = "--number",
            .target = &options.numbers,
            .meaning = "number that the text reads by this name (may be given again)",
            .value_name = "NAME=VALUE",
            .group = group});
}

LoadedProgram load_program(const ModOptions& options, const Problem& problem, OpenFiles& files,
                           const io::TensorFile* context) {
  ir::Declarations declared = declarations(options, files, context);
  std::vector<Table> tables;
  std::string text;
  if (!options.program_file.empty()) text = file_text(options.program_file) + "\n";
  if (!options.mask.empty()) text += statements(options.mask, problem, declared, tables);
  if (!options.score.empty()) text += statements(options.score, problem, declared, tables);
  auto [structure, bindings] = ir::parse(text, declared);
  return {Program(std::make_shared<const ir::Program>(std::move(structure)), std::move(bindings)),
          std::move(tables)};
}

}  // namespace tilewright::cli
