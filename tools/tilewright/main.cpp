#include <csignal>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include "command_line.h"
#include "console.h"
#include "exit_code.h"
#include "io/json.h"
#include "tilewright/error.h"
#include "verb.h"

namespace tilewright::cli {

namespace {

void report(const ErrorParts& parts, const std::string& message, bool as_json) {
  print_problem("tilewright: " + message);
  if (!as_json) return;
  io::Json fault;
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
  std::vector<DeclaredVerb> declared;
  for (const Verb& verb : verbs()) {
    DeclaredVerb& made = declared.emplace_back();
    made.verb = &verb;
    made.action = verb.declare(made.options);
  }
  const Request request = read_command_line(argc, argv, declared);
  return request.verb == nullptr ? request.exit_code : act(request.verb->action, request.as_json);
}

}  // namespace

}  // namespace tilewright::cli

int main(int argc, char** argv) { return tilewright::cli::main_of(argc, argv); }
