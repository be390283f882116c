#include "c_abi_structs.h"

#include <cmath>

#include "c_abi_handles.h"

namespace tilewright::c_abi {

namespace {

[[noreturn]] void raise_argument(const char* argument, std::string what, std::string expected,
                                 std::string got) {
  throw Error({.code = ErrorCode::kInvalidArgument,
               .what = std::string(argument) + " " + std::move(what),
               .where = argument,
               .expected = std::move(expected),
               .got = std::move(got),
               .hint = {}});
}

DType dtype_of(tw_dtype dtype, const char* argument) {
  if (dtype < TW_F64 || dtype > TW_BOOL) {
    raise_argument(argument, "has an unknown dtype", "a tw_dtype", std::to_string(dtype));
  }
  return static_cast<DType>(dtype);
}

std::string text_of(const char* text) { return text == nullptr ? "" : text; }

std::int64_t or_default(std::int64_t value, std::int64_t otherwise) {
  return value == 0 ? otherwise : value;
}

void add_device_memory(HostServices& host, const tw_engine_options& options) {
  void* user = options.user;
  host.allocate_device = [f = options.allocate_device, user](std::size_t bytes, Device device,
                                                             void* stream) {
    return f(user, bytes, static_cast<tw_device>(device.kind), device.ordinal, stream);
  };
  host.deallocate_device = [f = options.deallocate_device, user](void* memory, std::size_t bytes,
                                                                 Device device, void* stream) {
    f(user, memory, bytes, static_cast<tw_device>(device.kind), device.ordinal, stream);
  };
}

HostServices host_of(const tw_engine_options& options) {
  HostServices host;
  void* user = options.user;
  if ((options.allocate == nullptr) != (options.deallocate == nullptr)) {
    raise_argument("options", "has one of allocate and deallocate", "both or neither", "one");
  }
  if (options.log != nullptr) {
    host.log = [log = options.log, user](LogLevel level, std::string_view message) {
      log(user, static_cast<tw_log_level>(level), std::string(message).c_str());
    };
  }
  if (options.allocate != nullptr) {
    host.allocate = [f = options.allocate, user](std::size_t bytes) { return f(user, bytes); };
    host.deallocate = [f = options.deallocate, user](void* memory, std::size_t bytes) {
      f(user, memory, bytes);
    };
  }
  if (options.parallel_for != nullptr) {
    using Body = std::function<void(std::int64_t)>;
    host.parallel_for = [f = options.parallel_for, user](std::int64_t count, const Body& body) {
      f(
          user, count,
          [](void* context, std::int64_t index) { (*static_cast<const Body*>(context))(index); },
          const_cast<Body*>(&body));
    };
  }
  if ((options.allocate_device == nullptr) != (options.deallocate_device == nullptr)) {
    raise_argument("options", "has one of allocate_device and deallocate_device", "both or neither",
                   "one");
  }
  if (options.allocate_device != nullptr) add_device_memory(host, options);
  return host;
}

}  // namespace

TensorView view_of(const tw_tensor& tensor, const char* argument) {
  constexpr auto kMaxRank = static_cast<std::int32_t>(Dims::kMaxRank);
  if (tensor.rank < 0 || tensor.rank > kMaxRank) {
    raise_argument(argument, "has an impossible rank", "0 to 16", std::to_string(tensor.rank));
  }
  if (tensor.device < TW_CPU || tensor.device > TW_CUDA) {
    raise_argument(argument, "is on an unknown device", "a tw_device",
                   std::to_string(tensor.device));
  }
  const auto rank = static_cast<std::size_t>(tensor.rank);
  if (rank > 0 && tensor.shape == nullptr) {
    raise_argument(argument, "has no shape", std::to_string(rank) + " extents", "NULL");
  }
  TensorView view;
  view.data = tensor.data;
  view.dtype = dtype_of(tensor.dtype, argument);
  view.shape = Dims(tensor.shape, rank);
  view.strides =
      tensor.strides == nullptr ? contiguous_strides(view.shape) : Dims(tensor.strides, rank);
  view.device = {static_cast<DeviceKind>(tensor.device), tensor.device_ordinal};
  return view;
}

ForwardInputs inputs_of(const tw_inputs& inputs) {
  return {view_of(inputs.query, "query"), view_of(inputs.key, "key"),
          view_of(inputs.value, "value")};
}

ForwardOutputs outputs_of(const tw_outputs& outputs) {
  ForwardOutputs views;
  views.out = view_of(outputs.out, "out");
  if (outputs.lse != nullptr) views.lse = view_of(*outputs.lse, "lse");
  if (outputs.max_scores != nullptr) views.max_scores = view_of(*outputs.max_scores, "max_scores");
  return views;
}

BackwardInputs inputs_of(const tw_backward_inputs& inputs) {
  BackwardInputs views{.query = view_of(inputs.query, "query"),
                       .key = view_of(inputs.key, "key"),
                       .value = view_of(inputs.value, "value"),
                       .out = view_of(inputs.out, "out"),
                       .lse = view_of(inputs.lse, "lse"),
                       .d_out = view_of(inputs.d_out, "d_out"),
                       .d_lse = {}};
  if (inputs.d_lse != nullptr) views.d_lse = view_of(*inputs.d_lse, "d_lse");
  return views;
}

BackwardOutputs outputs_of(const tw_backward_outputs& outputs) {
  BackwardOutputs views;
  if (outputs.d_query != nullptr) views.d_query = view_of(*outputs.d_query, "d_query");
  if (outputs.d_key != nullptr) views.d_key = view_of(*outputs.d_key, "d_key");
  if (outputs.d_value != nullptr) views.d_value = view_of(*outputs.d_value, "d_value");
  for (std::size_t i = 0; i < outputs.capture_count; ++i) {
    const tw_capture_gradient& entry = (&required(outputs.captures, "captures"))[i];
    const char* const name = &required(entry.capture, "captures[].capture");
    if (!views.captures.emplace(name, view_of(entry.gradient, name)).second)
      raise_argument("captures", "names a captured tensor twice", "each name once", name);
  }
  return views;
}

EngineOptions options_of(const tw_engine_options& options) {
  if (options.compile_policy < TW_COMPILE_ALLOW || options.compile_policy > TW_COMPILE_FORBID) {
    raise_argument("options", "has an unknown compile_policy", "a tw_policy",
                   std::to_string(options.compile_policy));
  }
  EngineOptions result;
  result.compile_policy = static_cast<CompilePolicy>(options.compile_policy);
  result.threads = options.threads;
  result.require_fast = options.require_fast != 0;
  result.backend = text_of(options.backend);
  result.cpu_isa = text_of(options.cpu_isa);
  result.cache_dir = text_of(options.cache_dir);
  result.record_dir = text_of(options.record_dir);
  result.checked = options.checked != 0;
  result.deterministic = options.deterministic != 0;
  result.fast_functions = options.fast_functions != 0;
  result.nvrtc = text_of(options.nvrtc);
  result.cuda_driver = text_of(options.cuda_driver);
  result.kernel_dir = text_of(options.kernel_dir);
  result.host = host_of(options);
  return result;
}

Problem problem_of(const tw_problem& problem) {
  Problem result;
  result.batch = or_default(problem.batch, 1);
  result.kv_batch = or_default(problem.kv_batch, result.batch);
  result.query_heads = or_default(problem.query_heads, 1);
  result.kv_heads = or_default(problem.kv_heads, result.query_heads);
  result.q_len = problem.q_len;
  result.kv_len = problem.kv_len;
  result.head_dim = problem.head_dim;
  result.value_dim = or_default(problem.value_dim, problem.head_dim);
  result.query_dtype = dtype_of(problem.query_dtype, "query_dtype");
  result.key_dtype = dtype_of(problem.key_dtype, "key_dtype");
  result.value_dtype = dtype_of(problem.value_dtype, "value_dtype");
  result.out_dtype = dtype_of(problem.out_dtype, "out_dtype");
  if (problem.scale != 0) result.scale = problem.scale;
  result.q_base = problem.q_base;
  result.kv_base = problem.kv_base;
  result.outputs.lse = problem.with_lse != 0;
  result.outputs.max_scores = problem.with_max_scores != 0;
  if (problem.device < TW_CPU || problem.device > TW_CUDA) {
    raise_argument("problem", "is on an unknown device", "a tw_device",
                   std::to_string(problem.device));
  }
  result.device = {static_cast<DeviceKind>(problem.device), problem.device_ordinal};
  return result;
}

CallExtras::CallExtras(const tw_call_options* options) {
  const tw_call_options given = sized_copy(options, "options");
  if (given.scale != nullptr) options_.scale = *given.scale;
  options_.stream = given.stream;
  options_.deterministic = given.deterministic != 0;
  if (given.mask_map != nullptr) options_.mask_map = &given.mask_map->map;
  if (given.device_map != nullptr) options_.device_map = &given.device_map->map;
  if (given.kv_lengths == nullptr) return;
  kv_lengths_ = view_of(*given.kv_lengths, "kv_lengths");
  options_.kv_lengths = &kv_lengths_;
}

MaskMapOptions options_of(const tw_mask_map_options& options) {
  MaskMapOptions result;
  result.batch = or_default(options.batch, 1);
  result.heads = or_default(options.heads, 1);
  result.q_len = options.q_len;
  result.kv_len = options.kv_len;
  result.q_base = options.q_base;
  result.kv_base = options.kv_base;
  result.q_block = or_default(options.q_block, result.q_block);
  return result;
}

DeviceMaskMapOptions options_of(const tw_device_mask_map_options& options) {
  DeviceMaskMapOptions result;
  result.batch = or_default(options.batch, 1);
  result.heads = or_default(options.heads, 1);
  result.q_len = options.q_len;
  result.kv_len = options.kv_len;
  result.q_block = or_default(options.q_block, result.q_block);
  result.spans_per_block = or_default(options.spans_per_block, result.spans_per_block);
  return result;
}

}  // namespace tilewright::c_abi
