#include <cstring>
#include <string>
#include <utility>

#include "c_abi_guard.h"
#include "c_abi_structs.h"
#include "tilewright/c.h"
#include "tilewright/engine.h"
#include "tilewright/mask_map.h"
#include "tilewright/program.h"
#include "tilewright/target.h"

// What the handles of c.h are.
struct tw_engine {
  tilewright::Engine engine;
};
struct tw_program {
  tilewright::Program program;
};
struct tw_attention {
  tilewright::Attention attention;
};
struct tw_mask_map {
  tilewright::MaskMap map;
};

namespace tilewright::c_abi {

namespace {

thread_local std::string last_error;

}  // namespace

tw_status remember(tw_status status, const char* message) noexcept {
  try {
    last_error = message;
  } catch (...) {
    last_error.clear();
  }
  return status;
}

void copy_text(const std::string& text, char* target, size_t capacity, size_t* needed) {
  if (needed != nullptr) *needed = text.size() + 1;
  if (target != nullptr && capacity > text.size()) {
    std::memcpy(target, text.c_str(), text.size() + 1);
  } else if (target != nullptr && capacity > 0) {
    target[0] = '\0';
  }
}

}  // namespace tilewright::c_abi

using namespace tilewright::c_abi;  // NOLINT: this file is the interface itself

const char* tw_version(void) { return tilewright::version(); }

const char* tw_status_name(tw_status status) {
  if (status == TW_OK) return "ok";
  return tilewright::name(static_cast<tilewright::ErrorCode>(status));
}

const char* tw_last_error(void) { return last_error.c_str(); }

tw_status tw_engine_create(const tw_engine_options* options, tw_engine** engine) {
  return guard([&] {
    required(engine, "engine") = nullptr;
    tilewright::EngineOptions parsed;
    if (options != nullptr) parsed = options_of(sized_copy(options, "options"));
    *engine = new tw_engine{tilewright::Engine(std::move(parsed))};
  });
}

void tw_engine_destroy(tw_engine* engine) { delete engine; }

tw_status tw_engine_stats(const tw_engine* engine, tw_stats* stats) {
  return guard([&] {
    const tilewright::EngineStats now = required(engine, "engine").engine.stats();
    sized_write(tw_stats{.struct_bytes = 0,
                         .compiles = now.compiles,
                         .memory_hits = now.memory_hits,
                         .disk_hits = now.disk_hits,
                         .calls = now.calls,
                         .compile_ms = now.compile_ms,
                         .workspace_bytes_peak = now.workspace_bytes_peak},
                stats, "stats");
  });
}

tw_status tw_engine_check(const tw_engine* engine) {
  return guard([&] { required(engine, "engine").engine.check_device_errors(); });
}

tw_status tw_program_parse(const char* text, size_t bytes, tw_program** program) {
  return guard([&] {
    required(program, "program") = nullptr;
    const std::string_view view(bytes == 0 ? "" : &required(text, "text"), bytes);
    *program = new tw_program{tilewright::Program::parse(view)};
  });
}

void tw_program_destroy(tw_program* program) { delete program; }

tw_status tw_program_bind(tw_program* program, const char* capture, const tw_tensor* tensor) {
  return guard([&] {
    const tilewright::TensorView view = view_of(required(tensor, "tensor"), "tensor");
    required(program, "program").program.bind(&required(capture, "capture"), view);
  });
}

tw_status tw_program_set_int(tw_program* program, const char* number, int64_t value) {
  return guard(
      [&] { required(program, "program").program.set(&required(number, "number"), value); });
}

tw_status tw_program_set_real(tw_program* program, const char* number, double value) {
  return guard(
      [&] { required(program, "program").program.set(&required(number, "number"), value); });
}

tw_status tw_program_text(const tw_program* program, char* text, size_t capacity, size_t* needed) {
  return guard(
      [&] { copy_text(required(program, "program").program.text(), text, capacity, needed); });
}

tw_status tw_program_digest(const tw_program* program, char digest[33]) {
  return guard([&] {
    copy_text(required(program, "program").program.content_digest(), &required(digest, "digest"),
              33, nullptr);
  });
}

tw_status tw_forward(tw_engine* engine, const tw_program* program, const tw_inputs* inputs,
                     const tw_outputs* outputs, const double* scale) {
  return guard([&] {
    tilewright::CallOptions options;
    if (scale != nullptr) options.scale = *scale;
    required(engine, "engine")
        .engine.attention(required(program, "program").program,
                          inputs_of(required(inputs, "inputs")),
                          outputs_of(required(outputs, "outputs")), options);
  });
}

tw_status tw_forward_with(tw_engine* engine, const tw_program* program, const tw_inputs* inputs,
                          const tw_outputs* outputs, const tw_call_options* options) {
  return guard([&] {
    required(engine, "engine")
        .engine.attention(
            required(program, "program").program, inputs_of(required(inputs, "inputs")),
            outputs_of(required(outputs, "outputs")), options_of(sized_copy(options, "options")));
  });
}

tw_status tw_backward(tw_engine* engine, const tw_program* program,
                      const tw_backward_inputs* inputs, const tw_backward_outputs* outputs,
                      const double* scale) {
  return guard([&] {
    tilewright::CallOptions options;
    if (scale != nullptr) options.scale = *scale;
    required(engine, "engine")
        .engine.attention_backward(required(program, "program").program,
                                   inputs_of(sized_copy(inputs, "inputs")),
                                   outputs_of(sized_copy(outputs, "outputs")), options);
  });
}

tw_status tw_backward_with(tw_engine* engine, const tw_program* program,
                           const tw_backward_inputs* inputs, const tw_backward_outputs* outputs,
                           const tw_call_options* options) {
  return guard([&] {
    required(engine, "engine")
        .engine.attention_backward(
            required(program, "program").program, inputs_of(sized_copy(inputs, "inputs")),
            outputs_of(sized_copy(outputs, "outputs")), options_of(sized_copy(options, "options")));
  });
}

tw_status tw_attention_prepare(tw_engine* engine, const tw_program* program,
                               const tw_problem* problem, int32_t asynchronous,
                               tw_attention** attention) {
  return guard([&] {
    required(attention, "attention") = nullptr;
    const tilewright::Problem stated = problem_of(sized_copy(problem, "problem"));
    *attention = new tw_attention{
        required(engine, "engine")
            .engine.prepare(required(program, "program").program, stated, asynchronous != 0)};
  });
}

void tw_attention_destroy(tw_attention* attention) { delete attention; }

tw_status tw_attention_ready(const tw_attention* attention, int32_t* ready) {
  return guard([&] {
    required(ready, "ready") = required(attention, "attention").attention.ready() ? 1 : 0;
  });
}

tw_status tw_attention_wait(const tw_attention* attention) {
  return guard([&] { required(attention, "attention").attention.wait(); });
}

tw_status tw_attention_bind(tw_attention* attention, const char* capture, const tw_tensor* tensor) {
  return guard([&] {
    const tilewright::TensorView view = view_of(required(tensor, "tensor"), "tensor");
    required(attention, "attention").attention.bind(&required(capture, "capture"), view);
  });
}

tw_status tw_attention_set_int(tw_attention* attention, const char* number, int64_t value) {
  return guard(
      [&] { required(attention, "attention").attention.set(&required(number, "number"), value); });
}

tw_status tw_attention_set_real(tw_attention* attention, const char* number, double value) {
  return guard(
      [&] { required(attention, "attention").attention.set(&required(number, "number"), value); });
}

tw_status tw_attention_forward(const tw_attention* attention, const tw_inputs* inputs,
                               const tw_outputs* outputs) {
  return guard([&] {
    required(attention, "attention")
        .attention.forward(inputs_of(required(inputs, "inputs")),
                           outputs_of(required(outputs, "outputs")));
  });
}

tw_status tw_attention_forward_with(const tw_attention* attention, const tw_inputs* inputs,
                                    const tw_outputs* outputs, const tw_call_options* options) {
  return guard([&] {
    required(attention, "attention")
        .attention.forward(inputs_of(required(inputs, "inputs")),
                           outputs_of(required(outputs, "outputs")),
                           options_of(sized_copy(options, "options")));
  });
}

tw_status tw_attention_workspace_bytes(const tw_attention* attention, size_t* bytes) {
  return guard([&] {
    required(bytes, "bytes") = required(attention, "attention").attention.workspace_bytes();
  });
}

tw_status tw_attention_backward(const tw_attention* attention, const tw_backward_inputs* inputs,
                                const tw_backward_outputs* outputs) {
  return guard([&] {
    required(attention, "attention")
        .attention.backward(inputs_of(sized_copy(inputs, "inputs")),
                            outputs_of(sized_copy(outputs, "outputs")));
  });
}

tw_status tw_attention_backward_with(const tw_attention* attention,
                                     const tw_backward_inputs* inputs,
                                     const tw_backward_outputs* outputs,
                                     const tw_call_options* options) {
  return guard([&] {
    required(attention, "attention")
        .attention.backward(inputs_of(sized_copy(inputs, "inputs")),
                            outputs_of(sized_copy(outputs, "outputs")),
                            options_of(sized_copy(options, "options")));
  });
}

tw_status tw_attention_explain(const tw_attention* attention, const char* stage, char* text,
                               size_t capacity, size_t* needed) {
  return guard([&] {
    const std::string words =
        required(attention, "attention").attention.explain(&required(stage, "stage"));
    copy_text(words, text, capacity, needed);
  });
}

tw_status tw_mask_map_build(const tw_program* program, const tw_mask_map_options* options,
                            tw_mask_map** map) {
  return guard([&] {
    required(map, "map") = nullptr;
    *map = new tw_mask_map{tilewright::MaskMap::build(required(program, "program").program,
                                                      options_of(sized_copy(options, "options")))};
  });
}

void tw_mask_map_destroy(tw_mask_map* map) { delete map; }

tw_status tw_mask_map_counts(const tw_mask_map* map, int64_t kv_block, tw_mask_counts* counts) {
  return guard([&] {
    constexpr int64_t kDefaultBlock = 128;
    const tilewright::MaskMap& built = required(map, "map").map;
    const auto tiles =
        built.count_tiles(built.options().q_block, kv_block > 0 ? kv_block : kDefaultBlock);
    sized_write(tw_mask_counts{.struct_bytes = 0,
                               .live_pairs = built.live_pairs(),
                               .tiles_empty = tiles.empty,
                               .tiles_partial = tiles.partial,
                               .tiles_full = tiles.full,
                               .spans = built.span_count(),
                               .blocks_over_budget = built.blocks_over_budget(),
                               .bytes = built.bytes()},
                counts, "counts");
  });
}
