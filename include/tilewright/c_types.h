#pragma once

#include <stdint.h>

/* What the functions of tilewright/c.h take and return: status codes, enumerations, tensors,
 * handles. Include c.h. */

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define TW_API __attribute__((visibility("default")))
#else
#define TW_API
#endif

typedef enum tw_status {
  TW_OK = 0,
  TW_INVALID_ARGUMENT = 1,
  TW_UNSUPPORTED = 2,
  TW_INDEX_OUT_OF_RANGE = 3,
  TW_DIVISION_BY_ZERO = 4,
  TW_PARSE = 5,
  TW_TRACE = 6,
  TW_COMPILE_FORBIDDEN = 7,
  TW_IO = 8,
  TW_INTERNAL = 9,
  TW_DEVICE = 10
} tw_status;

typedef enum tw_dtype {
  TW_F64 = 0,
  TW_F32 = 1,
  TW_F16 = 2,
  TW_BF16 = 3,
  TW_I8 = 4,
  TW_I16 = 5,
  TW_I32 = 6,
  TW_I64 = 7,
  TW_U8 = 8,
  TW_BOOL = 9
} tw_dtype;

typedef enum tw_device { TW_CPU = 0, TW_CUDA = 1 } tw_device;
typedef enum tw_policy {
  TW_COMPILE_ALLOW = 0,
  TW_COMPILE_WARN = 1,
  TW_COMPILE_FORBID = 2
} tw_policy;
typedef enum tw_log_level { TW_LOG_DEBUG = 0, TW_LOG_INFO = 1, TW_LOG_WARNING = 2 } tw_log_level;

/* Memory that the caller owns. shape and strides have `rank` entries, at most 16; strides count
 * elements, and NULL means row-major. */
typedef struct tw_tensor {
  void* data;
  tw_dtype dtype;
  int32_t rank;
  const int64_t* shape;
  const int64_t* strides;
  tw_device device;
  int32_t device_ordinal;
} tw_tensor;

typedef struct tw_engine tw_engine;
typedef struct tw_program tw_program;
typedef struct tw_attention tw_attention;
typedef struct tw_mask_map tw_mask_map;
typedef struct tw_device_mask_map tw_device_mask_map;

#ifdef __cplusplus
}
#endif
