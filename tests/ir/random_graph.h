#pragma once

#include <utility>

#include "ir/program.h"
#include "support/random.h"

namespace tilewright::tests {

/// A program of every operation, leaf and odd number that a graph can hold: meant to be printed and
/// read, not to be evaluated. Its masks read no score.
std::pair<ir::Program, ir::Bindings> random_graph(cases::Random& random, int operations);

}  // namespace tilewright::tests
