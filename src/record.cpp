#include "record.h"

#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <vector>

#include "io/json.h"
#include "io/output_file.h"
#include "io/safetensors.h"
#include "ir/program.h"
#include "tilewright/target.h"

namespace tilewright {

namespace {

using io::Json;

Json to_json(const Dims& dims) { return std::vector<std::int64_t>(dims.begin(), dims.end()); }

Json to_json(const TensorView& view) {
  return {{"dtype", name(view.dtype)},
          {"shape", to_json(view.shape)},
          {"strides", to_json(view.strides)},
          {"device", to_string(view.device)}};
}

Json to_json(const Error& error) {
  const ErrorParts& parts = error.parts();
  return {{"code", name(parts.code)},   {"what", parts.what}, {"where", parts.where},
          {"expected", parts.expected}, {"got", parts.got},   {"hint", parts.hint}};
}

/// The operands of the call, by the name that the folder gives them.
std::vector<io::NamedTensor> operands_of(const FailedCall& call) {
  if (call.inputs != nullptr)
    return {
        {"query", call.inputs->query}, {"key", call.inputs->key}, {"value", call.inputs->value}};
  if (call.backward_inputs == nullptr) return {};
  const BackwardInputs& inputs = *call.backward_inputs;
  std::vector<io::NamedTensor> tensors{{"query", inputs.query}, {"key", inputs.key},
                                       {"value", inputs.value}, {"out", inputs.out},
                                       {"lse", inputs.lse},     {"d_out", inputs.d_out}};
  if (inputs.d_lse) tensors.push_back({"d_lse", *inputs.d_lse});
  return tensors;
}

/// Every tensor that the call reads.
std::vector<io::NamedTensor> read_tensors(const FailedCall& call) {
  std::vector<io::NamedTensor> tensors = operands_of(call);
  const auto captures = call.program.structure().captures();
  for (std::size_t slot = 0; slot < captures.size(); ++slot) {
    tensors.push_back({"capture." + captures[slot].name, call.program.bindings().captures[slot]});
  }
  if (call.kv_lengths != nullptr) tensors.push_back({"kv_lengths", *call.kv_lengths});
  if (call.lists == nullptr) return tensors;
  tensors.push_back({"lists.kv_num_blocks", call.lists->kv_num_blocks});
  tensors.push_back({"lists.kv_indices", call.lists->kv_indices});
  if (call.lists->full_kv_num_blocks && call.lists->full_kv_indices) {
    tensors.push_back({"lists.full_kv_num_blocks", *call.lists->full_kv_num_blocks});
    tensors.push_back({"lists.full_kv_indices", *call.lists->full_kv_indices});
  }
  return tensors;
}

Json outputs_json(const ForwardOutputs& outputs) {
  Json json = {{"out", to_json(outputs.out)}};
  if (outputs.lse) json["lse"] = to_json(*outputs.lse);
  if (outputs.max_scores) json["max_scores"] = to_json(*outputs.max_scores);
  return json;
}

Json outputs_json(const BackwardOutputs& gradients) {
  Json json = Json::object();
  if (gradients.d_query) json["d_query"] = to_json(*gradients.d_query);
  if (gradients.d_key) json["d_key"] = to_json(*gradients.d_key);
  if (gradients.d_value) json["d_value"] = to_json(*gradients.d_value);
  for (const auto& [name, gradient] : gradients.captures)
    json["capture." + name] = to_json(gradient);
  return json;
}

const char* kind_of(const FailedCall& call) {
  if (call.backward_inputs != nullptr) return "backward";
  return call.inputs != nullptr ? "forward" : "prepare";
}

Json problem_json(const Problem& problem) {
  return {{"batch", problem.batch},
          {"kv_batch", problem.kv_batch},
          {"query_heads", problem.query_heads},
          {"kv_heads", problem.kv_heads},
          {"q_len", problem.q_len},
          {"kv_len", problem.kv_len},
          {"head_dim", problem.head_dim},
          {"value_dim", problem.value_dim},
          {"query_dtype", name(problem.query_dtype)},
          {"key_dtype", name(problem.key_dtype)},
          {"value_dtype", name(problem.value_dtype)},
          {"out_dtype", name(problem.out_dtype)},
          {"device", to_string(problem.device)}};
}

Json options_json(const EngineOptions& options) {
  return {{"backend", options.backend},
          {"cpu_isa", options.cpu_isa},
          {"threads", options.threads},
          {"require_fast", options.require_fast},
          {"compile_policy", static_cast<int>(options.compile_policy)}};
}

Json call_json(const EngineOptions& options, const FailedCall& call, const Error& error) {
  Json json;
  json["record_version"] = kRecordVersion;
  json["tilewright"] = version();
  json["program"] = call.program.text();
  json["call"] = kind_of(call);
  if (call.problem != nullptr) json["problem"] = problem_json(*call.problem);
  if (call.scale) json["scale"] = *call.scale;
  json["q_base"] = call.q_base;
  json["kv_base"] = call.kv_base;
  json["inputs"] = Json::object();
  for (const io::NamedTensor& tensor : read_tensors(call)) {
    json["inputs"][tensor.name] = to_json(tensor.view);
  }
  if (call.outputs != nullptr) json["outputs"] = outputs_json(*call.outputs);
  if (call.gradients != nullptr) {
    json["outputs"] = outputs_json(*call.gradients);
    json["deterministic"] = call.deterministic;
  }
  if (call.lists != nullptr) {
    json["lists"] = {{"q_len", call.lists->q_len},
                     {"kv_len", call.lists->kv_len},
                     {"q_block", call.lists->q_block},
                     {"kv_block", call.lists->kv_block}};
  }
  json["options"] = options_json(options);
  json["error"] = to_json(error);
  return json;
}

/// A folder of its own: process and number keep concurrent calls and runs apart.
std::filesystem::path new_folder(const std::string& record_dir) {
  static std::atomic<int> next{0};
  std::filesystem::create_directories(record_dir);
  for (;;) {
    const std::string leaf =
        "call-" + std::to_string(::getpid()) + "-" + std::to_string(next.fetch_add(1));
    const std::filesystem::path folder = std::filesystem::path(record_dir) / leaf;
    if (std::filesystem::create_directory(folder)) return folder;
  }
}

void write_data(const std::filesystem::path& folder, const FailedCall& call) {
  std::vector<io::NamedTensor> readable;
  for (const io::NamedTensor& tensor : read_tensors(call)) {
    const bool has_memory = tensor.view.data != nullptr || element_count(tensor.view.shape) == 0;
    if (has_memory && tensor.view.device.kind == DeviceKind::kCpu) readable.push_back(tensor);
  }
  io::write_safetensors(folder / "tensors.safetensors", readable);
}

void warn(const EngineOptions& options, const char* reason) noexcept {
  if (!options.host.log) return;
  try {
    options.host.log(LogLevel::kWarning, std::string("cannot record a failing call: ") + reason);
  } catch (...) {
    return;  // the host's own log failed; the call's error matters more
  }
}

}  // namespace

void record_failure(const EngineOptions& options, const FailedCall& call,
                    const Error& error) noexcept {
  try {
    const std::filesystem::path folder = new_folder(options.record_dir);
    const Json json = call_json(options, call, error);
    if (options.record_data) write_data(folder, call);
    io::write_text_file(folder / "call.json", json.dump(2) + "\n");
  } catch (const std::exception& fault) {
    warn(options, fault.what());
  }
}

}  // namespace tilewright
