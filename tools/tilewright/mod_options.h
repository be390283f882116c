#pragma once

#include <string>
#include <vector>

#include "options.h"
#include "tensor_source.h"
#include "tilewright/problem.h"
#include "tilewright/program.h"
#include "tilewright/table.h"

namespace tilewright::cli {

/// The options by which every verb takes a program.
struct ModOptions {
  std::string mask;
  std::string score;
  std::string program_file;
  std::vector<std::string> captures;  ///< "name=path:tensor"
  std::vector<std::string> numbers;   ///< "name=value"
};

void add_mod_options(OptionList& list, ModOptions& options);

/// A program and the tables of catalogue entries that it reads.
struct LoadedProgram {
  Program program;
  std::vector<Table> tables;
};

/// Reads program text, or catalogue names, and what they capture. Tables of the catalogue are made
/// for `problem`. Tensors of `context`, a file that the verb read anyway, may be used by name
/// without --capture. Throws Error that points into the text.
LoadedProgram load_program(const ModOptions& options, const Problem& problem, OpenFiles& files,
                           const io::TensorFile* context = nullptr);

}  // namespace tilewright::cli
