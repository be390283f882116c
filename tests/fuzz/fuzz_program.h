#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "fuzz/fuzz_case.h"
#include "tilewright/program.h"

namespace tilewright::cases {

/// The program of a fuzz case with the tables it reads. Masks are integer arithmetic, exact on
/// every backend; scores are functions whose rounding stays small, so that the tolerance of the
/// semantics holds. Every node of the two trees draws from its own generator, seeded by its path:
/// replacing one subtree by a leaf leaves all others as they are.
struct FuzzProgram {
  Program program;
  std::vector<std::unique_ptr<Tensor>> tables;
  std::set<std::string> paths;  ///< of every inner node, "m" and "s" are the roots
};

FuzzProgram fuzz_program(const FuzzCase& problem);

}  // namespace tilewright::cases
