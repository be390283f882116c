#pragma once

#include <stddef.h>
#include <stdint.h>

#include "tilewright/c_types.h"

/* The C interface. Programs come as text (docs/text_form.md), tensors as descriptors of memory that
 * the caller owns.
 *
 * Every function that can fail returns a tw_status; TW_OK is 0. After a failure tw_last_error()
 * tells the rest, in the thread that made the call. No exception crosses this interface. Handles
 * are made by a function with `create`, `parse`, `prepare` or `build` in its name and given back to
 * the `destroy` function of their kind, which takes NULL.
 *
 * Structures that may grow start with `struct_bytes`: set it with sizeof, zero the rest
 * (`tw_problem p = {.struct_bytes = sizeof p};`). A zero means the default everywhere. */

#ifdef __cplusplus
extern "C" {
#endif

/* "0.1.0" */
TW_API const char* tw_version(void);
/* "invalid_argument" for TW_INVALID_ARGUMENT, and so on. */
TW_API const char* tw_status_name(tw_status status);
/* What the last failed call of this thread said: several lines, valid until the thread's next
 * failure. "" if none. */
TW_API const char* tw_last_error(void);

/* ---- Engine: owns caches and threads. Thread-safe. ---- */

/* Called from any thread; `message` ends with a NUL and is valid during the call. */
typedef void (*tw_log_function)(void* user, tw_log_level level, const char* message);
/* Returns `bytes` bytes aligned to 64, or NULL. */
typedef void* (*tw_allocate_function)(void* user, size_t bytes);
typedef void (*tw_deallocate_function)(void* user, void* memory, size_t bytes);
/* Calls body(context, 0..count-1), on any threads, and returns when all are done. */
typedef void (*tw_parallel_function)(void* user, int64_t count,
                                     void (*body)(void* context, int64_t index), void* context);

/* Workspace on a device, aligned to 256, for work enqueued on `stream`, or NULL; must not wait. */
typedef void* (*tw_allocate_device_function)(void* user, size_t bytes, tw_device device,
                                             int32_t ordinal, void* stream);
/* The memory is free again once `stream` has done what was enqueued before. */
typedef void (*tw_deallocate_device_function)(void* user, void* memory, size_t bytes,
                                              tw_device device, int32_t ordinal, void* stream);

typedef struct tw_engine_options {
  size_t struct_bytes;
  tw_policy compile_policy;
  int32_t threads;        /* 0: affinity and container quota decide */
  int32_t require_fast;   /* not 0: refuse what only a slower path serves */
  const char* backend;    /* NULL, "reference", "cpu", "cuda" */
  const char* cpu_isa;    /* NULL, "amx", "avx512bf16", "avx512", "avx2", "portable" */
  const char* cache_dir;  /* NULL: the user's cache folder; "none": memory only */
  const char* record_dir; /* NULL: off; failing calls are saved there */
  void* user;             /* handed to the functions below, each of which may be NULL */
  tw_log_function log;
  tw_allocate_function allocate; /* with deallocate */
  tw_deallocate_function deallocate;
  tw_parallel_function parallel_for;
  tw_allocate_device_function allocate_device; /* with deallocate_device */
  tw_deallocate_device_function deallocate_device;
  int32_t checked;         /* not 0: device kernels report bad subscripts, see tw_engine_check */
  const char* nvrtc;       /* NULL: searched for; a libnvrtc or its folder */
  const char* cuda_driver; /* NULL: libcuda.so.1 */
  const char* kernel_dir;  /* NULL: the kernel sources inside the library */
  int32_t deterministic;   /* not 0: gradients on devices are added up in a fixed order */
  int32_t fast_functions;  /* not 0: device kernels take tanh and sigmoid in their fast form */
} tw_engine_options;

/* `options` may be NULL. */
TW_API tw_status tw_engine_create(const tw_engine_options* options, tw_engine** engine);
TW_API void tw_engine_destroy(tw_engine* engine);

/* Counters since the engine was made. */
typedef struct tw_stats {
  size_t struct_bytes; /* set before the call */
  int64_t compiles;
  int64_t memory_hits;
  int64_t disk_hits;
  int64_t calls;
  double compile_ms;
  size_t workspace_bytes_peak;
} tw_stats;

TW_API tw_status tw_engine_stats(const tw_engine* engine, tw_stats* stats);
/* Fails with what device kernels reported since the last time; synchronise the stream first. */
TW_API tw_status tw_engine_check(const tw_engine* engine);

/* ---- Program: what attention does to one score. ---- */

/* Reads `bytes` bytes of text; safe on untrusted text. TW_PARSE errors name line and column. */
TW_API tw_status tw_program_parse(const char* text, size_t bytes, tw_program** program);
TW_API void tw_program_destroy(tw_program* program);
/* Binds a captured tensor by name; the memory must outlive the calls that read it. */
TW_API tw_status tw_program_bind(tw_program* program, const char* capture, const tw_tensor* tensor);
TW_API tw_status tw_program_set_int(tw_program* program, const char* number, int64_t value);
TW_API tw_status tw_program_set_real(tw_program* program, const char* number, double value);
/* Writes the text form and a NUL if `capacity` bytes hold them; `needed` (may be NULL) gets the
 * bytes with the NUL. */
TW_API tw_status tw_program_text(const tw_program* program, char* text, size_t capacity,
                                 size_t* needed);
/* 32 hex digits and a NUL that name structure and numbers. */
TW_API tw_status tw_program_digest(const tw_program* program, char digest[33]);

/* ---- Calls ---- */

/* query [B, Hq, Q, E], key [Bkv, Hkv, KV, E], value [Bkv, Hkv, KV, Ev]; any strides. */
typedef struct tw_inputs {
  tw_tensor query;
  tw_tensor key;
  tw_tensor value;
} tw_inputs;

/* out [B, Hq, Q, Ev]; lse and max_scores [B, Hq, Q] fp32 (fp64 for fp64 inputs), each may be NULL.
 */
typedef struct tw_outputs {
  tw_tensor out;
  const tw_tensor* lse;
  const tw_tensor* max_scores;
} tw_outputs;

/* One call, prepared and cached behind the scenes. `scale` may be NULL: 1/sqrt(E). */
TW_API tw_status tw_forward(tw_engine* engine, const tw_program* program, const tw_inputs* inputs,
                            const tw_outputs* outputs, const double* scale);

/* Per-call extras. */
typedef struct tw_call_options {
  size_t struct_bytes;
  const double* scale;   /* NULL: 1/sqrt(E), or the prepared scale */
  void* stream;          /* CUstream (cudaStream_t) of the tensors' device; NULL: the default one */
  int32_t deterministic; /* backward on a device; not 0: additions have a fixed order */
  const tw_mask_map* mask_map; /* NULL, or what tw_mask_map_build made of this program */
  /* NULL, or i32 [B] in the memory of the tensors: the keys that each batch entry has, on a device
   * read when the kernels run; what lies behind them may be anything. */
  const tw_tensor* kv_lengths;
  /* NULL, or forward on a device: what tw_device_mask_map_build makes, instead of mask_map */
  const tw_device_mask_map* device_map;
} tw_call_options;

/* tw_forward with options. On a device it enqueues and returns. */
TW_API tw_status tw_forward_with(tw_engine* engine, const tw_program* program,
                                 const tw_inputs* inputs, const tw_outputs* outputs,
                                 const tw_call_options* options);

/* What backward reads: the tensors of the forward call, what it wrote, and the gradient of that.
 * d_out [B, Hq, Q, Ev] and d_lse [B, Hq, Q] may have any floating dtype and strides; d_lse may be
 * NULL. */
typedef struct tw_backward_inputs {
  size_t struct_bytes;
  tw_tensor query;
  tw_tensor key;
  tw_tensor value;
  tw_tensor out;
  tw_tensor lse;
  tw_tensor d_out;
  const tw_tensor* d_lse;
} tw_backward_inputs;

/* The gradient of one captured tensor, with its shape and dtype. */
typedef struct tw_capture_gradient {
  const char* capture;
  tw_tensor gradient;
} tw_capture_gradient;

/* Each gradient may be NULL and costs nothing then. */
typedef struct tw_backward_outputs {
  size_t struct_bytes;
  const tw_tensor* d_query;
  const tw_tensor* d_key;
  const tw_tensor* d_value;
  const tw_capture_gradient* captures; /* capture_count of them */
  size_t capture_count;
} tw_backward_outputs;

/* The gradients of one tw_forward call with these tensors. */
TW_API tw_status tw_backward(tw_engine* engine, const tw_program* program,
                             const tw_backward_inputs* inputs, const tw_backward_outputs* outputs,
                             const double* scale);
/* tw_backward with options. On a device it enqueues and returns. */
TW_API tw_status tw_backward_with(tw_engine* engine, const tw_program* program,
                                  const tw_backward_inputs* inputs,
                                  const tw_backward_outputs* outputs,
                                  const tw_call_options* options);

/* What prepare needs to know. Zeros: one batch entry, one head, kv_batch = batch, kv_heads =
 * query_heads, value_dim = head_dim, scale 1/sqrt(head_dim). Dtypes must be stated (0 is TW_F64).
 */
typedef struct tw_problem {
  size_t struct_bytes;
  int64_t batch, kv_batch;
  int64_t query_heads, kv_heads;
  int64_t q_len, kv_len;
  int64_t head_dim, value_dim;
  tw_dtype query_dtype, key_dtype, value_dtype, out_dtype;
  double scale;
  int64_t q_base, kv_base; /* logical positions of query row 0 and key 0 */
  int32_t with_lse, with_max_scores;
  tw_device device;
  int32_t device_ordinal;
} tw_problem;

/* Compiles all that calls may need. `asynchronous` not 0: returns at once, see tw_attention_ready.
 */
TW_API tw_status tw_attention_prepare(tw_engine* engine, const tw_program* program,
                                      const tw_problem* problem, int32_t asynchronous,
                                      tw_attention** attention);
TW_API void tw_attention_destroy(tw_attention* attention);
TW_API tw_status tw_attention_ready(const tw_attention* attention, int32_t* ready);
/* Waits until ready; fails with what compiling failed with. */
TW_API tw_status tw_attention_wait(const tw_attention* attention);
TW_API tw_status tw_attention_bind(tw_attention* attention, const char* capture,
                                   const tw_tensor* tensor);
TW_API tw_status tw_attention_set_int(tw_attention* attention, const char* number, int64_t value);
TW_API tw_status tw_attention_set_real(tw_attention* attention, const char* number, double value);
/* Lengths, strides, batch and values may differ from the prepared problem's; dtypes and dims may
 * not. */
TW_API tw_status tw_attention_forward(const tw_attention* attention, const tw_inputs* inputs,
                                      const tw_outputs* outputs);
/* The same with options. On a device it enqueues and returns. */
TW_API tw_status tw_attention_forward_with(const tw_attention* attention, const tw_inputs* inputs,
                                           const tw_outputs* outputs,
                                           const tw_call_options* options);
/* Bytes of device workspace that a call of the prepared problem takes; 0 on the CPU where the
 * backend takes none. */
TW_API tw_status tw_attention_workspace_bytes(const tw_attention* attention, size_t* bytes);
/* The gradients of a forward call with these tensors; the same freedom as tw_attention_forward. */
TW_API tw_status tw_attention_backward(const tw_attention* attention,
                                       const tw_backward_inputs* inputs,
                                       const tw_backward_outputs* outputs);
/* The same with options. On a device it enqueues and returns. */
TW_API tw_status tw_attention_backward_with(const tw_attention* attention,
                                            const tw_backward_inputs* inputs,
                                            const tw_backward_outputs* outputs,
                                            const tw_call_options* options);
/* Text of one stage (program, facts, plan, source, derivative, all); sizes as in tw_program_text.
 */
TW_API tw_status tw_attention_explain(const tw_attention* attention, const char* stage, char* text,
                                      size_t capacity, size_t* needed);

/* ---- Mask maps: sparsity without looking at every pair. ---- */

/* Zeros: one batch entry, one head, query blocks of 128 tokens. */
typedef struct tw_mask_map_options {
  size_t struct_bytes;
  int64_t batch, heads;
  int64_t q_len, kv_len;
  int64_t q_base, kv_base;
  int64_t q_block;
} tw_mask_map_options;

typedef struct tw_mask_counts {
  size_t struct_bytes; /* set before the call */
  int64_t live_pairs;
  int64_t tiles_empty, tiles_partial, tiles_full;
  int64_t spans;
  int64_t blocks_over_budget;
  size_t bytes;
} tw_mask_counts;

TW_API tw_status tw_mask_map_build(const tw_program* program, const tw_mask_map_options* options,
                                   tw_mask_map** map);
TW_API void tw_mask_map_destroy(tw_mask_map* map);
/* Tiles are query blocks of the map by `kv_block` key tokens (0: 128). */
TW_API tw_status tw_mask_map_counts(const tw_mask_map* map, int64_t kv_block,
                                    tw_mask_counts* counts);

/* ---- Mask maps in a device's memory, made there. ---- */

typedef struct tw_device_mask_map_options {
  size_t struct_bytes;
  int64_t batch, heads; /* 0: 1 */
  int64_t q_len, kv_len;
  int64_t q_block;         /* 0: 128 */
  int64_t spans_per_block; /* room for each query block; 0: 16 */
} tw_device_mask_map_options;

TW_API tw_status tw_device_mask_map_bytes(const tw_program* program,
                                          const tw_device_mask_map_options* options, size_t* bytes);
/* `memory` lies on the device at a multiple of 256 bytes, holds that many and outlives the calls
 * that read it. Its first u32 counts the query blocks that had too little room: they end with one
 * span over all that is left, which is right and slower. */
TW_API tw_status tw_device_mask_map_create(const tw_program* program,
                                           const tw_device_mask_map_options* options,
                                           const tw_tensor* memory, tw_device_mask_map** map);
TW_API void tw_device_mask_map_destroy(tw_device_mask_map* map);
/* Enqueues on `stream` what makes the map, anew each time; `problem` is that of the calls to come.
 */
TW_API tw_status tw_device_mask_map_build(tw_engine* engine, const tw_device_mask_map* map,
                                          const tw_problem* problem, void* stream);

#ifdef __cplusplus
}
#endif
