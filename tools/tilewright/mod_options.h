#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "tensor_source.h"
#include "tilewright/program.h"

namespace tilewright::cli {

/// The options by which every verb takes a program.
struct ModOptions {
  std::string mask;
  std::string score;
  std::string program_file;
  std::vector<std::string> captures;  ///< "name=path:tensor"
  std::vector<std::string> numbers;   ///< "name=value"
};

void add_mod_options(CLI::App& app, ModOptions& options);

/// Reads program text and what it captures. Tensors of `context`, a file that the verb read anyway,
/// may be used by name without --capture. Throws Error that points into the text.
Program load_program(const ModOptions& options, OpenFiles& files,
                     const io::TensorFile* context = nullptr);

}  // namespace tilewright::cli
