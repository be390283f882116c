#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace tilewright::cli {

/// Where the value of an option goes; a bool is a flag without a value.
using OptionTarget =
    std::variant<bool*, int*, std::int64_t*, std::uint64_t*, std::string*, std::optional<double>*,
                 std::vector<std::int64_t>*, std::vector<std::string>*>;

/// Bounds of a number, both included.
struct NumberRange {
  std::int64_t least = 0;
  std::int64_t most = 0;
};

inline constexpr NumberRange kAnyLength{0, std::int64_t{1} << 40};

/// One option of a verb, as data: command_line.cpp alone knows the parser's library, whose header
/// takes many seconds to compile.
struct Option {
  std::string name;  ///< "--mask"
  OptionTarget target;
  std::string meaning;
  std::string value_name = {};  ///< how --help names the value; by default its type
  std::string group = {};       ///< heading in --help
  std::optional<NumberRange> range = {};
  std::vector<std::string> choices = {};
  char delimiter = '\0';  ///< between the values of a list
  bool required = false;
};

/// What a verb takes.
class OptionList {
 public:
  void add(Option option) { options_.push_back(std::move(option)); }
  /// Ends --help: examples.
  void end_with(std::string text) { footer_ = std::move(text); }

  const std::vector<Option>& options() const noexcept { return options_; }
  const std::string& footer() const noexcept { return footer_; }

 private:
  std::vector<Option> options_;
  std::string footer_;
};

}  // namespace tilewright::cli
