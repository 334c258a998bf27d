// SPDX-License-Identifier: Apache-2.0
/* The C interface of the library (C11 and C++), for programs in other languages. docs/c.md shows a whole program.
 *
 * Calls      A function that can fail returns a ww_status, WW_OK or the reason. It never throws, prints or aborts. The
 *            text of this thread's last failure is read with ww_error_message() and the functions beside it.
 * Structs    Each begins with its size: `ww_gemm_problem p = {sizeof p};`. Zero is the default of every other field, so
 *            that a program compiled with an older, shorter struct keeps its meaning. A longer struct than this library
 *            knows is refused if anything beyond the known part is not zero.
 * Numbers    Enumerators never change; new ones are added. Unknown ones are refused, naming the field.
 * Handles    Devices, plans and reports. A handle that was freed or never made is refused with WW_INVALID. Every
 *            function may be called from any thread; a plan may be freed while another thread runs it.
 * Forks      A child process may open its own devices. Those of its parent, and their plans, return WW_FORKED there.
 * Pointers   Operands are addresses in memory of the device, on emu:sm90 of this process. Strides are in elements.
 */
#ifndef WARPWRIGHT_WARPWRIGHT_H
#define WARPWRIGHT_WARPWRIGHT_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
/** Marks what the library exports. */
#define WW_API __attribute__((visibility("default")))
#else
#define WW_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Version, status, errors ------------------------------------------------------------------------------------ */

/** The version of this header; ww_version_number() is that of the library. */
#define WW_C_VERSION_MAJOR 0
#define WW_C_VERSION_MINOR 1
#define WW_C_VERSION_PATCH 0

typedef int32_t ww_status; /* the result of a call */
enum {
  WW_OK = 0,               /* the call did what it says */
  WW_WRONG_RESULT = 1,     /* a verification failed */
  WW_INVALID = 2,          /* the call contradicts itself or its data */
  WW_UNSUPPORTED = 3,      /* a legal problem that no kernel of this library solves */
  WW_COULD_NOT_FINISH = 4, /* I/O, memory, compiler, driver, a kernel that stopped */
  WW_UNDER_CAPTURE = 5,    /* the stream is capturing a graph, and the call would have to compile or allocate */
  WW_FORKED = 6,           /* the handle belongs to the parent of this process */
  WW_INTERNAL = 7          /* a defect of the library, caught at this interface */
};

/** Returns the version of the library, "0.1.0". Never null. */
WW_API const char* ww_version(void);
/** Returns major * 10000 + minor * 100 + patch of the library, to compare with WW_C_VERSION_MAJOR and the macros beside
 * it. */
WW_API int32_t ww_version_number(void);
/** Returns a hash over the sources of all kernels, "xxh3-128:...", as benchmarks record it. */
WW_API const char* ww_source_hash(void);

/** Return the parts of this thread's last failure: the whole sentence, the argument at fault (empty when there is no
 * single one), what was expected, what was given. Never null, and valid until this thread's next failing call. */
WW_API const char* ww_error_message(void);
WW_API const char* ww_error_argument(void);
WW_API const char* ww_error_expected(void);
WW_API const char* ww_error_actual(void);
/** Returns the status of this thread's last failure, WW_OK before the first. */
WW_API ww_status ww_error_status(void);
/** Returns the name of a status: "ok", "invalid", "under capture"; "unknown" for other numbers. */
WW_API const char* ww_status_name(ww_status status);

/* ---- Enumerations ----------------------------------------------------------------------------------------------- */

typedef int32_t ww_dtype; /* element types; no default. TF32: FP32 in memory, of which A and B count 19 bits */
enum {
  WW_E4M3 = 1, /* FP8 to 448, without infinities */
  WW_E5M2 = 2, /* FP8 to 57344 */
  WW_BF16 = 3, /* bfloat16 */
  WW_F16 = 4,  /* IEEE half */
  WW_F32 = 5,  /* IEEE single; D alone */
  WW_TF32 = 6, /* A and B alone */
  WW_E2M1 = 7, /* 4 bits: two elements a byte, the first in the low nibble */
  WW_E3M2 = 8, /* 6 bits: four elements in three bytes, the first in the lowest bits */
  WW_E2M3 = 9, /* as WW_E3M2 */
  WW_E8M0 = 10 /* of scales: 2^(bits - 127) */
};

/** D from the raw product P = A B^T. Block: sums are promoted to FP32 after every 128 of K. */
typedef int32_t ww_scale;
enum {
  WW_SCALE_NONE = 0,          /* P */
  WW_SCALE_TENSOR = 1,        /* scale_a[0] * scale_b[0] * P; grouped: one each per tensor or per group */
  WW_SCALE_ROW_COLUMN = 2,    /* (scale_a[m] * scale_b[n]) * P[m, n] */
  WW_SCALE_BLOCK = 3,         /* A per row and 128 of K, B per 128 x 128 */
  WW_SCALE_BLOCK_1D = 4,      /* A per row and 128 of K, B per row and 128 of K */
  WW_SCALE_BLOCK_SWAPPED = 5, /* WW_SCALE_BLOCK with A and B exchanged */
  WW_SCALE_MX = 6,            /* both per row and 32 of K, in e8m0 */
  WW_SCALE_NV = 7             /* both e2m1, per row and 16 of K, in e4m3, and one float for each operand */
};

typedef int32_t ww_scale_type; /* storage of scales, which the recipe decides: 0, or e8m0 with mx and e4m3 with nv */
enum { WW_SCALES_F32 = 0, WW_SCALES_E8M0 = 1, WW_SCALES_E4M3 = 2 };

typedef int32_t ww_major; /* the contiguous extent of an operand: K, or the other one (M of A, N of B) */
enum { WW_MAJOR_K = 0, WW_MAJOR_MN = 1 };

typedef int32_t ww_output_layout; /* a matrix is stored as (M, N), or as (N, M) */
enum { WW_ROWS = 0, WW_COLUMNS = 1 };

typedef int32_t ww_encoding; /* how int32 arrays on the device say which rows belong to which group; G groups, M rows */
enum {
  WW_OFFSETS = 0,       /* sizes[G]: ends of groups; a group starts at the previous end, rounded up to `alignment` */
  WW_INDPTR = 1,        /* sizes[G + 1]: group g is rows sizes[g] .. sizes[g + 1] */
  WW_STARTS_COUNTS = 2, /* sizes[G]: first rows, sizes2[G]: counts; in ascending order, gaps allowed */
  WW_ROW_IDS = 3,       /* sizes[M]: the group of every row, -1 for padding; the rows of a group are one run */
  WW_MASKED = 4         /* sizes[G]: rows used of each block of A [G, Mmax, K] */
};

typedef int32_t ww_k_packing; /* how a K-major operand holds groups of K */
enum {
  WW_K_JOINT = 0,    /* in the rows of one matrix, (M, K) or (N, K) */
  WW_K_PER_GROUP = 1 /* each group is a packed matrix of its own, (M, K of the group); these follow one another */
};

typedef int32_t ww_pdl; /* programmatic dependent launch: a kernel may start before its predecessor has ended */
enum { WW_PDL_AUTO = 0, WW_PDL_OFF = 1, WW_PDL_ON = 2 };

/* The order in which an emulated device completes work. Default: random; in checks fifo first, then all in turn. */
typedef int32_t ww_schedule;
enum { WW_SCHEDULE_DEFAULT = 0, WW_FIFO = 1, WW_RANDOM = 2, WW_PCT = 3, WW_ADVERSARIAL = 4 };

typedef int32_t ww_math; /* arithmetic of the emulated tensor core: bit-exact, one FMA after another, none */
enum { WW_MATH_EXACT = 0, WW_MATH_FP32_CHAIN = 1, WW_MATH_OFF = 2 };

typedef int32_t ww_operation; /* what a plan computes: ww_gemm() and its siblings */
enum {
  WW_GEMM = 1,           /* ww_gemm() */
  WW_GROUPED_GEMM = 2,   /* ww_grouped() */
  WW_K_GROUPED_GEMM = 3, /* ww_k_grouped() */
  WW_QUANTIZE = 4,       /* ww_quantize() */
  WW_TRANSPOSE = 5,      /* ww_transpose() */
  WW_PACK_SCALES = 6,    /* ww_pack_scales() */
  WW_MICROSCALE = 7      /* ww_microscale() */
};

/** Bits that a kernel with groups ORs into its status word. A group that breaks a rule is cut to rows that do not. */
enum {
  WW_GROUP_OVERRUN = 1,    /* a group ends after the last row, or starts below 0 */
  WW_GROUP_OVERLAP = 2,    /* a group starts before the one before it ends */
  WW_GROUP_BAD_ID = 4,     /* a row id outside -1 .. G - 1 */
  WW_GROUP_SCATTERED = 8,  /* the rows of a group are several runs; the first counts */
  WW_GROUP_MISALIGNED = 16 /* K groups of a K-major operand: not from and to a multiple of 128 */
};

/** Return the names used in configs, messages and JSON; null for a number that is no enumerator. */
WW_API const char* ww_dtype_name(ww_dtype type);
WW_API const char* ww_scale_name(ww_scale scale);
WW_API const char* ww_scale_type_name(ww_scale_type type);
WW_API const char* ww_encoding_name(ww_encoding encoding);
/** Returns the bytes of an element; 0 for types of 4 and 6 bits and for a number that is no enumerator. */
WW_API int32_t ww_dtype_bytes(ww_dtype type);

/* ---- Devices ---------------------------------------------------------------------------------------------------- */

typedef struct ww_device_handle* ww_device; /* an open device; see ww_device_open() */
typedef struct ww_plan_handle* ww_plan;     /* a compiled kernel and its launch; see ww_gemm_plan() */
typedef struct ww_report_handle* ww_report; /* text that a call made; see ww_report_text() */

/** How a device is opened. */
typedef struct ww_device_options {
  size_t struct_size;
  const char* cache_dir; /* null: WARPWRIGHT_CACHE_DIR, XDG_CACHE_HOME/warpwright, ~/.cache/warpwright */
  /* Of emulated devices. Results depend on all but emu_threads. */
  uint64_t emu_seed; /* of the schedule's random choices */
  ww_schedule emu_schedule;
  ww_math emu_math;
  int32_t emu_pct_depth; /* 0: 3 */
  int32_t emu_threads;   /* 0: one per core */
  int32_t emu_sms;       /* CTAs resident at once; 0: 4, or one cluster */
  int32_t emu_slow_cta;  /* number + 1 of a CTA that pauses before every tile; 0: none */
  /* Called after each compilation for this device, by a thread of the caller or of the library; may be null. */
  void (*on_compile)(void* context, const char* kernel, double seconds);
  void* context; /* passed to `on_compile` */
  /* File of measured choices, as `warpwright tune` writes it. Plans on this device follow it where their config is
   * open. Null: WARPWRIGHT_TUNING, or none; "none": none. */
  const char* tuning;
} ww_device_options;

/** Facts about a device. */
typedef struct ww_device_info {
  size_t struct_size;
  const char* name;             /* "emu:sm90", "cuda:0"; this and the next are valid until the device is closed */
  const char* description;      /* "NVIDIA H200, sm_90, 132 SMs, ..." */
  int32_t emulated;             /* not 0: kernels run on the CPU */
  int32_t arch;                 /* 90 or 100 */
  int32_t sms;                  /* CTAs that a persistent kernel launches by default */
  int32_t shared_bytes_per_cta; /* the most dynamic shared memory of a CTA */
  uint64_t memory_bytes;        /* device memory in all */
} ww_device_info;

/** What this device has done since it was opened, through this interface. */
typedef struct ww_counters {
  size_t struct_size;
  uint64_t launches;        /* runs that launched a kernel; runs without elements do not count */
  uint64_t plans;           /* plans made */
  uint64_t plan_cache_hits; /* of ww_gemm_cached() and its siblings */
  uint64_t kernels;         /* kernels that plans asked for and that this device had not loaded yet */
  uint64_t compiled;        /* those of them that a compiler had to make */
} ww_counters;

/** Opens the device `name`: "auto" (cuda:0 if there is one, else emu:sm90), "emu:sm90" or "cuda:<ordinal>". `options`
 * may be null. A CUDA device shares the primary context with the frameworks in this process. */
WW_API ww_status ww_device_open(const char* name, const ww_device_options* options, ww_device* device);
/** Closes a device. Its cached plans are freed; plans of ww_gemm_plan() and its siblings keep what they need. Memory of
 * ww_device_allocate() is freed. Null is ignored. */
WW_API ww_status ww_device_close(ww_device device);
/** Stores facts about the device, and what it has done. */
WW_API ww_status ww_device_get_info(ww_device device, ww_device_info* info);
WW_API ww_status ww_device_get_counters(ww_device device, ww_counters* counters);
/** Allocates device memory, uninitialised and 256-byte aligned. 0 bytes are a pointer to be freed too. */
WW_API ww_status ww_device_allocate(ww_device device, size_t bytes, void** memory);
/** Frees memory of ww_device_allocate() of this device. Null is ignored. */
WW_API ww_status ww_device_free(ww_device device, void* memory);
/** Copy `bytes` from `host_source` to `device_destination`, or from `device_source` to `host_destination`; the copy has
 * finished when the call returns. */
WW_API ww_status ww_device_upload(ww_device device, void* device_destination, const void* host_source, size_t bytes);
WW_API ww_status ww_device_download(ww_device device, void* host_destination, const void* device_source, size_t bytes);
/** Waits for a stream (CUstream; null: the default stream). Errors of kernels surface here. */
WW_API ww_status ww_device_synchronize(ww_device device, void* stream);
/** Stores 1 if the stream is capturing a graph, else 0; always 0 on an emulated device. */
WW_API ww_status ww_device_is_capturing(ww_device device, void* stream, int32_t* capturing);

/* ---- Problems --------------------------------------------------------------------------------------------------- */

/** D[M, N] = epilogue(scale (A[M, K] B[N, K]^T)), one product or `batch` of them. */
typedef struct ww_gemm_problem {
  size_t struct_size;
  int64_t m, n, k;                 /* extents */
  ww_dtype a_type, b_type, d_type; /* element types */
  ww_scale scale;                  /* the recipe by which products become D */
  ww_scale_type scale_type;
  ww_major a_major, b_major; /* WW_MAJOR_MN: A is stored as (K, M), B as (K, N); 16-bit and tf32 operands only */
  ww_output_layout d_layout; /* WW_COLUMNS: D is stored as (N, M) */
  ww_output_layout c_layout; /* of the epilogue's C, auxiliary matrices and stores */
  int32_t batched;           /* 0: one product, and fields from `batch` to `pointer_array` are not read */
  int64_t lda, ldb, ldd;     /* row strides as stored; 0: packed. Rows start at multiples of 16 bytes */
  /* Strides of scales; both 0 of an operand: packed row-major.
   *   WW_SCALE_ROW_COLUMN  scale_a[m * scale_a_row], scale_b[n * scale_b_n]
   *   WW_SCALE_BLOCK*      scale_a[m * scale_a_row + kb * scale_a_k], scale_b[nb * scale_b_n + kb * scale_b_k]
   * where kb = k / 128, and nb = n / 128 with WW_SCALE_BLOCK, n with WW_SCALE_BLOCK_1D. Those of WW_SCALE_MX and
   * WW_SCALE_NV are 0: their scales are bytes in chunks, as ww_microscale() stores them. Strides of packed types (4 and
   * 6 bits) count elements, and K and strides are multiples of 128, or of 32 for WW_E2M1 twice with mx or nv. */
  int64_t scale_a_row, scale_a_k, scale_b_n, scale_b_k;
  int64_t batch;                        /* number of products; may be 0 */
  int64_t batch_a, batch_b, batch_d;    /* elements between consecutive matrices; 0: all share one (D: packed) */
  int64_t batch_scale_a, batch_scale_b; /* elements (mx, nv: bytes) between consecutive scales; 0: all share them */
  int64_t pointer_array;                /* not 0: arrays of `batch` device pointers locate A, B, C and D */
  const char* epilogue;                 /* "silu(acc * alpha + bias)", see docs/api.md; null or "": D is the product */
} ww_gemm_problem;

/** D[r, :] = epilogue(scale (A[r, :] B[group of r]^T)): A [M, K], B [G, N, K], D [M, N]; WW_MASKED: A [G, Mmax, K]. The
 * device reads which rows belong to which group when the kernel runs; the host never does. */
typedef struct ww_grouped_problem {
  size_t struct_size;
  int64_t groups; /* G, at most 4096 */
  int64_t rows;   /* M; WW_MASKED: rows of one group, Mmax */
  int64_t n, k;
  ww_dtype a_type, b_type, d_type; /* element types */
  ww_scale scale;                  /* the recipe by which products become D */
  ww_scale_type scale_type;
  ww_encoding encoding;
  ww_major b_major;       /* WW_MAJOR_MN: B is stored as (G, K, N) */
  int32_t zero_outside;   /* not 0: rows of D outside every group are zeroed; else they are left alone */
  int64_t alignment;      /* WW_OFFSETS: of the start of each group; 0: 1 */
  int64_t lda, ldb, ldd;  /* row strides; 0: packed */
  int64_t stride_b_group; /* from B[g] to B[g + 1]; 0: packed */
  /* As in ww_gemm_problem, with a stride from group to group for WW_SCALE_TENSOR (0, 0: one for the whole tensor), for
   * scales of B, and with WW_MASKED for those of A (0: rows * scale_a_row). All 0: packed. */
  int64_t scale_a_row, scale_a_k, scale_a_group, scale_b_n, scale_b_k, scale_b_group;
  const char* epilogue; /* without reductions */
  /* Rows that the groups are likely to have, for the choice of a config alone: "340,377,12", one for each group, or
   * "64" for all of them. A run may have other sizes. Null: equal, uneven and partly empty
   * ones count, masked groups as half full. */
  const char* expected_sizes;
} ww_grouped_problem;

/** D[g] [M, N] = (C[g] +) scale (A_g B_g^T) for groups of K, the weight gradient of experts: A and B are stored as
 * (tokens, M) and (tokens, N), and group g is a range of tokens that only the device knows. */
typedef struct ww_k_grouped_problem {
  size_t struct_size;
  int64_t groups; /* G, at most 4096 */
  int64_t m, n;
  int64_t k;                       /* rows of A and B in memory, of all groups; WW_MASKED: of one group */
  ww_dtype a_type, b_type, d_type; /* element types */
  ww_scale scale;                  /* the recipe by which products become D */
  ww_scale_type scale_type;
  ww_encoding encoding;
  ww_major a_major, b_major; /* WW_MAJOR_MN as above. With WW_MAJOR_K, which FP8 requires on Hopper,
                              * or with scales along K, groups are multiples of 128 rows */
  int32_t accumulate;        /* not 0: D[g] = C[g] + product, where C has D's type and strides */
  ww_k_packing packing;      /* WW_K_PER_GROUP: k is a multiple of 128, and lda or ldb of K-major operands is 0 */
  int64_t alignment;         /* WW_OFFSETS: of the start of each group; 0: 1 */
  int64_t lda, ldb, ldd;     /* row strides as stored; 0: packed */
  int64_t stride_d_group;    /* from D[g] to D[g + 1]; 0: M * ldd */
  /* As in ww_gemm_problem; scales along K are indexed by the whole K. The group strides are those of
   * WW_SCALE_TENSOR and WW_SCALE_ROW_COLUMN; 0: all groups share one set. */
  int64_t scale_a_row, scale_a_k, scale_a_group, scale_b_n, scale_b_k, scale_b_group;
} ww_k_grouped_problem;

/** How a problem is to be solved; a null pointer chooses everything. */
typedef struct ww_options {
  size_t struct_size;
  const char* config;      /* "tile=128x128x128,cluster=2x1"; keys that are left out are chosen, and arch
                              is the device's */
  int64_t workspace_limit; /* bytes, of configs that are chosen; 0: 64 MiB; -1: none */
  int32_t sms;             /* upper limit of the CTAs launched; 0: as many as the device holds at once */
  ww_pdl pdl;              /* programmatic dependent launch */
  int32_t batch_invariant; /* not 0: a row's bits do not depend on M or on the number of SMs */
  int32_t reserved;        /* 0 */
} ww_options;

/* ---- Operands of a run ------------------------------------------------------------------------------------------ */

/** The scalars, vectors, matrices and outputs of an epilogue, of each kind. */
#define WW_EPILOGUE_SLOTS 4

/** Operands that the epilogue names. Strides of 0 between matrices of a batch: inputs are shared, outputs packed. */
typedef struct ww_epilogue_operands {
  size_t struct_size;
  uint32_t scalars_given;                         /* bit i: scalar[i] is used; otherwise it is 1 */
  uint32_t reserved;                              /* 0 */
  float scalar[WW_EPILOGUE_SLOTS];                /* alpha, beta, scalar2, scalar3 */
  const float* scalar_pointer[WW_EPILOGUE_SLOTS]; /* not null: a float on the device that replaces scalar[i] */
  const void* c;                                  /* (M, N); may be D if type and strides are D's */
  int64_t ldc;                                    /* row stride; 0: N */
  const void* row_vector[WW_EPILOGUE_SLOTS];      /* (N): bias = row0, row1, ... */
  const float* column_vector[WW_EPILOGUE_SLOTS];  /* (M) */
  const void* auxiliary[WW_EPILOGUE_SLOTS];       /* (M, N) */
  int64_t ld_auxiliary[WW_EPILOGUE_SLOTS];        /* 0: N */
  void* out[WW_EPILOGUE_SLOTS];                   /* store: (M, N); reductions: (M) or (N) floats */
  int64_t ld_out[WW_EPILOGUE_SLOTS];              /* 0: N */
  float* out_scales;                              /* quantise_block: (M, ceil(columns of D / 128)) */
  int64_t out_scales_row, out_scales_block;       /* strides; both 0: packed row-major */
  float* amax;                                    /* quantise: one float */
  /* Strides between the matrices of a batch, of the operands above. */
  int64_t batch_scalar[WW_EPILOGUE_SLOTS];
  int64_t batch_c;
  int64_t batch_row_vector[WW_EPILOGUE_SLOTS], batch_column_vector[WW_EPILOGUE_SLOTS];
  int64_t batch_auxiliary[WW_EPILOGUE_SLOTS], batch_out[WW_EPILOGUE_SLOTS];
  int64_t batch_out_scales, batch_amax;
  /* quantise_mx, quantise_nv: scales of D in chunks of 512 bytes, a multiple of 16 bytes, where ww_gemm_problem and
   * ww_grouped_problem have those of A; and the bytes between the matrices of a batch, 0: packed. */
  void* out_scale_chunks;
  int64_t batch_out_scale_chunks;
} ww_epilogue_operands;

/** Device pointers of a run. A, B, D and matrices of the epilogue are multiples of 16 bytes (A and B of 32 where TMA
 * widens types of 4 and 6 bits: all but e2m1 twice with mx or nv), the workspace of 256. The workspace holds
 * ww_plan_workspace_bytes() bytes, is zeroed once before its first use and again after a failed run, belongs to one
 * plan and serves one run at a time. */
typedef struct ww_gemm_operands {
  size_t struct_size;
  const void* a;
  const void* b;
  void* d;
  const void* scale_a;       /* of the problem's scale_type */
  const void* scale_b;       /* likewise */
  const float* global_scale; /* WW_SCALE_NV: one more factor of every product; null: 1 */
  void* workspace;
  size_t workspace_bytes;               /* of `workspace` */
  const ww_epilogue_operands* epilogue; /* null if the epilogue names no operand */
  /* With pointer_array: arrays in device memory that replace a, b, c and d. */
  const void* const* a_pointers;
  const void* const* b_pointers;
  const void* const* c_pointers;
  void* const* d_pointers;
} ww_gemm_operands;

/** Device pointers of a run with groups of rows. */
typedef struct ww_grouped_operands {
  size_t struct_size;
  /* As in ww_gemm_operands. */
  const void* a;
  const void* b;
  void* d;
  const void* scale_a;
  const void* scale_b;
  const float* global_scale;
  void* workspace;
  size_t workspace_bytes;
  const ww_epilogue_operands* epilogue; /* batch strides are strides from group to group of scalars and row vectors */
  /* Arrays on the device; see ww_encoding. */
  const int32_t* sizes;
  const int32_t* sizes2;
  uint32_t* status; /* null, or a word on the device into which WW_GROUP_* bits are ORed */
} ww_grouped_operands;

/** Device pointers of a run with groups of K. */
typedef struct ww_k_grouped_operands {
  size_t struct_size;
  /* As in ww_gemm_operands. */
  const void* a;
  const void* b;
  void* d;
  const void* scale_a;
  const void* scale_b;
  const float* global_scale;
  void* workspace;        /* in any state; only WW_K_PER_GROUP needs one */
  size_t workspace_bytes; /* ww_plan_workspace_bytes() */
  const void* c;          /* with `accumulate`: null or `d` to add in place, else matrices that do not overlap D */
  /* Arrays on the device; see ww_encoding. */
  const int32_t* sizes;
  const int32_t* sizes2;
  uint32_t* status; /* null, or a word on the device into which WW_GROUP_* bits are ORed */
} ww_k_grouped_operands;

/* ---- Plans and runs --------------------------------------------------------------------------------------------- */

/** Return WW_OK if the library can run the problem, else the reason. They need no device: the architecture is sm90, or
 * that of the options' config, such as "arch=sm100". */
WW_API ww_status ww_gemm_can_implement(const ww_gemm_problem* problem, const ww_options* options);
WW_API ww_status ww_grouped_can_implement(const ww_grouped_problem* problem, const ww_options* options);
WW_API ww_status ww_k_grouped_can_implement(const ww_k_grouped_problem* problem, const ww_options* options);

/** Make a plan: choose a config, compile or load its kernel. Takes up to seconds if the kernel is not in the cache, and
 * must not be called while the calling thread captures a graph. Free it with ww_plan_free(). */
WW_API ww_status ww_gemm_plan(ww_device device, const ww_gemm_problem* problem, const ww_options* options,
                              ww_plan* plan);
WW_API ww_status ww_grouped_plan(ww_device device, const ww_grouped_problem* problem, const ww_options* options,
                                 ww_plan* plan);
WW_API ww_status ww_k_grouped_plan(ww_device device, const ww_k_grouped_problem* problem, const ww_options* options,
                                   ww_plan* plan);

/** Find the plan of an equal problem and equal options in the device's cache, in about 0.1 us and without a lock, or
 * make it. `stream` is the one of the coming run: if there is no such plan and the stream is capturing, the result is
 * WW_UNDER_CAPTURE. The device owns the plan; ww_plan_free() refuses it. The cache holds 16,384 plans; a plan that is
 * evicted for another is refused like a freed one. */
WW_API ww_status ww_gemm_cached(ww_device device, const ww_gemm_problem* problem, const ww_options* options,
                                void* stream, ww_plan* plan);
WW_API ww_status ww_grouped_cached(ww_device device, const ww_grouped_problem* problem, const ww_options* options,
                                   void* stream, ww_plan* plan);
WW_API ww_status ww_k_grouped_cached(ww_device device, const ww_k_grouped_problem* problem, const ww_options* options,
                                     void* stream, ww_plan* plan);

/** Enqueue one run on `stream` (CUstream; null: the default stream; an emulated device runs at once). Pointers are
 * checked: none is null or misaligned, and D, other outputs, workspace and status share no byte with another operand,
 * except with a C that is D. Matrices of pointer arrays are not compared. Nothing is allocated, and nothing waits. */
WW_API ww_status ww_gemm_run(ww_plan plan, const ww_gemm_operands* operands, void* stream);
WW_API ww_status ww_grouped_run(ww_plan plan, const ww_grouped_operands* operands, void* stream);
WW_API ww_status ww_k_grouped_run(ww_plan plan, const ww_k_grouped_operands* operands, void* stream);

/** Find or make the plan and enqueue one run on `stream`: ww_gemm_cached() and ww_gemm_run(), or their siblings, in one
 * call. */
WW_API ww_status ww_gemm(ww_device device, const ww_gemm_problem* problem, const ww_options* options,
                         const ww_gemm_operands* operands, void* stream);
WW_API ww_status ww_grouped(ww_device device, const ww_grouped_problem* problem, const ww_options* options,
                            const ww_grouped_operands* operands, void* stream);
WW_API ww_status ww_k_grouped(ww_device device, const ww_k_grouped_problem* problem, const ww_options* options,
                              const ww_k_grouped_operands* operands, void* stream);

/** Stores the bytes of workspace that every run of the plan needs; 0: none. */
WW_API ww_status ww_plan_workspace_bytes(ww_plan plan, size_t* bytes);
/** Stores the resolved config as text, from which `ww_options::config` makes the same plan. Valid while the plan is. */
WW_API ww_status ww_plan_config(ww_plan plan, const char** config);
/** Stores which operation the plan is of. */
WW_API ww_status ww_plan_operation(ww_plan plan, ww_operation* operation);
/** Makes a JSON report of this thread's last run on the plan's emulated device: {"seconds": .., "tma_loads": ..,
 * "l2_read_bytes": {"a": ..}, ..}. WW_UNSUPPORTED on a GPU. */
WW_API ww_status ww_plan_stats(ww_plan plan, ww_report* report);
/** Frees a plan of ww_gemm_plan() or its siblings. Null is ignored. A run that is going on in another thread ends
 * first. */
WW_API ww_status ww_plan_free(ww_plan plan);

/** How many tiles of a launch had one token width. */
typedef struct ww_tile_width {
  int32_t width;   /* rows of tokens of a tile */
  int32_t swapped; /* 1: weights on the M side of the instruction */
  uint64_t tiles;  /* of one launch */
} ww_tile_width;

/** Copies the token widths of the last finished run with `workspace` into `widths`, at most `capacity` of them, and
 * stores in `count` how many there are. Only the ragged variant records them; of others there are none. */
WW_API ww_status ww_grouped_widths(ww_plan plan, const void* workspace, ww_tile_width* widths, size_t capacity,
                                   size_t* count);

/* ---- Reports ---------------------------------------------------------------------------------------------------- */

/** Returns the JSON of a report, null-terminated, and stores its length if `length` is not null; null for a handle
 * that is no report. Valid until ww_report_free(). */
WW_API const char* ww_report_text(ww_report report, size_t* length);
/** Frees a report. Null is ignored. */
WW_API ww_status ww_report_free(ww_report report);

/** Explain the choice of a config: {"chosen", "because", "ranking", "excluded", ..} with the modelled time of every
 * candidate, term by term. Nothing is compiled. A null device: an H200 with all its SMs. */
WW_API ww_status ww_gemm_explain(ww_device device, const ww_gemm_problem* problem, const ww_options* options,
                                 ww_report* report);
WW_API ww_status ww_grouped_explain(ww_device device, const ww_grouped_problem* problem, const ww_options* options,
                                    ww_report* report);
WW_API ww_status ww_k_grouped_explain(ww_device device, const ww_k_grouped_problem* problem, const ww_options* options,
                                      ww_report* report);
/** List the configs that can solve a problem, best first: {"configs": ["tile=..", ..]}. Devices as above. */
WW_API ww_status ww_gemm_configs(ww_device device, const ww_gemm_problem* problem, const ww_options* options,
                                 ww_report* report);
WW_API ww_status ww_grouped_configs(ww_device device, const ww_grouped_problem* problem, const ww_options* options,
                                    ww_report* report);
WW_API ww_status ww_k_grouped_configs(ww_device device, const ww_k_grouped_problem* problem, const ww_options* options,
                                      ww_report* report);

/* ---- Compiling ahead -------------------------------------------------------------------------------------------- */

/** One problem that kernels are compiled for. */
typedef struct ww_prepare_case {
  size_t struct_size;
  /* One of the three or `kernel`; the others are null. */
  const ww_gemm_problem* gemm;
  const ww_grouped_problem* grouped;
  const ww_k_grouped_problem* k_grouped;
  const ww_options* options; /* null: the defaults; not used for `kernel` */
  const char* kernel; /* a config, or a cast, transpose or packing as docs/command-line.md has it: "quantize=1x128" */
} ww_prepare_case;

/** One kernel that is ready, or that failed (`error` is not null). Strings are valid during the call. */
typedef struct ww_prepared {
  size_t struct_size;
  size_t done, of;    /* kernels that are ready or failed, and all */
  const char* config; /* what was compiled, as text */
  double seconds;     /* to compile or load it */
  const char* error;  /* null, or the message */
} ww_prepared;

/** How kernels are compiled ahead. */
typedef struct ww_prepare_options {
  size_t struct_size;
  int32_t threads;                                            /* 0: one per core */
  int32_t reserved;                                           /* 0 */
  void (*progress)(void* context, const ww_prepared* kernel); /* one call at a time, from any thread; may be null */
  void* context;                                              /* passed to `progress` */
} ww_prepare_options;

/** Compiles every kernel that the `count` cases need, once each, into the device's cache. `options` and `report` may be
 * null; the report is {"kernels": [{"config", "cases", "seconds", "error"}], "failed": .., "seconds": ..}. If a kernel
 * could not be made, the result is the status of the first such failure, and the report is made all the same. */
WW_API ww_status ww_prepare(ww_device device, const ww_prepare_case* cases, size_t count,
                            const ww_prepare_options* options, ww_report* report);

#ifdef __cplusplus
}
#endif

#include "warpwright/check.h"    /* comparisons with FP64, and the checker */
#include "warpwright/quantize.h" /* casts to FP8, transposes */

#endif /* WARPWRIGHT_WARPWRIGHT_H */
