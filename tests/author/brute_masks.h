#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "ir/interpret.h"
#include "tilewright/problem.h"
#include "tilewright/table.h"

namespace tilewright::tests {

/// Element of a table by its subscripts, read as a number.
double element(const Table& table, std::initializer_list<std::int64_t> at);

/// What the reference says about one pair, in plain integers and with the catalogue's initial
/// parameters; tables in the order in which the entry lists them.
bool brute_mask(std::string_view name, const std::vector<Table>& tables, const Problem& problem,
                const ir::Position& at);

}  // namespace tilewright::tests
