#include "c_program.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tilewright/c.h"

enum { kTokens = 5, kDim = 4 };

static const int64_t kShape[4] = {1, 1, kTokens, kDim};

/* Ends the step where a call fails or a condition does not hold. */
#define REQUIRE_OK(call) \
  if ((call) != TW_OK) return fault(#call)
#define REQUIRE(condition) \
  if (!(condition)) return #condition

static const char* fault(const char* call) {
  static char text[2000];
  snprintf(text, sizeof text, "%s: %s", call, tw_last_error());
  return text;
}

static tw_tensor f32_tensor(float* data) {
  tw_tensor tensor = {data, TW_F32, 4, kShape, NULL, TW_CPU, 0};
  return tensor;
}

static void fill(float* data, int seed) {
  for (int i = 0; i < kTokens * kDim; ++i) data[i] = (float)((i * 7 + seed * 3) % 11 - 5) / 4.0f;
}

/* Causal attention of one head in double, with 1/sqrt(dim). */
static void expected_causal(const float* query, const float* key, const float* value, double* out) {
  for (int i = 0; i < kTokens; ++i) {
    double weight[kTokens], sum = 0;
    for (int j = 0; j <= i; ++j) {
      double score = 0;
      for (int d = 0; d < kDim; ++d) score += (double)query[i * kDim + d] * key[j * kDim + d];
      sum += weight[j] = exp(score / sqrt((double)kDim));
    }
    for (int d = 0; d < kDim; ++d) {
      out[i * kDim + d] = 0;
      for (int j = 0; j <= i; ++j) out[i * kDim + d] += weight[j] / sum * value[j * kDim + d];
    }
  }
}

static int is_close(const float* out, const double* expected) {
  for (int i = 0; i < kTokens * kDim; ++i) {
    if (!(fabs(out[i] - expected[i]) < 1e-5)) return 0;
  }
  return 1;
}

typedef struct Operands {
  float query[kTokens * kDim], key[kTokens * kDim], value[kTokens * kDim], out[kTokens * kDim];
  double expected[kTokens * kDim];
} Operands;

static Operands made_operands(void) {
  Operands operands;
  fill(operands.query, 1);
  fill(operands.key, 2);
  fill(operands.value, 3);
  memset(operands.out, 0, sizeof operands.out);
  expected_causal(operands.query, operands.key, operands.value, operands.expected);
  return operands;
}

static tw_inputs inputs_of(Operands* o) {
  tw_inputs inputs = {f32_tensor(o->query), f32_tensor(o->key), f32_tensor(o->value)};
  return inputs;
}

static tw_outputs outputs_of(Operands* o) {
  tw_outputs outputs = {f32_tensor(o->out), NULL, NULL};
  return outputs;
}

static tw_status parse(const char* text, tw_program** program) {
  return tw_program_parse(text, strlen(text), program);
}

const char* check_version_and_names(void) {
  REQUIRE(strchr(tw_version(), '.') != NULL);
  REQUIRE(strcmp(tw_status_name(TW_OK), "ok") == 0);
  REQUIRE(strcmp(tw_status_name(TW_PARSE), "parse") == 0);
  return NULL;
}

const char* check_program_text(void) {
  tw_program *program, *again;
  char text[4000], digest[33], digest_again[33];
  size_t needed = 0;
  REQUIRE_OK(parse("number W: int = 3\n(q >= kv) & (q - kv < W)", &program));
  REQUIRE_OK(tw_program_text(program, NULL, 0, &needed));
  REQUIRE(needed > 1 && needed <= sizeof text);
  REQUIRE_OK(tw_program_text(program, text, sizeof text, NULL));
  REQUIRE(strlen(text) + 1 == needed);
  REQUIRE_OK(parse(text, &again));
  REQUIRE_OK(tw_program_digest(program, digest));
  REQUIRE_OK(tw_program_digest(again, digest_again));
  REQUIRE(strlen(digest) == 32 && strcmp(digest, digest_again) == 0);
  REQUIRE_OK(tw_program_text(program, text, 3, NULL));
  REQUIRE(text[0] == '\0');
  tw_program_destroy(program);
  tw_program_destroy(again);
  return NULL;
}

const char* check_forward(void) {
  Operands operands = made_operands();
  const tw_inputs inputs = inputs_of(&operands);
  tw_outputs outputs = outputs_of(&operands);
  float lse[kTokens];
  const int64_t rows[3] = {1, 1, kTokens};
  const tw_tensor lse_tensor = {lse, TW_F32, 3, rows, NULL, TW_CPU, 0};
  tw_engine* engine;
  tw_program* program;
  tw_stats stats = {.struct_bytes = sizeof stats};
  outputs.lse = &lse_tensor;
  REQUIRE_OK(tw_engine_create(NULL, &engine));
  REQUIRE_OK(parse("q >= kv", &program));
  REQUIRE_OK(tw_forward(engine, program, &inputs, &outputs, NULL));
  REQUIRE(is_close(operands.out, operands.expected));
  REQUIRE(isfinite(lse[0]));
  REQUIRE_OK(tw_engine_stats(engine, &stats));
  REQUIRE(stats.calls == 1);
  tw_program_destroy(program);
  tw_engine_destroy(engine);
  return NULL;
}

/* d_value of a causal call is P^T d_out; the gradient of a bias that is added to every score is 0
 * up to rounding, because softmax does not see it. */
const char* check_backward(void) {
  Operands operands = made_operands();
  const tw_inputs forward_inputs = inputs_of(&operands);
  tw_outputs outputs = outputs_of(&operands);
  float lse[kTokens], d_out[kTokens * kDim], d_value[kTokens * kDim], d_bias[1] = {7},
                                                                      bias[1] = {0};
  double total = 0, expected = 0;
  const int64_t rows[3] = {1, 1, kTokens}, one[1] = {1};
  const tw_tensor lse_tensor = {lse, TW_F32, 3, rows, NULL, TW_CPU, 0};
  const tw_tensor d_value_tensor = f32_tensor(d_value);
  const tw_tensor bias_tensor = {bias, TW_F32, 1, one, NULL, TW_CPU, 0};
  const tw_capture_gradient captures[1] = {{"bias", {d_bias, TW_F32, 1, one, NULL, TW_CPU, 0}}};
  tw_backward_inputs inputs = {.struct_bytes = sizeof inputs};
  tw_backward_outputs gradients = {.struct_bytes = sizeof gradients};
  const int32_t lengths[1] = {2};
  const tw_tensor lengths_tensor = {(void*)lengths, TW_I32, 1, one, NULL, TW_CPU, 0};
  tw_call_options options = {.struct_bytes = sizeof options, .deterministic = 1};
  tw_engine* engine;
  tw_program* program;
  fill(d_out, 4);
  outputs.lse = &lse_tensor;
  inputs.query = forward_inputs.query;
  inputs.key = forward_inputs.key;
  inputs.value = forward_inputs.value;
  inputs.out = outputs.out;
  inputs.lse = lse_tensor;
  inputs.d_out = f32_tensor(d_out);
  gradients.d_value = &d_value_tensor;
  gradients.captures = captures;
  gradients.capture_count = 1;
  REQUIRE_OK(tw_engine_create(NULL, &engine));
  REQUIRE_OK(parse("capture bias: f32[1]\nmask = q >= kv\nscore = score + bias[0]", &program));
  REQUIRE_OK(tw_program_bind(program, "bias", &bias_tensor));
  REQUIRE_OK(tw_forward(engine, program, &forward_inputs, &outputs, NULL));
  REQUIRE_OK(tw_backward(engine, program, &inputs, &gradients, NULL));
  for (int i = 0; i < kTokens * kDim; ++i) {
    total += d_value[i];
    expected += d_out[i];
  }
  /* Every row of P sums to 1. */
  REQUIRE(fabs(total - expected) < 1e-4);
  REQUIRE(fabs(d_bias[0]) < 1e-5);
  total = 0;
  REQUIRE_OK(tw_backward_with(engine, program, &inputs, &gradients, &options));
  for (int i = 0; i < kTokens * kDim; ++i) total += d_value[i];
  REQUIRE(fabs(total - expected) < 1e-4);
  /* The same of the keys that a length leaves. */
  total = 0;
  options.kv_lengths = &lengths_tensor;
  REQUIRE_OK(tw_forward_with(engine, program, &forward_inputs, &outputs, &options));
  REQUIRE_OK(tw_backward_with(engine, program, &inputs, &gradients, &options));
  for (int i = 0; i < kTokens * kDim; ++i) total += d_value[i];
  REQUIRE(fabs(total - expected) < 1e-4);
  for (int i = 2 * kDim; i < kTokens * kDim; ++i) REQUIRE(d_value[i] == 0);
  gradients.capture_count = 0;
  inputs.lse.data = NULL;
  REQUIRE(tw_backward(engine, program, &inputs, &gradients, NULL) == TW_INVALID_ARGUMENT);
  REQUIRE(strstr(tw_last_error(), "lse") != NULL);
  tw_program_destroy(program);
  tw_engine_destroy(engine);
  return NULL;
}

const char* check_prepare_and_rebind(void) {
  Operands operands = made_operands();
  const tw_inputs inputs = inputs_of(&operands);
  const tw_outputs outputs = outputs_of(&operands);
  int32_t doc[kTokens] = {0, 0, 0, 0, 0}, ready = 0;
  const int64_t doc_shape[1] = {kTokens};
  const tw_tensor doc_tensor = {doc, TW_I32, 1, doc_shape, NULL, TW_CPU, 0};
  tw_problem problem = {.struct_bytes = sizeof problem};
  char plan[8000];
  tw_engine* engine;
  tw_program* program;
  tw_attention* attention;
  problem.q_len = problem.kv_len = kTokens;
  problem.head_dim = kDim;
  problem.query_dtype = problem.key_dtype = problem.value_dtype = problem.out_dtype = TW_F32;
  REQUIRE_OK(tw_engine_create(NULL, &engine));
  REQUIRE_OK(
      parse("capture doc: i32[1]\nnumber W: int = 1\n"
            "(doc[q] == doc[kv]) & (q >= kv) & (q - kv < W)",
            &program));
  REQUIRE_OK(tw_program_bind(program, "doc", &doc_tensor));
  REQUIRE_OK(tw_attention_prepare(engine, program, &problem, 1, &attention));
  REQUIRE_OK(tw_attention_wait(attention));
  REQUIRE_OK(tw_attention_ready(attention, &ready));
  REQUIRE(ready == 1);
  REQUIRE_OK(tw_attention_forward(attention, &inputs, &outputs));
  /* With W = 1 each token sees itself alone. */
  REQUIRE(memcmp(operands.out, operands.value, sizeof operands.out) == 0);
  REQUIRE_OK(tw_attention_set_int(attention, "W", 100));
  REQUIRE_OK(tw_attention_bind(attention, "doc", &doc_tensor));
  REQUIRE_OK(tw_attention_forward(attention, &inputs, &outputs));
  REQUIRE(is_close(operands.out, operands.expected));
  REQUIRE_OK(tw_attention_explain(attention, "plan", plan, sizeof plan, NULL));
  REQUIRE(plan[0] != '\0');
  tw_attention_destroy(attention);
  tw_program_destroy(program);
  tw_engine_destroy(engine);
  return NULL;
}

const char* check_mask_counts(void) {
  tw_program* program;
  tw_mask_map* map;
  tw_mask_map_options options = {.struct_bytes = sizeof options};
  tw_mask_counts counts = {.struct_bytes = sizeof counts};
  options.q_len = options.kv_len = 1024;
  REQUIRE_OK(parse("q >= kv", &program));
  REQUIRE_OK(tw_mask_map_build(program, &options, &map));
  REQUIRE_OK(tw_mask_map_counts(map, 128, &counts));
  REQUIRE(counts.live_pairs == 1024 * 1025 / 2);
  REQUIRE(counts.tiles_full == 28 && counts.tiles_partial == 8 && counts.tiles_empty == 28);
  tw_mask_map_destroy(map);
  tw_program_destroy(program);
  return NULL;
}

const char* check_errors(void) {
  Operands operands = made_operands();
  const tw_inputs inputs = inputs_of(&operands);
  tw_outputs outputs = outputs_of(&operands);
  const int64_t wrong[4] = {1, 1, kTokens, kDim + 1};
  tw_problem unsized = {.struct_bytes = 0};
  tw_program* program = NULL;
  tw_attention* attention = NULL;
  tw_engine* engine;
  REQUIRE(parse("q >= ", &program) == TW_PARSE);
  REQUIRE(program == NULL);
  REQUIRE(strstr(tw_last_error(), "line 1") != NULL);
  REQUIRE(tw_program_parse("q\0>= kv", 8, &program) == TW_PARSE);
  REQUIRE(tw_program_parse(NULL, 3, &program) == TW_INVALID_ARGUMENT);
  REQUIRE(parse("q >= kv", NULL) == TW_INVALID_ARGUMENT);
  REQUIRE_OK(tw_engine_create(NULL, &engine));
  REQUIRE_OK(parse("q >= kv", &program));
  REQUIRE(tw_program_set_int(program, "no_such", 1) == TW_INVALID_ARGUMENT);
  REQUIRE(tw_forward(engine, NULL, &inputs, &outputs, NULL) == TW_INVALID_ARGUMENT);
  REQUIRE(tw_attention_prepare(engine, program, &unsized, 0, &attention) == TW_INVALID_ARGUMENT);
  outputs.out.shape = wrong;
  REQUIRE(tw_forward(engine, program, &inputs, &outputs, NULL) == TW_INVALID_ARGUMENT);
  REQUIRE(strlen(tw_last_error()) > 0);
  tw_program_destroy(program);
  tw_program_destroy(NULL);
  tw_engine_destroy(engine);
  tw_engine_destroy(NULL);
  tw_attention_destroy(NULL);
  tw_mask_map_destroy(NULL);
  return NULL;
}

static void* count_allocate(void* user, size_t bytes) {
  ++*(int*)user;
  return aligned_alloc(64, (bytes + 63) / 64 * 64);
}

static void count_deallocate(void* user, void* memory, size_t bytes) {
  (void)bytes;
  --*(int*)user;
  free(memory);
}

static void run_in_order(void* user, int64_t count, void (*body)(void*, int64_t), void* context) {
  (void)user;
  for (int64_t i = 0; i < count; ++i) body(context, i);
}

const char* check_host_services(void) {
  Operands operands = made_operands();
  const tw_inputs inputs = inputs_of(&operands);
  const tw_outputs outputs = outputs_of(&operands);
  tw_engine_options options = {.struct_bytes = sizeof options};
  tw_engine* engine;
  tw_program* program;
  int held = 0;
  options.user = &held;
  options.allocate = count_allocate;
  REQUIRE(tw_engine_create(&options, &engine) == TW_INVALID_ARGUMENT);
  options.deallocate = count_deallocate;
  options.parallel_for = run_in_order;
  options.threads = 1;
  REQUIRE_OK(tw_engine_create(&options, &engine));
  REQUIRE_OK(parse("q >= kv", &program));
  REQUIRE_OK(tw_forward(engine, program, &inputs, &outputs, NULL));
  REQUIRE(is_close(operands.out, operands.expected));
  tw_program_destroy(program);
  tw_engine_destroy(engine);
  REQUIRE(held == 0);
  return NULL;
}
