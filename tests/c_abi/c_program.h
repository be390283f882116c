#pragma once

/* Steps of a C11 program that uses tilewright/c.h; each returns NULL, or what went wrong. */

#ifdef __cplusplus
extern "C" {
#endif

const char* check_version_and_names(void);
const char* check_program_text(void);
const char* check_forward(void);
const char* check_backward(void);
const char* check_prepare_and_rebind(void);
const char* check_mask_counts(void);
const char* check_errors(void);
const char* check_host_services(void);

#ifdef __cplusplus
}
#endif
