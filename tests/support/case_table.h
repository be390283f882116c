#pragma once

#include <optional>
#include <string_view>

#include "support/cases.h"
#include "support/entry.h"

namespace tilewright::cases {

/// A case as the values that its names stand for.
struct CaseSpec {
  Entry entry;
  DType dtype = DType::kF32;
  Extents extents;
  Layout layout = Layout::kContiguous;
  std::optional<double> scale;
  ResultSpec results;
};

CaseSpec spec_of(const Case& problem);

}  // namespace tilewright::cases
