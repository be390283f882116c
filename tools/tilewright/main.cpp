#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <exception>
#include <new>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "console.h"
#include "exit_code.h"
#include "tilewright/error.h"
#include "tilewright/target.h"
#include "verb.h"

namespace tilewright::cli {

namespace {

constexpr const char* kFooter =
    "Start with:\n"
    "  tilewright mask --mask \"q >= kv\" --q 64 --kv 64\n"
    "  tilewright run --random --q 128 --kv 128 --mask \"q >= kv\" --verify\n"
    "Each verb explains itself: tilewright run --help";

void report(const ErrorParts& parts, const std::string& message, bool as_json) {
  print_problem("tilewright: " + message);
  if (!as_json) return;
  nlohmann::ordered_json fault;
  fault["error"] = {{"code", name(parts.code)},   {"what", parts.what}, {"where", parts.where},
                    {"expected", parts.expected}, {"got", parts.got},   {"hint", parts.hint}};
  print_json(fault);
}

int act(const Action& action, bool as_json) {
  try {
    return action();
  } catch (const Error& error) {
    report(error.parts(), error.what(), as_json);
    return exit_code_of(error.code());
  } catch (const std::bad_alloc&) {
    report({.code = ErrorCode::kIo,
            .what = "out of memory",
            .where = {},
            .expected = {},
            .got = {},
            .hint = "use a smaller problem"},
           "out of memory", as_json);
    return kSystemFailed;
  } catch (const std::exception& error) {
    print_problem(std::string("tilewright: this is a bug: ") + error.what());
    return kInternal;
  }
}

int main_of(int argc, char** argv) {
  // A closed pipe is an error of write(), not a silent end.
  std::signal(SIGPIPE, SIG_IGN);
  CLI::App app("Programmable attention: write one score, get a fused kernel.", "tilewright");
  app.footer(kFooter);
  app.require_subcommand(1);
  app.set_version_flag("--version", std::string("tilewright ") + version());
  std::vector<std::pair<const CLI::App*, Action>> actions;
  for (const Verb& verb : verbs()) {
    CLI::App* sub = app.add_subcommand(verb.name, verb.summary);
    actions.emplace_back(sub, verb.declare(*sub));
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& fault) {
    return app.exit(fault) == 0 ? kSuccess : kUsage;
  }
  const auto chosen =
      std::ranges::find_if(actions, [](const auto& entry) { return entry.first->parsed(); });
  const CLI::Option* json = chosen->first->get_option_no_throw("--json");
  return act(chosen->second, json != nullptr && json->count() > 0);
}

}  // namespace

}  // namespace tilewright::cli

int main(int argc, char** argv) { return tilewright::cli::main_of(argc, argv); }
