#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/covering_array.h"
#include "support/entry.h"
#include "support/forward.h"
#include "support/targets.h"

namespace tilewright::cases {

/// One problem of the table: a value for each factor. Its id names them all and is all that its
/// data depends on: "window-bf16-odd-e31v17-g3-shared-sliced-lse-default".
class Case {
 public:
  explicit Case(Choice choice) : choice_(std::move(choice)) {}
  const Choice& choice() const { return choice_; }
  std::string id() const;

 private:
  Choice choice_;
};

/// Names of the factors and of their values, in the order of Choice.
struct Factor {
  std::string_view name;
  std::vector<std::string_view> values;
};
const std::vector<Factor>& factors();

/// Every pair of values of two factors is in one of these. The micro-kernel is no factor: every
/// case runs on each of them.
const std::vector<Case>& all_cases();

/// Calls `visit` for every combination of values: hundreds of thousands.
void for_every_combination(const std::function<void(const Case&)>& visit);

/// The inverse of Case::id(); absent for an unknown id. Knows the full product too.
std::optional<Case> find_case(std::string_view id);

struct CaseSpec;

enum class Outcome : std::uint8_t { kPassed, kFailed, kSkipped };

struct CaseResult {
  Outcome outcome = Outcome::kFailed;
  std::string reason;     ///< of a failure or a skip
  std::string kernel;     ///< the row that ran
  double out_error = 0;   ///< max |X - X64| over its bound; 1 is the limit
  double mean_error = 0;  ///< mean |X - X64| over its bound
  double lse_error = 0;   ///< relative to max(1, |X64|)
};

/// One case on any number of targets: its data, and the fp64 meaning that all are compared with,
/// are computed once.
class CaseRun {
 public:
  explicit CaseRun(const Case& problem);
  ~CaseRun();

  /// Never throws for what the engine throws: that is a failure.
  CaseResult on(Engine& engine);
  /// On the target's engine; skipped with its reason where it is unavailable.
  CaseResult on(const Target& target);

 private:
  std::unique_ptr<CaseSpec> spec_;
  EntryContext context_;
  Program program_;
  Operands operands_;
  std::optional<Reference> reference_;
};

}  // namespace tilewright::cases
