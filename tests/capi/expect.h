// SPDX-License-Identifier: Apache-2.0
/* What the C programs of these tests share: a count of failed expectations, small integers as elements, tensors on the
 * emulated device. Products of small integers are exact in every type, so that results are compared for equality. */
#ifndef WW_TESTS_CAPI_EXPECT_H
#define WW_TESTS_CAPI_EXPECT_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <warpwright/warpwright.h>

static int failures = 0;

#define EXPECT(condition)                                                                                 \
  do {                                                                                                    \
    if (!(condition)) {                                                                                   \
      ++failures;                                                                                         \
      printf("%s:%d: expected %s; last error: %s\n", __FILE__, __LINE__, #condition, ww_error_message()); \
    }                                                                                                     \
  } while (0)
#define EXPECT_OK(call) EXPECT((call) == WW_OK)
/* The call is refused with this status, and the error names the argument. */
#define EXPECT_REFUSED(code, name, call)                                                                     \
  do {                                                                                                       \
    const ww_status refused_status = (call);                                                                 \
    if (refused_status != (code) || strstr(ww_error_argument(), name) == NULL ||                             \
        ww_error_status() != refused_status || *ww_error_message() == '\0') {                                \
      ++failures;                                                                                            \
      printf("%s:%d: expected status %d naming \"%s\", got %d: %s\n", __FILE__, __LINE__, (int)(code), name, \
             (int)refused_status, ww_error_message());                                                       \
    }                                                                                                        \
  } while (0)

/* The integer -2 .. 2 of element i. */
static inline int small_integer(int64_t i, int seed) { return (int)((i * 7 + i / 5 + seed) % 5) - 2; }

static inline uint16_t bf16_of(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return (uint16_t)(bits >> 16);
}
/* -2 .. 2 as e4m3. */
static inline uint8_t e4m3_of(int value) {
  static const uint8_t magnitude[] = {0x00, 0x38, 0x40};
  return (uint8_t)(magnitude[abs(value)] | (value < 0 ? 0x80 : 0));
}

/* Device memory with a copy of `bytes` from the host, or zeros. The device frees it when it is closed. */
static inline void* on_device(ww_device device, const void* host, size_t bytes) {
  void* memory = NULL;
  void* zeros = host != NULL ? NULL : calloc(bytes > 0 ? bytes : 1, 1);
  EXPECT_OK(ww_device_allocate(device, bytes, &memory));
  EXPECT_OK(ww_device_upload(device, memory, host != NULL ? host : zeros, bytes));
  free(zeros);
  return memory;
}

static inline uint16_t* bf16_integers(int64_t count, int seed) {
  uint16_t* values = malloc((size_t)count * sizeof *values);
  for (int64_t i = 0; i < count; ++i) values[i] = bf16_of((float)small_integer(i, seed));
  return values;
}
static inline uint8_t* e4m3_integers(int64_t count, int seed) {
  uint8_t* values = malloc((size_t)count);
  for (int64_t i = 0; i < count; ++i) values[i] = e4m3_of(small_integer(i, seed));
  return values;
}

static inline int report_failures(const char* program) {
  if (failures == 0) printf("%s: all expectations hold\n", program);
  return failures == 0 ? 0 : 1;
}

#endif
