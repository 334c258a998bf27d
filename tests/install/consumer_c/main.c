// SPDX-License-Identifier: Apache-2.0
/* Uses the installed C header, shared library and emulator modules: 64 ones times 64 ones is 64. Prints the emulator
 * modules that the library has loaded. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <warpwright/warpwright.h>

enum { kSize = 64 };

static void require(ww_status status) {
  if (status == WW_OK) return;
  printf("%s\n", ww_error_message());
  exit(1);
}

int main(void) {
  static uint16_t ones[kSize * kSize];
  static float result[kSize * kSize];
  for (int i = 0; i < kSize * kSize; ++i) ones[i] = 0x3f80; /* 1 in bf16 */
  ww_device device = NULL;
  require(ww_device_open("emu:sm90", NULL, &device));
  ww_gemm_problem problem = {sizeof problem};
  problem.m = problem.n = problem.k = kSize;
  problem.a_type = problem.b_type = WW_BF16, problem.d_type = WW_F32;
  void *a = NULL, *d = NULL;
  require(ww_device_allocate(device, sizeof ones, &a));
  require(ww_device_allocate(device, sizeof result, &d));
  require(ww_device_upload(device, a, ones, sizeof ones));
  ww_gemm_operands operands = {sizeof operands};
  operands.a = operands.b = a, operands.d = d;
  ww_plan plan = NULL;
  require(ww_gemm_cached(device, &problem, NULL, NULL, &plan));
  require(ww_plan_workspace_bytes(plan, &operands.workspace_bytes));
  void* const zeros = calloc(operands.workspace_bytes + 1, 1);
  require(ww_device_allocate(device, operands.workspace_bytes, &operands.workspace));
  require(ww_device_upload(device, operands.workspace, zeros, operands.workspace_bytes));
  require(ww_gemm_run(plan, &operands, NULL));
  require(ww_device_download(device, result, d, sizeof result));
  require(ww_device_close(device));
  for (int i = 0; i < kSize * kSize; ++i)
    if (result[i] != kSize) return printf("expected %d, got %g\n", (int)kSize, (double)result[i]), 1;
  char line[4096];
  FILE* maps = fopen("/proc/self/maps", "r");
  while (maps != NULL && fgets(line, sizeof line, maps) != NULL)
    if (strstr(line, "/modules/") != NULL) fputs(strchr(line, '/'), stdout);
  return 0;
}
