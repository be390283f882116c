#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ir/program.h"
#include "tilewright/program.h"

namespace tilewright::cases {

/// What a random program may contain.
struct RandomProgramOptions {
  bool score = true;               ///< a score root
  bool mask = true;                ///< a mask root
  bool captures = true;            ///< loads from tables of every dtype and rank 0 to 3
  bool numbers = true;             ///< named and unnamed numbers
  bool fp64_captures = false;      ///< an fp64 table turns the whole mask to fp64
  bool exact_floats_only = false;  ///< no function of the maths library, whose last bits differ
  bool may_fault = false;          ///< subscripts and divisors that some positions make invalid
  int mask_operations = 14;
  int score_operations = 14;
};

/// A program with the tables it reads. Never faults, whatever the positions: subscripts and
/// divisors are guarded or stay in range by construction. The same seed and options give the same
/// program. Movable; views stay valid.
struct RandomProgram {
  std::shared_ptr<const ir::Program> structure;
  ir::Bindings bindings;
  std::vector<std::unique_ptr<std::vector<std::byte>>> storage;

  Program program() const { return {structure, bindings}; }
};

RandomProgram random_program(std::uint64_t seed, const RandomProgramOptions& options = {});

}  // namespace tilewright::cases
