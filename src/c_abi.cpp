#include <cstring>
#include <string>
#include <utility>

#include "c_abi_guard.h"
#include "c_abi_handles.h"
#include "c_abi_structs.h"
#include "tilewright/c.h"
#include "tilewright/target.h"

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
        .engine.attention(required(program, "program").program,
                          inputs_of(required(inputs, "inputs")),
                          outputs_of(required(outputs, "outputs")), CallExtras(options));
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
        .engine.attention_backward(required(program, "program").program,
                                   inputs_of(sized_copy(inputs, "inputs")),
                                   outputs_of(sized_copy(outputs, "outputs")), CallExtras(options));
  });
}
