#include "replay.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "console.h"
#include "exit_code.h"
#include "io/bad_file.h"
#include "io/mapped_file.h"
#include "io/tensor_file.h"
#include "owned_tensor.h"
#include "record.h"
#include "tilewright/error.h"

namespace tilewright::cli {

namespace {

using Json = nlohmann::json;

/// A recorded folder: call.json, and the data where it was kept.
class Recording {
 public:
  explicit Recording(const std::filesystem::path& folder) : path_(folder / "call.json") {
    const io::MappedFile file(path_);
    const char* text = reinterpret_cast<const char*>(file.data());
    json_ = Json::parse(text, text + file.size_bytes(), nullptr, false);
    if (!json_.is_object()) bad("is not a JSON object");
    if (json_.value("record_version", 0) != kRecordVersion) bad("has an unknown record_version");
    const std::filesystem::path data = folder / "tensors.safetensors";
    if (std::filesystem::exists(data)) data_ = io::read_tensor_file(data);
  }

  [[noreturn]] void bad(const std::string& what) const {
    io::raise_bad_file(path_, {.what = "call.json " + what,
                               .expected = fmt::format("record_version {}", kRecordVersion),
                               .got = {},
                               .hint = "docs/record.md describes the format"});
  }

  const Json& json() const { return json_; }
  bool has_data() const { return data_.has_value(); }

  /// A tensor as it was: dtype, shape, strides, and its data where it was kept.
  TensorView tensor(const Json& description, const std::string& name) {
    const std::optional<DType> dtype = dtype_from_name(description.at("dtype").get<std::string>());
    if (!dtype) bad("has an unknown dtype for " + name);
    OwnedTensor made =
        make_strided_tensor(*dtype, dims(description, "shape"), dims(description, "strides"));
    memory_.push_back(made);
    const auto stored = data_ ? data_->find(name) : std::nullopt;
    if (stored) {
      if (stored->shape != made.view.shape || stored->dtype != *dtype) bad("disagrees with data");
      copy_elements(*stored, made.view);
    } else if (is_floating(*dtype)) {
      fill_normal(made.view, memory_.size());
    }
    return made.view;
  }

  std::optional<TensorView> input(const std::string& name) {
    const Json& inputs = json_.at("inputs");
    if (!inputs.contains(name)) return std::nullopt;
    return tensor(inputs.at(name), name);
  }

 private:
  Dims dims(const Json& description, const char* key) const {
    const auto values = description.at(key).get<std::vector<std::int64_t>>();
    return {values.data(), values.size()};
  }

  std::string path_;
  Json json_;
  std::optional<io::TensorFile> data_;
  std::vector<OwnedTensor> memory_;
};

EngineOptions recorded_options(const Json& json, EngineOptions options) {
  if (options.backend.empty()) options.backend = json.value("backend", "");
  if (options.cpu_isa.empty()) options.cpu_isa = json.value("cpu_isa", "");
  if (options.threads == 0) options.threads = json.value("threads", 0);
  options.require_fast = options.require_fast || json.value("require_fast", false);
  return options;
}

std::optional<BlockLists> lists_of(Recording& recording) {
  if (!recording.json().contains("lists")) return std::nullopt;
  const Json& json = recording.json().at("lists");
  BlockLists lists;
  lists.q_len = json.at("q_len");
  lists.kv_len = json.at("kv_len");
  lists.q_block = json.at("q_block");
  lists.kv_block = json.at("kv_block");
  lists.kv_num_blocks = recording.input("lists.kv_num_blocks").value();
  lists.kv_indices = recording.input("lists.kv_indices").value();
  lists.full_kv_num_blocks = recording.input("lists.full_kv_num_blocks");
  lists.full_kv_indices = recording.input("lists.full_kv_indices");
  return lists;
}

Program bound_program(Recording& recording) {
  Program program = Program::parse(recording.json().at("program").get<std::string>());
  for (const std::string& capture : program.capture_names()) {
    if (const auto view = recording.input("capture." + capture)) program.bind(capture, *view);
  }
  return program;
}

DType dtype_of(const Recording& recording, const Json& json, const char* key) {
  const std::optional<DType> dtype = dtype_from_name(json.at(key).get<std::string>());
  if (!dtype) recording.bad(std::string("has an unknown ") + key);
  return *dtype;
}

/// Of a recorded prepare(), on the CPU.
Problem problem_of(const Recording& recording) {
  const Json& json = recording.json().at("problem");
  Problem problem;
  problem.batch = json.at("batch");
  problem.kv_batch = json.at("kv_batch");
  problem.query_heads = json.at("query_heads");
  problem.kv_heads = json.at("kv_heads");
  problem.q_len = json.at("q_len");
  problem.kv_len = json.at("kv_len");
  problem.head_dim = json.at("head_dim");
  problem.value_dim = json.at("value_dim");
  problem.query_dtype = dtype_of(recording, json, "query_dtype");
  problem.key_dtype = dtype_of(recording, json, "key_dtype");
  problem.value_dtype = dtype_of(recording, json, "value_dtype");
  problem.out_dtype = dtype_of(recording, json, "out_dtype");
  return problem;
}

void take_placement(const Json& json, Problem& problem) {
  if (json.contains("scale")) problem.scale = json.at("scale").get<double>();
  problem.q_base = json.at("q_base");
  problem.kv_base = json.at("kv_base");
}

std::string repeat_prepare(Recording& recording, Engine& engine) {
  Problem problem = problem_of(recording);
  take_placement(recording.json(), problem);
  const Program program = bound_program(recording);
  const std::optional<BlockLists> lists = lists_of(recording);
  if (lists)
    engine.prepare(program, problem, *lists);
  else
    engine.prepare(program, problem);
  return "prepare() now succeeds\n";
}

std::string repeat_forward(Recording& recording, Engine& engine) {
  const Json& json = recording.json();
  const Program program = bound_program(recording);
  const ForwardInputs inputs{recording.input("query").value(), recording.input("key").value(),
                             recording.input("value").value()};
  ForwardOutputs outputs;
  for (const auto& [name, description] : json.at("outputs").items()) {
    const TensorView view = recording.tensor(description, name);
    if (name == "out") outputs.out = view;
    if (name == "lse") outputs.lse = view;
    if (name == "max_scores") outputs.max_scores = view;
  }
  const std::optional<BlockLists> lists = lists_of(recording);
  Problem problem = problem_from(inputs, outputs);
  take_placement(json, problem);
  const Attention attention =
      lists ? engine.prepare(program, problem, *lists) : engine.prepare(program, problem);
  return fmt::format("the call now succeeds on {}\n", attention.forward(inputs, outputs).kernel);
}

}  // namespace

int replay_call(const std::string& folder, const EngineOptions& overrides) {
  Recording recording(folder);
  try {
    print_problem(fmt::format("replaying {} ({} data); it failed with: {}", folder,
                              recording.has_data() ? "with its" : "with random",
                              recording.json().at("error").value("what", "")));
    Engine engine(recorded_options(recording.json().at("options"), overrides));
    const bool is_prepare = recording.json().value("call", "") == "prepare";
    print(is_prepare ? repeat_prepare(recording, engine) : repeat_forward(recording, engine));
    return kSuccess;
  } catch (const Json::exception&) {
    recording.bad("lacks a field, or has one of another kind");
  } catch (const std::bad_optional_access&) {
    recording.bad("lacks a tensor");
  }
}

}  // namespace tilewright::cli
