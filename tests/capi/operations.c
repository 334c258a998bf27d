// SPDX-License-Identifier: Apache-2.0
/* Every operation of the C interface on the emulated device, with every value compared exactly: plans, runs, cached
 * runs, workspaces, statistics, explanations, compiling ahead, verification, checks. */
#include "expect.h"

enum { M = 64, N = 64, K = 256, G = 3 };

/* D = alpha A B^T + bias[n], in bf16. */
static void dense_with_epilogue(ww_device device) {
  uint16_t *a = bf16_integers(M * K, 1), *b = bf16_integers(N * K, 2), bias[N];
  static float d[M * N];
  for (int n = 0; n < N; ++n) bias[n] = bf16_of((float)(n % 7));

  ww_gemm_problem problem = {sizeof problem};
  problem.m = M, problem.n = N, problem.k = K;
  problem.a_type = problem.b_type = WW_BF16, problem.d_type = WW_F32;
  problem.epilogue = "acc*alpha+bias:bf16";
  EXPECT_OK(ww_gemm_can_implement(&problem, NULL));
  ww_plan plan = NULL;
  EXPECT_OK(ww_gemm_plan(device, &problem, NULL, &plan));

  ww_epilogue_operands epilogue = {sizeof epilogue};
  epilogue.scalars_given = 1, epilogue.scalar[0] = 0.5f;
  epilogue.row_vector[0] = on_device(device, bias, sizeof bias);
  ww_gemm_operands operands = {sizeof operands};
  operands.a = on_device(device, a, M * K * sizeof *a);
  operands.b = on_device(device, b, N * K * sizeof *b);
  operands.d = on_device(device, NULL, sizeof d);
  operands.epilogue = &epilogue;
  EXPECT_OK(ww_plan_workspace_bytes(plan, &operands.workspace_bytes));
  operands.workspace = on_device(device, NULL, operands.workspace_bytes);
  EXPECT_OK(ww_gemm_run(plan, &operands, NULL));
  EXPECT_OK(ww_device_synchronize(device, NULL));
  EXPECT_OK(ww_device_download(device, d, operands.d, sizeof d));
  int wrong = 0;
  for (int m = 0; m < M; ++m)
    for (int n = 0; n < N; ++n) {
      int sum = 0;
      for (int k = 0; k < K; ++k) sum += small_integer(m * K + k, 1) * small_integer(n * K + k, 2);
      wrong += d[m * N + n] != 0.5f * (float)sum + (float)(n % 7);
    }
  EXPECT(wrong == 0);

  ww_report stats = NULL;
  EXPECT_OK(ww_plan_stats(plan, &stats));
  size_t length = 0;
  const char* text = ww_report_text(stats, &length);
  EXPECT(text != NULL && strlen(text) == length && strstr(text, "\"tma_loads\":") != NULL);
  EXPECT_OK(ww_report_free(stats));
  EXPECT(ww_report_text(stats, NULL) == NULL);

  /* The judge, on the host's copies. */
  operands.a = a, operands.b = b, operands.d = d, epilogue.row_vector[0] = bias;
  ww_verification verification = {sizeof verification};
  EXPECT_OK(ww_gemm_verify(&problem, &operands, WW_MATH_EXACT, &verification));
  EXPECT(verification.elements == M * N && verification.wrong == 0);
  d[5 * N + 7] += 1000;
  EXPECT_OK(ww_gemm_verify(&problem, &operands, WW_MATH_EXACT, &verification));
  EXPECT(verification.wrong == 1 && verification.first.row == 5 && verification.first.column == 7);
  EXPECT(strcmp(verification.first.tensor, "D") == 0);
  EXPECT_OK(ww_plan_free(plan));
  free(a), free(b);
}

/* Block scales and a batch, through the cache of plans. */
static void dense_cached(ww_device device) {
  enum { L = 2 };
  uint8_t *a = e4m3_integers(L * M * K, 3), *b = e4m3_integers(L * N * K, 4);
  float scale_a[L * M * (K / 128)], scale_b[L * (K / 128)];
  static float d[L * M * N];
  for (int i = 0; i < L * M * (K / 128); ++i) scale_a[i] = i % 3 == 0 ? 2.0f : 0.5f;
  for (int i = 0; i < L * (K / 128); ++i) scale_b[i] = i % 2 == 0 ? 1.0f : 4.0f;

  ww_gemm_problem problem = {sizeof problem};
  problem.m = M, problem.n = N, problem.k = K;
  problem.a_type = problem.b_type = WW_E4M3, problem.d_type = WW_F32, problem.scale = WW_SCALE_BLOCK;
  problem.batched = 1, problem.batch = L;
  problem.batch_a = M * K, problem.batch_b = N * K, problem.batch_d = M * N;
  problem.batch_scale_a = M * (K / 128), problem.batch_scale_b = K / 128;

  ww_gemm_operands operands = {sizeof operands};
  operands.a = on_device(device, a, L * M * K);
  operands.b = on_device(device, b, L * N * K);
  operands.d = on_device(device, NULL, sizeof d);
  operands.scale_a = on_device(device, scale_a, sizeof scale_a);
  operands.scale_b = on_device(device, scale_b, sizeof scale_b);
  ww_plan plan = NULL, again = NULL;
  EXPECT_OK(ww_gemm_cached(device, &problem, NULL, NULL, &plan));
  EXPECT_OK(ww_plan_workspace_bytes(plan, &operands.workspace_bytes));
  operands.workspace = on_device(device, NULL, operands.workspace_bytes);
  ww_options options = {sizeof options};
  EXPECT_OK(ww_gemm_cached(device, &problem, &options, NULL, &again));
  EXPECT(again == plan); /* no options are the default options */
  ww_counters before = {sizeof before}, after = {sizeof after};
  EXPECT_OK(ww_device_get_counters(device, &before));
  EXPECT_OK(ww_gemm(device, &problem, NULL, &operands, NULL));
  EXPECT_OK(ww_device_get_counters(device, &after));
  EXPECT(after.launches == before.launches + 1 && after.plan_cache_hits == before.plan_cache_hits + 1);
  EXPECT(after.plans == before.plans && after.kernels == before.kernels);
  EXPECT_OK(ww_device_download(device, d, operands.d, sizeof d));
  int wrong = 0;
  for (int l = 0; l < L; ++l)
    for (int m = 0; m < M; ++m)
      for (int n = 0; n < N; ++n) {
        float sum = 0;
        for (int k = 0; k < K; ++k)
          sum += (float)(small_integer((l * M + m) * K + k, 3) * small_integer((l * N + n) * K + k, 4)) *
                 scale_a[(l * M + m) * (K / 128) + k / 128] * scale_b[l * (K / 128) + k / 128];
        wrong += d[(l * M + m) * N + n] != sum;
      }
  EXPECT(wrong == 0);

  problem.k = 128, problem.lda = problem.ldb = K; /* another problem, another plan */
  EXPECT_OK(ww_gemm_cached(device, &problem, NULL, NULL, &again));
  EXPECT(again != plan);
  EXPECT_REFUSED(WW_INVALID, "plan", ww_plan_free(again)); /* it is the device's */
  free(a), free(b);
}

/* D = A B[group]^T in e4m3 with one scale per row and column; ends of groups as offsets. */
static void grouped(ww_device device) {
  const int32_t ends[G] = {10, 10, 50};
  const int group_of_row[2] = {0, 2};
  uint8_t *a = e4m3_integers(M * K, 5), *b = e4m3_integers(G * N * K, 6);
  float scale_a[M], scale_b[G * N];
  static float d[M * N];
  for (int i = 0; i < M; ++i) scale_a[i] = i % 2 == 0 ? 1.0f : 2.0f;
  for (int i = 0; i < G * N; ++i) scale_b[i] = i % 4 == 0 ? 0.5f : 1.0f;

  ww_grouped_problem problem = {sizeof problem};
  problem.groups = G, problem.rows = M, problem.n = N, problem.k = K;
  problem.a_type = problem.b_type = WW_E4M3, problem.d_type = WW_F32, problem.scale = WW_SCALE_ROW_COLUMN;
  problem.encoding = WW_OFFSETS, problem.zero_outside = 1;
  EXPECT_OK(ww_grouped_can_implement(&problem, NULL));
  ww_plan plan = NULL;
  EXPECT_OK(ww_grouped_plan(device, &problem, NULL, &plan));
  ww_operation operation = 0;
  EXPECT_OK(ww_plan_operation(plan, &operation));
  EXPECT(operation == WW_GROUPED_GEMM);

  ww_grouped_operands operands = {sizeof operands};
  operands.a = on_device(device, a, M * K);
  operands.b = on_device(device, b, G * N * K);
  operands.d = on_device(device, NULL, sizeof d);
  operands.scale_a = on_device(device, scale_a, sizeof scale_a);
  operands.scale_b = on_device(device, scale_b, sizeof scale_b);
  operands.sizes = on_device(device, ends, sizeof ends);
  operands.status = on_device(device, NULL, sizeof(uint32_t));
  EXPECT_OK(ww_plan_workspace_bytes(plan, &operands.workspace_bytes));
  operands.workspace = on_device(device, NULL, operands.workspace_bytes);
  EXPECT_OK(ww_grouped_run(plan, &operands, NULL));
  EXPECT_OK(ww_device_download(device, d, operands.d, sizeof d));
  int wrong = 0;
  for (int m = 0; m < M; ++m)
    for (int n = 0; n < N; ++n) {
      const int g = group_of_row[m >= ends[0]];
      int sum = 0;
      for (int k = 0; k < K; ++k) sum += small_integer(m * K + k, 5) * small_integer((g * N + n) * K + k, 6);
      const float expected = m < ends[G - 1] ? (float)sum * scale_a[m] * scale_b[g * N + n] : 0;
      wrong += d[m * N + n] != expected;
    }
  EXPECT(wrong == 0);
  uint32_t status = 99;
  EXPECT_OK(ww_device_download(device, &status, operands.status, sizeof status));
  EXPECT(status == 0);

  ww_tile_width widths[8];
  size_t count = 99;
  EXPECT_OK(ww_grouped_widths(plan, operands.workspace, widths, 8, &count));
  uint64_t tiles = 0;
  for (size_t i = 0; i < count && i < 8; ++i) tiles += widths[i].tiles;
  EXPECT(count == 0 || tiles > 0);
  EXPECT_OK(ww_grouped(device, &problem, NULL, &operands, NULL)); /* the same through the cache */

  ww_grouped_operands on_host = {sizeof on_host};
  on_host.a = a, on_host.b = b, on_host.d = d, on_host.scale_a = scale_a, on_host.scale_b = scale_b;
  on_host.sizes = ends;
  ww_verification verification = {sizeof verification};
  EXPECT_OK(ww_grouped_verify(&problem, &on_host, WW_MATH_EXACT, &verification));
  EXPECT(verification.wrong == 0 && verification.elements == M * N);
  EXPECT_OK(ww_plan_free(plan));
  free(a), free(b);
}

/* D[g] += A_g B_g^T over groups of K, in place. */
static void k_grouped(ww_device device) {
  const int32_t bounds[G + 1] = {0, 33, 33, K};
  uint16_t *a = bf16_integers(K * M, 7), *b = bf16_integers(K * N, 8);
  static float d[G * M * N];
  for (int i = 0; i < G * M * N; ++i) d[i] = (float)(i % 11);

  ww_k_grouped_problem problem = {sizeof problem};
  problem.groups = G, problem.m = M, problem.n = N, problem.k = K;
  problem.a_type = problem.b_type = WW_BF16, problem.d_type = WW_F32;
  problem.encoding = WW_INDPTR, problem.a_major = problem.b_major = WW_MAJOR_MN, problem.accumulate = 1;
  EXPECT_OK(ww_k_grouped_can_implement(&problem, NULL));

  ww_k_grouped_operands operands = {sizeof operands};
  operands.a = on_device(device, a, K * M * sizeof *a);
  operands.b = on_device(device, b, K * N * sizeof *b);
  operands.d = on_device(device, d, sizeof d);
  operands.sizes = on_device(device, bounds, sizeof bounds);
  EXPECT_OK(ww_k_grouped(device, &problem, NULL, &operands, NULL));
  EXPECT_OK(ww_device_download(device, d, operands.d, sizeof d));
  int wrong = 0;
  for (int g = 0; g < G; ++g)
    for (int m = 0; m < M; ++m)
      for (int n = 0; n < N; ++n) {
        int sum = ((g * M + m) * N + n) % 11;
        for (int k = bounds[g]; k < bounds[g + 1]; ++k)
          sum += small_integer(k * M + m, 7) * small_integer(k * N + n, 8);
        wrong += d[(g * M + m) * N + n] != (float)sum;
      }
  EXPECT(wrong == 0);
  ww_plan plan = NULL;
  EXPECT_OK(ww_k_grouped_plan(device, &problem, NULL, &plan));
  EXPECT_OK(ww_k_grouped_run(plan, &operands, NULL));
  EXPECT_OK(ww_plan_free(plan));
  free(a), free(b);
}

/* B of groups of rows stored by N. */
static void grouped_by_n(ww_device device) {
  const int32_t bounds[G + 1] = {0, 7, 31, M};
  uint16_t *a = bf16_integers(M * K, 9), *b = bf16_integers(G * K * N, 10);
  static float d[M * N];
  ww_grouped_problem problem = {sizeof problem};
  problem.groups = G, problem.rows = M, problem.n = N, problem.k = K;
  problem.a_type = problem.b_type = WW_BF16, problem.d_type = WW_F32;
  problem.encoding = WW_INDPTR, problem.b_major = WW_MAJOR_MN;
  ww_grouped_operands operands = {sizeof operands};
  operands.a = on_device(device, a, M * K * sizeof *a);
  operands.b = on_device(device, b, G * K * N * sizeof *b);
  operands.d = on_device(device, NULL, sizeof d);
  operands.sizes = on_device(device, bounds, sizeof bounds);
  ww_plan plan = NULL;
  EXPECT_OK(ww_grouped_cached(device, &problem, NULL, NULL, &plan));
  EXPECT_OK(ww_plan_workspace_bytes(plan, &operands.workspace_bytes));
  operands.workspace = on_device(device, NULL, operands.workspace_bytes);
  EXPECT_OK(ww_grouped_run(plan, &operands, NULL));
  EXPECT_OK(ww_device_download(device, d, operands.d, sizeof d));
  int wrong = 0;
  for (int m = 0; m < M; ++m)
    for (int n = 0; n < N; ++n) {
      const int g = m < bounds[1] ? 0 : m < bounds[2] ? 1 : 2;
      int sum = 0;
      for (int k = 0; k < K; ++k) sum += small_integer(m * K + k, 9) * small_integer((g * K + k) * N + n, 10);
      wrong += d[m * N + n] != (float)sum;
    }
  EXPECT(wrong == 0);
  free(a), free(b);
}

/* Groups of K in e4m3, each a packed matrix of its own. */
static void k_grouped_per_group(ww_device device) {
  enum { kBlocks = 4, kAll = 128 * kBlocks };
  const int32_t bounds[G + 1] = {0, 128, 128, kAll};
  uint8_t *a = e4m3_integers(kAll * M, 11), *b = e4m3_integers(kAll * N, 12);
  static float d[G * M * N];
  ww_k_grouped_problem problem = {sizeof problem};
  problem.groups = G, problem.m = M, problem.n = N, problem.k = kAll;
  problem.a_type = problem.b_type = WW_E4M3, problem.d_type = WW_F32;
  problem.encoding = WW_INDPTR, problem.packing = WW_K_PER_GROUP;
  ww_k_grouped_operands operands = {sizeof operands};
  operands.a = on_device(device, a, kAll * M);
  operands.b = on_device(device, b, kAll * N);
  operands.d = on_device(device, NULL, sizeof d);
  operands.sizes = on_device(device, bounds, sizeof bounds);
  ww_plan plan = NULL;
  EXPECT_OK(ww_k_grouped_plan(device, &problem, NULL, &plan));
  EXPECT_OK(ww_plan_workspace_bytes(plan, &operands.workspace_bytes));
  EXPECT(operands.workspace_bytes > 0);
  EXPECT_REFUSED(WW_INVALID, "workspace", ww_k_grouped_run(plan, &operands, NULL));
  operands.workspace = on_device(device, NULL, operands.workspace_bytes);
  EXPECT_OK(ww_k_grouped_run(plan, &operands, NULL));
  EXPECT_OK(ww_device_download(device, d, operands.d, sizeof d));
  int wrong = 0;
  for (int g = 0; g < G; ++g)
    for (int m = 0; m < M; ++m)
      for (int n = 0; n < N; ++n) {
        const int first = bounds[g], count = bounds[g + 1] - first;
        int sum = 0;
        for (int k = 0; k < count; ++k)
          sum += small_integer(first * M + m * count + k, 11) * small_integer(first * N + n * count + k, 12);
        wrong += d[(g * M + m) * N + n] != (float)sum;
      }
  EXPECT(wrong == 0);
  EXPECT_OK(ww_plan_free(plan));
  free(a), free(b);
}

/* dW[g] [K, K] = sum over the rows of group g of x x^T, from x quantised along the rows. Each group's scales are powers
 * of two and its values small integers, so that nothing is lost. */
static void quantized_gradient(ww_device device) {
  enum { ROWS = 200, COLUMNS = 48, PADDED = 128 * 3 };
  static const int32_t ends[G] = {70, 70, ROWS};
  uint16_t* x = bf16_integers(ROWS * COLUMNS, 9);
  ww_quantize_problem problem = {sizeof problem};
  problem.m = ROWS, problem.k = COLUMNS, problem.x_type = WW_BF16;
  problem.outputs = WW_QUANTIZE_ROWS | WW_QUANTIZE_TRANSPOSED;
  problem.power_of_two = 1, problem.groups = G;
  int64_t columns = 0;
  EXPECT_OK(ww_quantize_columns(&problem, &columns));
  EXPECT(columns == 512); /* at most: three groups of 200 rows */
  ww_quantize_operands operands = {sizeof operands};
  operands.x = on_device(device, x, ROWS * COLUMNS * sizeof *x);
  operands.q = on_device(device, NULL, ROWS * COLUMNS);
  operands.scales = on_device(device, NULL, ROWS * sizeof(float));
  operands.transposed = on_device(device, NULL, (size_t)(COLUMNS * columns));
  operands.transposed_scales = on_device(device, NULL, COLUMNS * (size_t)(columns / 128) * sizeof(float));
  operands.sizes = on_device(device, ends, sizeof ends);
  operands.padded_ends = on_device(device, NULL, sizeof ends);
  ww_plan plan = NULL;
  EXPECT_OK(ww_quantize_cached(device, &problem, NULL, NULL, &plan));
  EXPECT_OK(ww_quantize_run(plan, &operands, NULL));
  ww_operation operation = 0;
  EXPECT_OK(ww_plan_operation(plan, &operation));
  EXPECT(operation == WW_QUANTIZE);
  EXPECT_OK(ww_quantize(device, &problem, NULL, &operands, NULL));
  int32_t padded[G];
  float scale = 0;
  EXPECT_OK(ww_device_download(device, padded, operands.padded_ends, sizeof padded));
  EXPECT(padded[0] == 128 && padded[1] == 128 && padded[2] == PADDED);
  EXPECT_OK(ww_device_download(device, &scale, operands.scales, sizeof scale));
  EXPECT(scale == 0x1p-7f); /* 2 / 448, rounded up */

  ww_k_grouped_problem gradient = {sizeof gradient};
  gradient.groups = G, gradient.m = gradient.n = COLUMNS, gradient.k = columns;
  gradient.a_type = gradient.b_type = WW_E4M3, gradient.d_type = WW_F32, gradient.scale = WW_SCALE_BLOCK_1D;
  ww_k_grouped_operands product = {sizeof product};
  static float d[G * COLUMNS * COLUMNS];
  product.a = product.b = operands.transposed;
  product.scale_a = product.scale_b = operands.transposed_scales;
  product.sizes = operands.padded_ends, product.d = on_device(device, NULL, sizeof d);
  EXPECT_OK(ww_k_grouped(device, &gradient, NULL, &product, NULL));
  EXPECT_OK(ww_device_download(device, d, product.d, sizeof d));
  int wrong = 0;
  for (int g = 0; g < G; ++g)
    for (int i = 0; i < COLUMNS; ++i)
      for (int j = 0; j < COLUMNS; ++j) {
        int sum = 0;
        for (int row = g == 0 ? 0 : ends[g - 1]; row < ends[g]; ++row)
          sum += small_integer(row * COLUMNS + i, 9) * small_integer(row * COLUMNS + j, 9);
        wrong += d[(g * COLUMNS + i) * COLUMNS + j] != (float)sum;
      }
  EXPECT(wrong == 0);

  EXPECT_REFUSED(WW_INVALID, "plan", ww_k_grouped_run(plan, &product, NULL));
  operands.transposed_scales = NULL;
  EXPECT_REFUSED(WW_INVALID, "transposed_scales", ww_quantize_run(plan, &operands, NULL));
  ww_options options = {sizeof options};
  options.config = "tile=64x64";
  EXPECT_REFUSED(WW_INVALID, "config", ww_quantize_can_implement(&problem, &options));
  problem.scale_type = WW_SCALES_E8M0;
  EXPECT_REFUSED(WW_UNSUPPORTED, "scale_type", ww_quantize_can_implement(&problem, NULL));
  problem.scale_type = WW_SCALES_F32, problem.outputs = 4;
  EXPECT_REFUSED(WW_INVALID, "outputs", ww_quantize_can_implement(&problem, NULL));
  problem.outputs = WW_QUANTIZE_ROWS;
  EXPECT_REFUSED(WW_INVALID, "groups", ww_quantize_can_implement(&problem, NULL));
  problem.groups = 0, problem.min_amax = 0.0 / 0.0;
  EXPECT_REFUSED(WW_INVALID, "min_amax", ww_quantize_can_implement(&problem, NULL));
  free(x);
}

/* The transpose of FP8 weights, with one scale for 128 x 128 elements. */
static void transposed_weight(ww_device device) {
  enum { ROWS = 144, COLUMNS = 272, BLOCKS_N = 2, BLOCKS_K = 3 };
  uint8_t w[ROWS * COLUMNS], wt[COLUMNS * ROWS];
  float scales[BLOCKS_N * BLOCKS_K], turned[BLOCKS_K * BLOCKS_N];
  for (int i = 0; i < ROWS * COLUMNS; ++i) w[i] = (uint8_t)(i * 31 + i / 256);
  for (int i = 0; i < BLOCKS_N * BLOCKS_K; ++i) scales[i] = (float)(i + 1);
  ww_transpose_problem problem = {sizeof problem};
  problem.n = ROWS, problem.k = COLUMNS, problem.type = WW_E4M3;
  EXPECT_OK(ww_transpose_can_implement(&problem, NULL));
  ww_transpose_operands operands = {sizeof operands};
  operands.w = on_device(device, w, sizeof w);
  operands.transposed = on_device(device, NULL, sizeof wt);
  operands.scales = on_device(device, scales, sizeof scales);
  operands.transposed_scales = on_device(device, NULL, sizeof turned);
  ww_plan plan = NULL;
  EXPECT_OK(ww_transpose_plan(device, &problem, NULL, &plan));
  EXPECT_OK(ww_transpose_run(plan, &operands, NULL));
  EXPECT_OK(ww_plan_free(plan));
  EXPECT_OK(ww_transpose(device, &problem, NULL, &operands, NULL));
  EXPECT_OK(ww_device_download(device, wt, operands.transposed, sizeof wt));
  EXPECT_OK(ww_device_download(device, turned, operands.transposed_scales, sizeof turned));
  int wrong = 0;
  for (int n = 0; n < ROWS; ++n)
    for (int k = 0; k < COLUMNS; ++k) wrong += wt[k * ROWS + n] != w[n * COLUMNS + k];
  for (int n = 0; n < BLOCKS_N; ++n)
    for (int k = 0; k < BLOCKS_K; ++k) wrong += turned[k * BLOCKS_N + n] != scales[n * BLOCKS_K + k];
  EXPECT(wrong == 0);
  operands.scales = NULL;
  EXPECT_REFUSED(WW_INVALID, "scales", ww_transpose(device, &problem, NULL, &operands, NULL));
  problem.type = WW_BF16;
  EXPECT_REFUSED(WW_UNSUPPORTED, "type", ww_transpose_can_implement(&problem, NULL));
}

static void configs(ww_device device) {
  ww_gemm_problem problem = {sizeof problem};
  problem.m = 4096, problem.n = 4096, problem.k = 4096;
  problem.a_type = problem.b_type = WW_E4M3, problem.d_type = WW_BF16, problem.scale = WW_SCALE_BLOCK;
  ww_report report = NULL;
  EXPECT_OK(ww_gemm_explain(NULL, &problem, NULL, &report));
  EXPECT(strstr(ww_report_text(report, NULL), "\"because\":") != NULL);
  EXPECT(strstr(ww_report_text(report, NULL), "\"sms\":132") != NULL);
  EXPECT_OK(ww_report_free(report));
  EXPECT_OK(ww_gemm_configs(device, &problem, NULL, &report));
  EXPECT(strstr(ww_report_text(report, NULL), "\"configs\":[\"") != NULL);
  EXPECT_OK(ww_report_free(report));
  ww_grouped_problem groups = {sizeof groups};
  groups.groups = 8, groups.rows = 1024, groups.n = 512, groups.k = 512;
  groups.a_type = groups.b_type = WW_E4M3, groups.d_type = WW_BF16;
  EXPECT_OK(ww_grouped_explain(device, &groups, NULL, &report));
  EXPECT_OK(ww_report_free(report));
  EXPECT_OK(ww_grouped_configs(NULL, &groups, NULL, &report));
  EXPECT_OK(ww_report_free(report));
  ww_k_grouped_problem of_k = {sizeof of_k};
  of_k.groups = 8, of_k.m = 256, of_k.n = 256, of_k.k = 1024;
  of_k.a_type = of_k.b_type = WW_BF16, of_k.d_type = WW_F32, of_k.a_major = of_k.b_major = WW_MAJOR_MN;
  EXPECT_OK(ww_k_grouped_explain(NULL, &of_k, NULL, &report));
  EXPECT_OK(ww_report_free(report));
  EXPECT_OK(ww_k_grouped_configs(device, &of_k, NULL, &report));
  EXPECT_OK(ww_report_free(report));

  /* The text of a plan's config makes the same plan. */
  problem.m = problem.n = 64, problem.k = 128;
  ww_plan chosen = NULL, repeated = NULL;
  const char *first = "", *second = "";
  EXPECT_OK(ww_gemm_plan(device, &problem, NULL, &chosen));
  EXPECT_OK(ww_plan_config(chosen, &first));
  ww_options options = {sizeof options};
  options.config = first;
  EXPECT_OK(ww_gemm_plan(device, &problem, &options, &repeated));
  EXPECT_OK(ww_plan_config(repeated, &second));
  EXPECT(*first != '\0' && strcmp(first, second) == 0);
  EXPECT_OK(ww_plan_free(chosen));
  EXPECT_OK(ww_plan_free(repeated));
}

static void count_kernel(void* context, const ww_prepared* kernel) {
  *(size_t*)context += kernel->config != NULL && kernel->done <= kernel->of;
}

static void prepare(ww_device device) {
  ww_gemm_problem dense = {sizeof dense};
  dense.m = dense.n = 64, dense.k = 128;
  dense.a_type = dense.b_type = WW_E4M3, dense.d_type = WW_BF16, dense.scale = WW_SCALE_BLOCK;
  ww_grouped_problem groups = {sizeof groups};
  groups.groups = 4, groups.rows = 64, groups.n = 64, groups.k = 128;
  groups.a_type = groups.b_type = WW_E4M3, groups.d_type = WW_BF16, groups.scale = WW_SCALE_BLOCK;
  ww_prepare_case cases[3] = {{sizeof cases[0]}, {sizeof cases[0]}, {sizeof cases[0]}};
  cases[0].gemm = cases[2].gemm = &dense, cases[1].grouped = &groups;
  size_t calls = 0;
  ww_prepare_options options = {sizeof options};
  options.progress = count_kernel, options.context = &calls;
  ww_report report = NULL;
  EXPECT_OK(ww_prepare(device, cases, 3, &options, &report));
  EXPECT(calls == 2);
  EXPECT(strstr(ww_report_text(report, NULL), "\"cases\":[0,2]") != NULL);
  EXPECT_OK(ww_report_free(report));
  cases[1].gemm = &dense; /* two problems in one case */
  EXPECT_REFUSED(WW_INVALID, "cases", ww_prepare(device, cases, 3, &options, NULL));
  cases[1].gemm = NULL, groups.k = 100; /* no kernel reads rows that are no multiple of 16 bytes */
  EXPECT_REFUSED(WW_UNSUPPORTED, "", ww_prepare(device, cases, 3, NULL, NULL));
}

static int32_t stop_never(void* context) { return ++*(int*)context < 0; }

static void check(const char* worker) {
  ww_gemm_problem problem = {sizeof problem};
  problem.m = problem.n = 64, problem.k = 128;
  problem.a_type = problem.b_type = WW_BF16, problem.d_type = WW_BF16;
  ww_check_options options = {sizeof options};
  options.schedules = 4, options.worker = worker;
  int asked = 0;
  options.stop = stop_never, options.context = &asked;
  ww_verdict verdict = 0;
  ww_report report = NULL;
  EXPECT_OK(ww_gemm_check(&problem, NULL, &options, &verdict, &report));
  EXPECT(verdict == WW_CLEAN && asked > 0);
  EXPECT(strstr(ww_report_text(report, NULL), "\"verdict\":\"clean\"") != NULL);
  EXPECT_OK(ww_report_free(report));

  /* A kernel in which two threads write one word. */
  ww_kernel_source kernel = {sizeof kernel};
  kernel.source = "race.hpp", kernel.entry = "race", kernel.launch = "grid=1,threads=64,buffer=256";
  kernel.text =
      "#include \"warpwright/arch/common/global.hpp\"\n"
      "struct Params { unsigned* words; };\n"
      "WW_KERNEL(race, 64, Params, p) { p.words[0] = ww::arch::thread_index(); }\n";
  kernel.sms = 3;
  EXPECT_OK(ww_kernel_check(&kernel, &options, &verdict, &report));
  EXPECT(verdict == WW_FINDINGS);
  EXPECT(strstr(ww_report_text(report, NULL), ww_rule_name(0)) != NULL);
  EXPECT(strstr(ww_report_text(report, NULL), "\"sms\":3,") != NULL);
  EXPECT_OK(ww_report_free(report));
  kernel.sms = 133;
  EXPECT_REFUSED(WW_INVALID, "sms", ww_kernel_check(&kernel, &options, &verdict, &report));
}

int main(int argc, char** argv) {
  ww_device device = NULL;
  EXPECT_OK(ww_device_open("emu:sm90", NULL, &device));
  ww_device_info info = {sizeof info};
  EXPECT_OK(ww_device_get_info(device, &info));
  EXPECT(info.emulated == 1 && info.arch == 90 && strcmp(info.name, "emu:sm90") == 0 && info.sms > 0);
  EXPECT(ww_version_number() == 10000 * WW_C_VERSION_MAJOR + 100 * WW_C_VERSION_MINOR + WW_C_VERSION_PATCH);
  EXPECT(strncmp(ww_source_hash(), "xxh3-128:", 9) == 0 && strlen(ww_source_hash()) > 20);
  dense_with_epilogue(device);
  dense_cached(device);
  grouped(device);
  k_grouped(device);
  grouped_by_n(device);
  k_grouped_per_group(device);
  quantized_gradient(device);
  transposed_weight(device);
  configs(device);
  prepare(device);
  check(argc > 1 ? argv[1] : NULL);
  EXPECT_OK(ww_device_close(device));
  return report_failures("operations");
}
