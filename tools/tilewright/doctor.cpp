#include <memory>
#include <string>
#include <vector>

#include "base/formatted.h"
#include "config.h"
#include "console.h"
#include "exit_code.h"
#include "io/json.h"
#include "kernel_matrix.h"
#include "tilewright/engine.h"
#include "tilewright/target.h"
#include "verb.h"

namespace tilewright::cli {

namespace {

struct DoctorCommand {
  bool matrix = false;
  bool json = false;
};

struct Variable {
  const char* name;
  std::string value;
  const char* meaning;
};

std::vector<Variable> variables() {
  const Config config = read_config();
  return {
      {"TILEWRIGHT_BACKEND", config.backend, "forces reference, cpu or cuda"},
      {"TILEWRIGHT_CPU_ISA", config.cpu_isa,
       "forces amx, avx512bf16, avx512, avx2 or portable kernels"},
      {"TILEWRIGHT_THREADS", config.threads == 0 ? "" : std::to_string(config.threads),
       "threads; else affinity and container quota decide"},
      {"TILEWRIGHT_CACHE_DIR", config.cache_dir, "folder of compiled kernels; none: memory only"},
      {"TILEWRIGHT_CACHE_LAYERS", config.cache_layers,
       "read-only folders of compiled kernels, looked at first; separated by colons"},
      {"TILEWRIGHT_NVRTC", config.nvrtc, "the compiler of GPU kernels; else searched for"},
      {"TILEWRIGHT_CUDA_DRIVER", config.cuda_driver, "the driver library; else libcuda.so.1"},
      {"TILEWRIGHT_KERNEL_DIR", config.kernel_dir,
       "GPU kernel sources of this folder instead of those inside the library"},
      {"TILEWRIGHT_CHECKED", config.checked ? "1" : "",
       "1: GPU kernels report bad subscripts and divisors"},
      {"TILEWRIGHT_DETERMINISTIC", config.deterministic ? "1" : "",
       "1: gradients on GPUs are added up in a fixed order"},
      {"TILEWRIGHT_RECORD", config.record_dir, "folder where failing calls are saved"},
      {"TILEWRIGHT_RECORD_DATA", config.record_data ? "1" : "", "1: with their tensors' data"},
  };
}

io::Json to_json(const TargetInfo& target) {
  return {{"backend", target.backend},
          {"available", target.available},
          {"device", target.device},
          {"reason", target.reason},
          {"kernels", target.kernels}};
}

io::Json report_json(const std::string& cache_dir) {
  io::Json json;
  json["version"] = version();
  json["cache_dir"] = cache_dir;
  json["targets"] = io::Json::array();
  for (const TargetInfo& target : targets()) json["targets"].push_back(to_json(target));
  for (const Variable& variable : variables()) json["environment"][variable.name] = variable.value;
  return json;
}

std::string report_text(const std::string& cache_dir) {
  std::string text = formatted("tilewright {}\n", version());
  for (const TargetInfo& target : targets()) {
    text +=
        formatted("\n{}: {}\n", target.backend, target.available ? target.device : "not available");
    if (!target.reason.empty()) text += formatted("  {}\n", target.reason);
    for (const std::string& kernel : target.kernels) text += formatted("  {}\n", kernel);
  }
  text += formatted("\ncache: {}\n", cache_dir == "none" ? "in memory only" : cache_dir);
  text += "\nenvironment:\n";
  for (const Variable& variable : variables()) {
    text += formatted("  {:<24}{:<12} {}\n", variable.name,
                      variable.value.empty() ? "(not set)" : variable.value, variable.meaning);
  }
  return text;
}

}  // namespace

Action declare_doctor(OptionList& list) {
  auto command = std::make_shared<DoctorCommand>();
  list.add({.name = "--matrix",
            .target = &command->matrix,
            .meaning = "print every kernel of this library as Markdown"});
  list.add({.name = "--json", .target = &command->json, .meaning = "print as JSON"});
  list.end_with(
      "Examples:\n"
      "  tilewright doctor\n"
      "  TILEWRIGHT_CPU_ISA=portable tilewright doctor");
  return [command] {
    if (command->matrix) {
      print(kernel_matrix());
      return kSuccess;
    }
    const std::string cache_dir = Engine().options().cache_dir;
    if (command->json) {
      print_json(report_json(cache_dir));
    } else {
      print(report_text(cache_dir));
    }
    return kSuccess;
  };
}

}  // namespace tilewright::cli
