#pragma once

#include <optional>
#include <vector>

#include "verb.h"

namespace tilewright::cli {

/// A verb with the options that it declared, and what it does.
struct DeclaredVerb {
  const Verb* verb = nullptr;
  OptionList options;
  Action action;
};

/// What a command line asked for: a verb whose options hold their values, or an exit code where it
/// was answered already (--help, --version, a mistake).
struct Request {
  const DeclaredVerb* verb = nullptr;
  bool as_json = false;  ///< --json was given
  int exit_code = 0;     ///< where verb is null
};

Request read_command_line(int argc, char** argv, const std::vector<DeclaredVerb>& verbs);

}  // namespace tilewright::cli
