#include "command_line.h"

#include <CLI/CLI.hpp>

#include "exit_code.h"
#include "tilewright/target.h"

namespace tilewright::cli {

namespace {

constexpr const char* kFooter =
    "Start with:\n"
    "  tilewright mask --mask \"q >= kv\" --q 64 --kv 64\n"
    "  tilewright run --random --q 128 --kv 128 --mask \"q >= kv\" --verify\n"
    "Each verb explains itself: tilewright run --help";

CLI::Option* declared(CLI::App& app, const Option& option) {
  return std::visit(
      [&](auto* target) {
        using Value = std::remove_pointer_t<decltype(target)>;
        if constexpr (std::is_same_v<Value, bool>)
          return app.add_flag(option.name, *target, option.meaning);
        else
          return app.add_option(option.name, *target, option.meaning);
      },
      option.target);
}

void declare(CLI::App& app, const Option& option) {
  CLI::Option* made = declared(app, option);
  if (!option.value_name.empty()) made->type_name(option.value_name);
  if (!option.group.empty()) made->group(option.group);
  if (option.range) made->check(CLI::Range(option.range->least, option.range->most));
  if (!option.choices.empty()) made->check(CLI::IsMember(option.choices));
  if (option.delimiter != '\0') made->delimiter(option.delimiter);
  if (option.required) made->required();
}

CLI::App* declare(CLI::App& app, const DeclaredVerb& verb) {
  CLI::App* sub = app.add_subcommand(verb.verb->name, verb.verb->summary);
  for (const Option& option : verb.options.options()) declare(*sub, option);
  sub->footer(verb.options.footer());
  return sub;
}

}  // namespace

Request read_command_line(int argc, char** argv, const std::vector<DeclaredVerb>& verbs) {
  CLI::App app("Programmable attention: write one score, get a fused kernel.", "tilewright");
  app.footer(kFooter);
  app.require_subcommand(1);
  app.set_version_flag("--version", std::string("tilewright ") + version());
  std::vector<const CLI::App*> parsers;
  for (const DeclaredVerb& verb : verbs) parsers.push_back(declare(app, verb));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& fault) {
    return {.exit_code = app.exit(fault) == 0 ? kSuccess : kUsage};
  }
  for (std::size_t i = 0; i < verbs.size(); ++i) {
    if (!parsers[i]->parsed()) continue;
    const CLI::Option* json = parsers[i]->get_option_no_throw("--json");
    return {.verb = &verbs[i], .as_json = json != nullptr && json->count() > 0};
  }
  return {.exit_code = kUsage};
}

}  // namespace tilewright::cli
