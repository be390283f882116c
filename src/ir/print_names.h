#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ir/program.h"

namespace tilewright::ir {

/// Names for everything that a printed program reads. A capture or number keeps its own name where
/// the text form can spell it; otherwise it gets an alias, and its declaration says `as "..."`.
class PrintNames {
 public:
  explicit PrintNames(const Program& program);

  const std::string& capture(std::size_t slot) const { return captures_[slot]; }
  const std::string& number(std::size_t slot) const { return numbers_[slot]; }
  /// "" or ` as "real name"`.
  std::string capture_suffix(std::size_t slot) const;
  std::string number_suffix(std::size_t slot) const;
  /// A name that nothing else has.
  std::string fresh();

 private:
  std::string choose(const std::string& name, std::string_view prefix);

  const Program& program_;
  std::set<std::string, std::less<>> taken_;
  std::vector<std::string> captures_;
  std::vector<std::string> numbers_;
  std::size_t next_ = 0;
};

}  // namespace tilewright::ir
