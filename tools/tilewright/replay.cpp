#include "replay.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "backward_check.h"
#include "base/formatted.h"
#include "console.h"
#include "exit_code.h"
#include "io/bad_file.h"
#include "io/json.h"
#include "io/mapped_file.h"
#include "io/tensor_file.h"
#include "owned_tensor.h"
#include "record.h"
#include "tilewright/error.h"

namespace tilewright::cli {

namespace {

using io::Json;

/// A recorded folder: call.json, and the data where it was kept.
class Recording {
 public:
  explicit Recording(const std::filesystem::path& folder) : path_(folder / "call.json") {
    const io::MappedFile file(path_);
    const char* text = reinterpret_cast<const char*>(file.data());
    std::optional<Json> json = Json::parse({text, file.size_bytes()});
    if (!json || !json->is_object()) bad("is not a JSON object");
    json_ = std::move(*json);
    const Json* version = json_.find("record_version");
    if (version == nullptr || !version->is_integer() || version->integer() != kRecordVersion) {
      bad("has an unknown record_version");
    }
    const std::filesystem::path data = folder / "tensors.safetensors";
    if (std::filesystem::exists(data)) data_ = io::read_tensor_file(data);
  }

  [[noreturn]] void bad(const std::string& what) const {
    io::raise_bad_file(path_, {.what = "call.json " + what,
                               .expected = formatted("record_version {}", kRecordVersion),
                               .got = {},
                               .hint = "docs/record.md describes the format"});
  }

  const Json& json() const { return json_; }
  bool has_data() const { return data_.has_value(); }

  /// A tensor as it was: dtype, shape, strides, and its data where it was kept.
  TensorView tensor(const Json& description, const std::string& name) {
    const std::optional<DType> dtype = dtype_from_name(description.at("dtype").text());
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
    const Json* description = json_.at("inputs").find(name);
    if (description == nullptr) return std::nullopt;
    return tensor(*description, name);
  }

 private:
  Dims dims(const Json& description, const char* key) const {
    const auto values = description.at(key).integers();
    return {values.data(), values.size()};
  }

  std::string path_;
  Json json_;
  std::optional<io::TensorFile> data_;
  std::vector<OwnedTensor> memory_;
};

EngineOptions recorded_options(const Json& json, EngineOptions options) {
  if (options.backend.empty()) options.backend = json.at("backend").text();
  if (options.cpu_isa.empty()) options.cpu_isa = json.at("cpu_isa").text();
  if (options.threads == 0) options.threads = static_cast<int>(json.at("threads").integer());
  options.require_fast = options.require_fast || json.at("require_fast").truth();
  return options;
}

std::optional<BlockLists> lists_of(Recording& recording) {
  const Json* json = recording.json().find("lists");
  if (json == nullptr) return std::nullopt;
  BlockLists lists;
  lists.q_len = json->at("q_len").integer();
  lists.kv_len = json->at("kv_len").integer();
  lists.q_block = json->at("q_block").integer();
  lists.kv_block = json->at("kv_block").integer();
  lists.kv_num_blocks = recording.input("lists.kv_num_blocks").value();
  lists.kv_indices = recording.input("lists.kv_indices").value();
  lists.full_kv_num_blocks = recording.input("lists.full_kv_num_blocks");
  lists.full_kv_indices = recording.input("lists.full_kv_indices");
  return lists;
}

Program bound_program(Recording& recording) {
  Program program = Program::parse(recording.json().at("program").text());
  for (const std::string& capture : program.capture_names()) {
    if (const auto view = recording.input("capture." + capture)) program.bind(capture, *view);
  }
  return program;
}

DType dtype_of(const Recording& recording, const Json& json, const char* key) {
  const std::optional<DType> dtype = dtype_from_name(json.at(key).text());
  if (!dtype) recording.bad(std::string("has an unknown ") + key);
  return *dtype;
}

/// Of a recorded prepare(), on the CPU.
Problem problem_of(const Recording& recording) {
  const Json& json = recording.json().at("problem");
  Problem problem;
  problem.batch = json.at("batch").integer();
  problem.kv_batch = json.at("kv_batch").integer();
  problem.query_heads = json.at("query_heads").integer();
  problem.kv_heads = json.at("kv_heads").integer();
  problem.q_len = json.at("q_len").integer();
  problem.kv_len = json.at("kv_len").integer();
  problem.head_dim = json.at("head_dim").integer();
  problem.value_dim = json.at("value_dim").integer();
  problem.query_dtype = dtype_of(recording, json, "query_dtype");
  problem.key_dtype = dtype_of(recording, json, "key_dtype");
  problem.value_dtype = dtype_of(recording, json, "value_dtype");
  problem.out_dtype = dtype_of(recording, json, "out_dtype");
  return problem;
}

void take_placement(const Json& json, Problem& problem) {
  if (const Json* scale = json.find("scale")) problem.scale = scale->number();
  problem.q_base = json.at("q_base").integer();
  problem.kv_base = json.at("kv_base").integer();
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

/// The prepared attention of a recorded call with tensors.
Attention prepared_for(Recording& recording, Engine& engine, const Program& program,
                       Problem problem) {
  take_placement(recording.json(), problem);
  const std::optional<BlockLists> lists = lists_of(recording);
  return lists ? engine.prepare(program, problem, *lists) : engine.prepare(program, problem);
}

std::string repeat_forward(Recording& recording, Engine& engine) {
  const Json& json = recording.json();
  const Program program = bound_program(recording);
  const ForwardInputs inputs{recording.input("query").value(), recording.input("key").value(),
                             recording.input("value").value()};
  ForwardOutputs outputs;
  for (const auto& [name, description] : json.at("outputs").members()) {
    const TensorView view = recording.tensor(description, name);
    if (name == "out") outputs.out = view;
    if (name == "lse") outputs.lse = view;
    if (name == "max_scores") outputs.max_scores = view;
  }
  const Attention attention =
      prepared_for(recording, engine, program, problem_from(inputs, outputs));
  const std::optional<TensorView> lengths = recording.input("kv_lengths");
  const CallOptions options{.kv_lengths = lengths ? &*lengths : nullptr};
  return formatted("the call now succeeds on {}\n",
                   attention.forward(inputs, outputs, options).kernel);
}

void take_gradient(const std::string& name, const TensorView& view, BackwardOutputs& gradients) {
  constexpr std::string_view kCapture = "capture.";
  if (name == "d_query") gradients.d_query = view;
  if (name == "d_key") gradients.d_key = view;
  if (name == "d_value") gradients.d_value = view;
  if (name.starts_with(kCapture)) gradients.captures.emplace(name.substr(kCapture.size()), view);
}

std::string repeat_backward(Recording& recording, Engine& engine) {
  const Json& json = recording.json();
  const Program program = bound_program(recording);
  const BackwardInputs inputs{recording.input("query").value(), recording.input("key").value(),
                              recording.input("value").value(), recording.input("out").value(),
                              recording.input("lse").value(),   recording.input("d_out").value(),
                              recording.input("d_lse")};
  BackwardOutputs gradients;
  for (const auto& [name, description] : json.at("outputs").members())
    take_gradient(name, recording.tensor(description, name), gradients);
  const Attention attention =
      prepared_for(recording, engine, program, problem_from(inputs, gradients));
  const std::optional<TensorView> lengths = recording.input("kv_lengths");
  const CallOptions options{.kv_lengths = lengths ? &*lengths : nullptr,
                            .deterministic = json.at("deterministic").truth()};
  return formatted("the call now succeeds on {}\n",
                   attention.backward(inputs, gradients, options).kernel);
}

/// Repeats the call by its kind.
std::string repeat(Recording& recording, Engine& engine) {
  const std::string kind(recording.json().at("call").text());
  if (kind == "prepare") return repeat_prepare(recording, engine);
  if (kind == "forward") return repeat_forward(recording, engine);
  if (kind == "backward") return repeat_backward(recording, engine);
  recording.bad("names an unknown call");
}

}  // namespace

int replay_call(const std::string& folder, const EngineOptions& overrides) {
  Recording recording(folder);
  try {
    print_problem(formatted("replaying {} ({} data); it failed with: {}", folder,
                            recording.has_data() ? "with its" : "with random",
                            recording.json().at("error").at("what").text()));
    Engine engine(recorded_options(recording.json().at("options"), overrides));
    print(repeat(recording, engine));
    return kSuccess;
  } catch (const io::JsonMismatch&) {
    recording.bad("lacks a field, or has one of another kind");
  } catch (const std::bad_optional_access&) {
    recording.bad("lacks a tensor");
  }
}

}  // namespace tilewright::cli
