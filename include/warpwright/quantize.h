// SPDX-License-Identifier: Apache-2.0
/* Casts to FP8 with scales of blocks, transposes of FP8 matrices, and packed scales. A part of warpwright.h, which
 * documents the conventions; docs/numerics.md has the arithmetic. */
#ifndef WARPWRIGHT_QUANTIZE_H
#define WARPWRIGHT_QUANTIZE_H

#ifndef WARPWRIGHT_WARPWRIGHT_H
#error "include <warpwright/warpwright.h>"
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef int32_t ww_quantize_block; /* the elements that share a scale */
enum {
  WW_BLOCK_1X128 = 0,  /* 128 along the rows of each output: of q along K, of the transpose along M */
  WW_BLOCK_128X128 = 1 /* the transpose has the same bytes and scales as q, transposed */
};

typedef int32_t ww_quantize_outputs; /* bits */
enum {
  WW_QUANTIZE_ROWS = 1,      /* q [M, K] */
  WW_QUANTIZE_TRANSPOSED = 2 /* its transpose [K, M] */
};

/** x [batch, M, K], row-major, cast to FP8 with scales of blocks: q [M, K] and, or, its transpose [K, M], which
 * products over M read, since FP8 operands are K-major. scale = max(amax, min_amax) / largest; docs/numerics.md has the
 * roundings. A weight's N is called m. */
typedef struct ww_quantize_problem {
  size_t struct_size;
  int64_t m, k;
  int64_t batch;   /* 0: 1 */
  ww_dtype x_type; /* WW_BF16, WW_F16 or WW_F32 */
  ww_dtype q_type; /* WW_E4M3 or WW_E5M2, of both outputs; 0: WW_E4M3 */
  ww_quantize_block block;
  ww_quantize_outputs outputs; /* 0: WW_QUANTIZE_ROWS */
  ww_scale_type scale_type;
  int32_t power_of_two; /* not 0: scales are rounded up to powers of two */
  double min_amax;      /* amax counts as at least this; 0: 1e-4, as in DeepGEMM's casts; negative: no limit */
  int64_t ldx, ldq, ld_transposed; /* row strides; 0: K, K and ww_quantize_columns() */
  /* Strides of scales; both 0 of an output: packed row-major. Of WW_BLOCK_1X128 (M, ceil(K/128)) and (K, ceil(M/128)),
   * of WW_BLOCK_128X128 (ceil(M/128), ceil(K/128)) and (ceil(K/128), ceil(M/128)):
   *   scales[i * scale_m + kb * scale_k], transposed_scales[j * transposed_scale_k + mb * transposed_scale_m] */
  int64_t scale_m, scale_k, transposed_scale_k, transposed_scale_m;
  int64_t batch_x, batch_q, batch_transposed, batch_scales, batch_transposed_scales; /* 0: packed */
  /* Groups of rows, WW_BLOCK_1X128 with a transpose: there each group begins a new block and is padded with zeros to a
   * multiple of `padding` columns, as ww_k_grouped() reads them with `padded_ends` as sizes and WW_OFFSETS. Columns
   * behind the last group and, in both outputs, rows outside every group are left alone. */
  int64_t groups; /* G, at most 4096; 0: none */
  ww_encoding encoding;
  int32_t one_by_one; /* not 0: each group's transpose is a packed matrix [K, padded rows], one after the other */
  int64_t alignment;  /* WW_OFFSETS: of the start of each group in x; 0: 1 */
  int64_t padding;    /* a multiple of 128; 0: 128 */
} ww_quantize_problem;

/** FP8 matrices w [batch, N, K] with scales of 128 x 128 blocks, or without: the same bytes as [batch, K, N], and the
 * scales transposed. */
typedef struct ww_transpose_problem {
  size_t struct_size;
  int64_t n, k;
  int64_t batch; /* 0: 1 */
  ww_dtype type; /* WW_E4M3 or WW_E5M2 */
  ww_scale_type scale_type;
  int64_t ld, ld_transposed;                                                /* row strides; 0: K, N */
  int64_t scale_n, scale_k, transposed_scale_k, transposed_scale_n;         /* both 0 of one: packed row-major */
  int64_t batch_w, batch_transposed, batch_scales, batch_transposed_scales; /* 0: packed */
} ww_transpose_problem;

/** Matrices and row strides of 16 bytes are faster, and products need them. Outputs overlap nothing. */
typedef struct ww_quantize_operands {
  size_t struct_size;
  const void* x; /* [batch, M, K] */
  /* With WW_QUANTIZE_ROWS. */
  void* q;
  float* scales;
  /* With WW_QUANTIZE_TRANSPOSED. */
  void* transposed;
  float* transposed_scales;
  /* With groups: arrays on the device; see ww_encoding. */
  const int32_t* sizes;
  const int32_t* sizes2;
  int32_t* padded_ends; /* null, or [G]: where each padded group ends in the columns of the transpose */
  uint32_t* status;     /* null, or a word on the device into which WW_GROUP_* bits are ORed */
} ww_quantize_operands;

/** Device pointers of a transpose. Outputs overlap nothing. */
typedef struct ww_transpose_operands {
  size_t struct_size;
  const void* w;    /* [batch, N, K] */
  void* transposed; /* [batch, K, N] */
  /* Of 128 x 128 elements each; both null: there are none. */
  const float* scales;
  float* transposed_scales;
} ww_transpose_operands;

/** Exponents of float32 scales that are powers of two (UE8M0), four of a row to a word: scales [batch, M, K], where K
 * counts scales, and packed [batch, M, words], of which byte i of word w is the exponent of scale 4 w + i, or 0 behind
 * the last one. */
typedef struct ww_pack_scales_problem {
  size_t struct_size;
  int64_t m, k;                       /* rows, scales of a row */
  int64_t batch;                      /* 0: 1 */
  int64_t scale_m, scale_k;           /* strides; both 0: packed row-major */
  int64_t packed_m, packed_k;         /* strides; both 0: 1 and M rounded up to 4 */
  int64_t batch_scales, batch_packed; /* 0: packed */
  /* Groups of K, each of which begins a new word; batch is 1. Group g has ceil(sizes[g] / span) scales. */
  int64_t groups; /* at most 4096; 0: none */
  int64_t span;   /* K of one scale; 0: 128 */
  int64_t words;  /* of a row; 0: ceil(K / 4), which with groups must be given */
} ww_pack_scales_problem;

/** Device pointers. `packed` overlaps nothing. */
typedef struct ww_pack_scales_operands {
  size_t struct_size;
  const float* scales;  /* [batch, M, K] */
  uint32_t* packed;     /* [batch, M, words] */
  const int32_t* sizes; /* with groups: [G] on the device */
} ww_pack_scales_operands;

/** A cast to MXFP8, MXFP6, MXFP4 (a power of two for each 32 elements of a row) or NVFP4 (an e4m3 number for each 16):
 * q = x / scale, for x [batch, M, K]. Strides are in elements. Rows of packed types start at bytes. */
typedef struct ww_microscale_problem {
  size_t struct_size;
  int64_t m, k;
  int64_t batch;     /* 0: 1 */
  ww_dtype x_type;   /* WW_BF16, WW_F16 or WW_F32 */
  ww_dtype q_type;   /* WW_SCALE_MX: E4M3, E5M2, E3M2, E2M3 or E2M1; WW_SCALE_NV: E2M1 */
  ww_scale scale;    /* WW_SCALE_MX or WW_SCALE_NV */
  int32_t row_major; /* not 0: scales (M, ceil(K/32)) or (M, ceil(K/16)); 0: chunks of 128 rows x 4 scales, as products
                      * read them: scale j of row r of a chunk at byte 16 (r % 32) + 4 (r / 32) + j, padding 0 */
  int64_t ldx, ldq;  /* 0: K */
  int64_t batch_x, batch_q, batch_scales; /* the last in bytes; 0: packed */
} ww_microscale_problem;

/** Device pointers. The outputs overlap nothing. */
typedef struct ww_microscale_operands {
  size_t struct_size;
  const void* x;             /* [batch, M, K] */
  void* q;                   /* [batch, M, K] */
  uint8_t* scales;           /* one byte each, as row_major of the problem says */
  const float* tensor_scale; /* WW_SCALE_NV: a positive factor of all results, such as amax / (448 * 6); null: 1 */
} ww_microscale_operands;

/** As ww_gemm_can_implement() and its siblings. Options have no config here. */
WW_API ww_status ww_quantize_can_implement(const ww_quantize_problem* problem, const ww_options* options);
WW_API ww_status ww_transpose_can_implement(const ww_transpose_problem* problem, const ww_options* options);
WW_API ww_status ww_pack_scales_can_implement(const ww_pack_scales_problem* problem, const ww_options* options);
WW_API ww_status ww_microscale_can_implement(const ww_microscale_problem* problem, const ww_options* options);

/** Stores the columns of the transpose of a quantisation: M, or an upper bound of the padded groups' sum. */
WW_API ww_status ww_quantize_columns(const ww_quantize_problem* problem, int64_t* columns);

/** As ww_gemm_plan(), ww_gemm_cached(), ww_gemm_run() and ww_gemm(), on `stream`. There is no workspace. */
WW_API ww_status ww_quantize_plan(ww_device device, const ww_quantize_problem* problem, const ww_options* options,
                                  ww_plan* plan);
WW_API ww_status ww_transpose_plan(ww_device device, const ww_transpose_problem* problem, const ww_options* options,
                                   ww_plan* plan);
WW_API ww_status ww_quantize_cached(ww_device device, const ww_quantize_problem* problem, const ww_options* options,
                                    void* stream, ww_plan* plan);
WW_API ww_status ww_transpose_cached(ww_device device, const ww_transpose_problem* problem, const ww_options* options,
                                     void* stream, ww_plan* plan);
WW_API ww_status ww_quantize_run(ww_plan plan, const ww_quantize_operands* operands, void* stream);
WW_API ww_status ww_transpose_run(ww_plan plan, const ww_transpose_operands* operands, void* stream);
WW_API ww_status ww_quantize(ww_device device, const ww_quantize_problem* problem, const ww_options* options,
                             const ww_quantize_operands* operands, void* stream);
WW_API ww_status ww_transpose(ww_device device, const ww_transpose_problem* problem, const ww_options* options,
                              const ww_transpose_operands* operands, void* stream);
WW_API ww_status ww_pack_scales_plan(ww_device device, const ww_pack_scales_problem* problem, const ww_options* options,
                                     ww_plan* plan);
WW_API ww_status ww_pack_scales_cached(ww_device device, const ww_pack_scales_problem* problem,
                                       const ww_options* options, void* stream, ww_plan* plan);
WW_API ww_status ww_pack_scales_run(ww_plan plan, const ww_pack_scales_operands* operands, void* stream);
WW_API ww_status ww_pack_scales(ww_device device, const ww_pack_scales_problem* problem, const ww_options* options,
                                const ww_pack_scales_operands* operands, void* stream);
WW_API ww_status ww_microscale_plan(ww_device device, const ww_microscale_problem* problem, const ww_options* options,
                                    ww_plan* plan);
WW_API ww_status ww_microscale_cached(ww_device device, const ww_microscale_problem* problem, const ww_options* options,
                                      void* stream, ww_plan* plan);
WW_API ww_status ww_microscale_run(ww_plan plan, const ww_microscale_operands* operands, void* stream);
WW_API ww_status ww_microscale(ww_device device, const ww_microscale_problem* problem, const ww_options* options,
                               const ww_microscale_operands* operands, void* stream);

#ifdef __cplusplus
}
#endif
#endif /* WARPWRIGHT_QUANTIZE_H */
