#include "console.h"

#include <unistd.h>

#include <cstdio>

#include "io/json.h"
#include "io/system_error.h"

namespace tilewright::cli {

void print(std::string_view text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (!written || std::fflush(stdout) != 0) io::raise_system_error("write", "standard output");
}

void print_json(const io::Json& value) { print(value.dump(2) + "\n"); }

void print_problem(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fputc('\n', stderr);
}

bool use_colours(const std::string& choice) {
  if (choice == "auto") return ::isatty(STDOUT_FILENO) != 0;
  return choice == "always";
}

bool is_terminal_error() { return ::isatty(STDERR_FILENO) != 0; }

}  // namespace tilewright::cli
