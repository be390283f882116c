#include "ir/print_names.h"

#include "ir/lexer.h"
#include "ir/op.h"
#include "ir/quoted_text.h"
#include "ir/scope.h"

namespace tilewright::ir {

namespace {

constexpr std::size_t kMaxPlainNameBytes = 32;

bool is_plain(std::string_view name) {
  return is_name(name) && name.size() <= kMaxPlainNameBytes && !is_reserved(name) &&
         !is_function(name) && name != "score" && name != "mask";
}

std::string suffix(const std::string& shown, const std::string& name) {
  return shown == name ? std::string() : " as " + quote(name);
}

}  // namespace

PrintNames::PrintNames(const Program& program) : program_(program) {
  for (const CaptureSlot& slot : program.captures()) captures_.push_back(choose(slot.name, "c"));
  for (const NumberSlot& slot : program.numbers())
    numbers_.push_back(slot.name.empty() ? std::string() : choose(slot.name, "n"));
}

std::string PrintNames::choose(const std::string& name, std::string_view prefix) {
  if (is_plain(name) && taken_.insert(name).second) return name;
  std::size_t index = 0;
  std::string alias;
  do {
    alias = std::string(prefix) + std::to_string(index++);
  } while (!taken_.insert(alias).second);
  return alias;
}

std::string PrintNames::capture_suffix(std::size_t slot) const {
  return suffix(captures_[slot], program_.captures()[slot].name);
}

std::string PrintNames::number_suffix(std::size_t slot) const {
  return suffix(numbers_[slot], program_.numbers()[slot].name);
}

std::string PrintNames::fresh() {
  std::string name;
  do {
    name = "t" + std::to_string(next_++);
  } while (!taken_.insert(name).second);
  return name;
}

}  // namespace tilewright::ir
