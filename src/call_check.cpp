#include "call_check.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "analyse/block_list_shapes.h"
#include "ir/program.h"
#include "tilewright/error.h"

namespace tilewright {

namespace {

[[noreturn]] void raise(std::string what, std::string_view where, std::string expected,
                        std::string got, std::string hint) {
  throw Error({.code = ErrorCode::kInvalidArgument,
               .what = std::move(what),
               .where = std::string(where),
               .expected = std::move(expected),
               .got = std::move(got),
               .hint = std::move(hint)});
}

void require_rank4(const TensorView& tensor, const char* tensor_name) {
  if (tensor.rank() == 4 && tensor.strides.size() == 4) return;
  raise("an attention operand must have four axes", tensor_name, "[batch, heads, length, dim]",
        to_string(tensor.shape), "add the missing axes with extent 1");
}

bool has_negative_extent(const TensorView& tensor) {
  for (const std::int64_t extent : tensor.shape)
    if (extent < 0) return true;
  return false;
}

void require_extent(std::int64_t got, std::int64_t expected, const char* tensor_name,
                    const char* meaning) {
  if (got == expected) return;
  raise(std::string("two operands disagree on ") + meaning, tensor_name, std::to_string(expected),
        std::to_string(got), {});
}

void require_memory(const TensorView& tensor, const char* tensor_name) {
  if (tensor.data != nullptr || element_count(tensor.shape) == 0) return;
  raise("an operand has no memory", tensor_name, "a pointer to its elements", "null", {});
}

void require_float(const TensorView& tensor, const char* tensor_name) {
  if (is_floating(tensor.dtype)) return;
  raise("an operand must be floating", tensor_name, "f64, f32, f16 or bf16",
        std::string(name(tensor.dtype)), {});
}

void require_device(Device got, Device expected, std::string_view tensor_name) {
  if (got == expected) return;
  raise("two tensors lie on different devices", tensor_name, to_string(expected), to_string(got),
        "move '" + std::string(tensor_name) + "' to " + to_string(expected));
}

void check_operand(const TensorView& tensor, const char* tensor_name, Device device) {
  require_rank4(tensor, tensor_name);
  if (has_negative_extent(tensor))
    raise("a tensor has a negative extent", tensor_name, ">= 0", to_string(tensor.shape), {});
  require_float(tensor, tensor_name);
  require_memory(tensor, tensor_name);
  require_device(tensor.device, device, tensor_name);
}

void check_heads(const Problem& problem) {
  const bool divides = problem.kv_heads == 0 ? problem.query_heads == 0
                                             : problem.query_heads % problem.kv_heads == 0;
  if (!divides) {
    raise("query heads must be a multiple of key heads", "query",
          "a multiple of " + std::to_string(problem.kv_heads), std::to_string(problem.query_heads),
          "each key head serves query_heads / kv_heads query heads");
  }
  if (problem.kv_batch == problem.batch || problem.kv_batch == 1) return;
  raise("the batch of key and value must be 1 or the query's", "key",
        "1 or " + std::to_string(problem.batch), std::to_string(problem.kv_batch), {});
}

void check_dtypes(const Problem& problem) {
  if (problem.key_dtype == problem.query_dtype && problem.value_dtype == problem.query_dtype)
    return;
  raise("query, key and value have different dtypes",
        problem.key_dtype == problem.query_dtype ? "value" : "key",
        std::string(name(problem.query_dtype)),
        std::string(name(problem.key_dtype == problem.query_dtype ? problem.value_dtype
                                                                  : problem.key_dtype)),
        "convert them to one dtype first");
}

void check_statistic(const TensorView& tensor, const char* tensor_name, const Problem& problem) {
  const Dims expected{problem.batch, problem.query_heads, problem.q_len};
  if (!(tensor.shape == expected))
    raise("an output has the wrong shape", tensor_name, to_string(expected),
          to_string(tensor.shape), {});
  const DType dtype = problem.query_dtype == DType::kF64 ? DType::kF64 : DType::kF32;
  if (tensor.dtype != dtype) {
    raise("an output has the wrong dtype", tensor_name, std::string(name(dtype)),
          std::string(name(tensor.dtype)), "lse and max_scores are fp32, or fp64 for fp64 inputs");
  }
  require_memory(tensor, tensor_name);
  require_device(tensor.device, problem.device, tensor_name);
}

/// Null where memory is needed, or as ir::parse leaves a capture: extents and strides all 0, which
/// no empty tensor of a caller has.
bool is_unbound(const TensorView& view) {
  if (view.data != nullptr) return false;
  const auto is_zero = [](std::int64_t value) { return value == 0; };
  return element_count(view.shape) != 0 ||
         (std::all_of(view.shape.begin(), view.shape.end(), is_zero) &&
          std::all_of(view.strides.begin(), view.strides.end(), is_zero));
}

void check_capture(const ir::CaptureSlot& slot, const TensorView& view, Device device) {
  const auto where = [&slot] { return "captured tensor '" + slot.name + "'"; };
  if (is_unbound(view))
    raise("a captured tensor is not bound", where(), "memory", "null",
          "bind(\"" + slot.name + "\", view) before the call");
  if (view.rank() != slot.rank || view.strides.size() != slot.rank)
    raise("a captured tensor has the wrong rank", where(), std::to_string(slot.rank),
          std::to_string(view.rank()), {});
  if (has_negative_extent(view))
    raise("a tensor has a negative extent", where(), ">= 0", to_string(view.shape), {});
  require_device(view.device, device, slot.name);
}

}  // namespace

Problem problem_from(const ForwardInputs& inputs, const ForwardOutputs& outputs) {
  const Device device = inputs.query.device;
  check_operand(inputs.query, "query", device);
  check_operand(inputs.key, "key", device);
  check_operand(inputs.value, "value", device);
  check_operand(outputs.out, "out", device);
  Problem problem;
  problem.batch = inputs.query.shape[0];
  problem.query_heads = inputs.query.shape[1];
  problem.q_len = inputs.query.shape[2];
  problem.head_dim = inputs.query.shape[3];
  problem.kv_batch = inputs.key.shape[0];
  problem.kv_heads = inputs.key.shape[1];
  problem.kv_len = inputs.key.shape[2];
  problem.value_dim = inputs.value.shape[3];
  problem.query_dtype = inputs.query.dtype;
  problem.key_dtype = inputs.key.dtype;
  problem.value_dtype = inputs.value.dtype;
  problem.out_dtype = outputs.out.dtype;
  problem.outputs = {.lse = outputs.lse.has_value(),
                     .max_scores = outputs.max_scores.has_value(),
                     .partial = false};
  problem.device = device;
  require_extent(inputs.key.shape[3], problem.head_dim, "key", "the head dim E");
  require_extent(inputs.value.shape[0], problem.kv_batch, "value", "the key batch");
  require_extent(inputs.value.shape[1], problem.kv_heads, "value", "the key heads");
  require_extent(inputs.value.shape[2], problem.kv_len, "value", "the key length");
  check_heads(problem);
  check_dtypes(problem);
  return problem;
}

void check_call(const Program& program, const Problem& problem, const ForwardOutputs& outputs) {
  const Dims expected{problem.batch, problem.query_heads, problem.q_len, problem.value_dim};
  if (!(outputs.out.shape == expected))
    raise("an output has the wrong shape", "out", to_string(expected), to_string(outputs.out.shape),
          {});
  if (outputs.lse) check_statistic(*outputs.lse, "lse", problem);
  if (outputs.max_scores) check_statistic(*outputs.max_scores, "max_scores", problem);
  if (problem.kv_layout != KvLayout::kDense) {
    throw Error({.code = ErrorCode::kUnsupported,
                 .what = "packed and paged keys are not served yet",
                 .where = "kv_layout",
                 .expected = "dense",
                 .got = problem.kv_layout == KvLayout::kPacked ? "packed" : "paged",
                 .hint = "use the documents mask over one dense sequence"});
  }
  const auto slots = program.structure().captures();
  for (std::size_t i = 0; i < slots.size(); ++i)
    check_capture(slots[i], program.bindings().captures[i], problem.device);
}

void check_map_build(const DeviceMaskMap& map, const Problem& problem) {
  require_device(map.memory().device, problem.device, "memory");
  map.require_serves(map.program(), problem.batch, problem.query_heads, problem.q_len,
                     problem.kv_len);
}

void check_lists(const BlockLists& lists, const Problem& problem) {
  if (lists.q_len != problem.q_len || lists.kv_len != problem.kv_len) {
    raise("block lists were made for other lengths", "block_lists",
          std::to_string(problem.q_len) + " x " + std::to_string(problem.kv_len),
          std::to_string(lists.q_len) + " x " + std::to_string(lists.kv_len),
          "make them for the exact lengths of this call");
  }
  const Dims& shape = lists.kv_num_blocks.shape;
  if (shape.size() != 3)
    raise("block counts must have three axes", "kv_num_blocks", "[batch, heads, query blocks]",
          to_string(shape), {});
  const Device device = lists.kv_num_blocks.device;
  if (device.kind != DeviceKind::kCpu) require_device(device, problem.device, "kv_num_blocks");
  const bool batch_fits = shape[0] == 1 || shape[0] == problem.batch;
  const bool heads_fit = shape[1] == 1 || shape[1] == problem.query_heads;
  if (batch_fits && heads_fit) {
    analyse::list_shapes(lists, device);
    return;
  }
  raise("block lists were made for another batch or number of heads", "block_lists",
        "batch 1 or " + std::to_string(problem.batch) + ", heads 1 or " +
            std::to_string(problem.query_heads),
        "batch " + std::to_string(shape[0]) + ", heads " + std::to_string(shape[1]), {});
}

namespace {

void check_map(const MaskMap& map, bool has_lists, const Program& program, const Problem& problem) {
  if (has_lists)
    raise("a call takes block lists or a mask map", "mask_map", "one of them", "both",
          "MaskMap::from_block_lists is not needed: the call makes it");
  map.require_serves(problem.batch, problem.query_heads, problem.q_len, problem.kv_len);
  if (map.options().q_base != problem.q_base || map.options().kv_base != problem.kv_base)
    raise(
        "the mask map was built for other positions", "mask_map",
        "q_base " + std::to_string(problem.q_base) + ", kv_base " + std::to_string(problem.kv_base),
        "q_base " + std::to_string(map.options().q_base) + ", kv_base " +
            std::to_string(map.options().kv_base),
        "give MaskMapOptions the bases of the call");
  map.require_describes(program);
}

void check_device_map(const DeviceMaskMap& map, bool has_other, const Program& program,
                      const Problem& problem) {
  if (has_other)
    raise("a call takes block lists or one mask map", "device_map", "one of them", "several", {});
  require_device(map.memory().device, problem.device, "device_map");
  map.require_serves(program, problem.batch, problem.query_heads, problem.q_len, problem.kv_len);
}

void check_kv_lengths(const TensorView& lengths, const Problem& problem) {
  require_device(lengths.device, problem.device, "kv_lengths");
  if (lengths.dtype != DType::kI32)
    raise("key lengths are integers", "kv_lengths", "i32", std::string(name(lengths.dtype)), {});
  if (!(lengths.shape == Dims{problem.batch}))
    raise("there is one key length a batch", "kv_lengths", to_string(Dims{problem.batch}),
          to_string(lengths.shape), {});
  require_memory(lengths, "kv_lengths");
}

/// What says which pairs are visited: one of lists and maps at most.
void check_visited(const CallOptions& options, const BlockLists* lists, const Program& program,
                   const Problem& problem) {
  if (lists != nullptr) check_lists(*lists, problem);
  const bool has_map = options.mask_map != nullptr;
  if (has_map) check_map(*options.mask_map, lists != nullptr, program, problem);
  if (options.device_map != nullptr)
    check_device_map(*options.device_map, lists != nullptr || has_map, program, problem);
}

}  // namespace

void check_options(const CallOptions& options, const BlockLists* lists, const Program& program,
                   const Problem& problem) {
  check_visited(options, lists, program, problem);
  if (options.kv_lengths != nullptr) check_kv_lengths(*options.kv_lengths, problem);
}

}  // namespace tilewright
