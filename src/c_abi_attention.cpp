#include <string>

#include "c_abi_guard.h"
#include "c_abi_handles.h"
#include "c_abi_structs.h"
#include "tilewright/c.h"

using namespace tilewright::c_abi;  // NOLINT: this file is the interface itself

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
                           outputs_of(required(outputs, "outputs")), CallExtras(options));
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
                            outputs_of(sized_copy(outputs, "outputs")), CallExtras(options));
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
