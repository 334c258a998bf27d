// SPDX-License-Identifier: Apache-2.0
/* Comparisons of results with FP64, and the checker, which runs kernels under many schedules of an emulated device. A
 * part of warpwright.h, which documents the conventions. */
#ifndef WARPWRIGHT_CHECK_H
#define WARPWRIGHT_CHECK_H

#ifndef WARPWRIGHT_WARPWRIGHT_H
#error "include <warpwright/warpwright.h>"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Verification ------------------------------------------------------------------------------------------------ */

/** One element of an output. */
typedef struct ww_element {
  char tensor[16];              /* "D", "out0" */
  int64_t product, row, column; /* its matrix in the batch or its group, and its place there */
  double got, expected;         /* the value of the run, and that of FP64 */
  double bound;                 /* the largest difference that the arithmetic allows */
} ww_element;

/** The outcome of a comparison. */
typedef struct ww_verification {
  size_t struct_size;
  int64_t elements;          /* compared */
  int64_t wrong;             /* outside their bounds */
  double max_error;          /* the largest finite |got - expected| */
  double max_error_of_bound; /* the largest |got - expected| / bound; above 1 is wrong */
  ww_element first;          /* the first wrong one, if there is one */
  ww_element worst;          /* the one of max_error */
} ww_verification;

/** Judge the results of a run against FP64, each element by its own bound. All pointers are host memory. WW_OK says
 * that the comparison was made; `verification->wrong` how it ended. The bound is Hopper's, which is wider than
 * Blackwell's where both multiply a type. */
WW_API ww_status ww_gemm_verify(const ww_gemm_problem* problem, const ww_gemm_operands* operands, ww_math math,
                                ww_verification* verification);
WW_API ww_status ww_grouped_verify(const ww_grouped_problem* problem, const ww_grouped_operands* operands, ww_math math,
                                   ww_verification* verification);
WW_API ww_status ww_k_grouped_verify(const ww_k_grouped_problem* problem, const ww_k_grouped_operands* operands,
                                     ww_math math, ww_verification* verification);

/* ---- Checks ------------------------------------------------------------------------------------------------------ */

typedef int32_t ww_verdict; /* of a campaign of the checker; incomplete: something was not looked at */
enum { WW_CLEAN = 1, WW_FINDINGS = 2, WW_INCOMPLETE = 3 };

/** Returns the name of the checker's rule number `index`, counted from 0; null after the last. */
WW_API const char* ww_rule_name(int32_t index);

/** How a campaign of the checker is run. */
typedef struct ww_check_options {
  size_t struct_size;
  int64_t schedules;     /* 0: 200 */
  uint64_t seed;         /* schedule i has seed + i */
  double seconds;        /* no schedule starts later; 0: 60 */
  ww_schedule only;      /* one kind; default: fifo first, then the others in turn */
  ww_math math;          /* of the emulated device */
  int32_t processes;     /* 0: one per core */
  int32_t pct_depth;     /* 0: 3 */
  int32_t no_shrink;     /* not 0: findings are not made smaller */
  int32_t traffic;       /* not 0: count bytes and bank conflicts of the first schedule */
  const char* cache_dir; /* as in ww_device_options */
  const char* worker;    /* the program warpwright-check-worker; null: WARPWRIGHT_CHECK_WORKER, else the package's */
  void (*progress)(void* context, const char* phase, double fraction); /* "compile", "check", "shrink"; may be null */
  int32_t (*stop)(void* context); /* called as often; not 0 ends the campaign with what it has; may be null */
  void* context;                  /* passed to `progress` and `stop` */
  const char *relaxed, *strict;   /* strict rules to switch off or on: "NAME,NAME"; null: none */
  int32_t launches;               /* of each schedule, in one workspace; 0: the usual number */
  int32_t verify;                 /* not 0: compare the values of every launch with FP64 */
} ww_check_options;

/** How the groups of a check lie: counts of rows, or the arrays that the device reads. */
typedef struct ww_check_groups {
  size_t struct_size;
  const int64_t* counts; /* [G]: rows of each group; null: sizes */
  int64_t gap;           /* rows between groups, with counts; WW_STARTS_COUNTS and WW_ROW_IDS only */
  const int32_t* sizes;  /* as the operands have them, in host memory */
  const int32_t* sizes2; /* likewise */
} ww_check_groups;

/** A kernel of your own: docs/checking-kernels.md. */
typedef struct ww_kernel_source {
  size_t struct_size;
  const char* source; /* the file; when `text` is given, only its name in findings */
  const char* text;   /* the header itself, or null */
  const char* entry;  /* the name that WW_KERNEL gives the kernel */
  const char* launch; /* "grid=8,cluster=2,threads=384,shared=65536,buffer=1048576,int=3" */
  int32_t sms;        /* SMs of the emulated device, 1 to 132, which limit how many clusters are resident; 0: 4 */
} ww_kernel_source;

/** Run a kernel under many schedules of the emulated device and report every rule that it broke as JSON: {"verdict",
 * "findings", "schedules", ..}, where rules are named as by ww_rule_name(). WW_OK says that the campaign ran. Kernels
 * run in worker processes. `options` and `check` may be null. */
WW_API ww_status ww_gemm_check(const ww_gemm_problem* problem, const ww_options* options, const ww_check_options* check,
                               ww_verdict* verdict, ww_report* report);
WW_API ww_status ww_grouped_check(const ww_grouped_problem* problem, const ww_check_groups* groups,
                                  const ww_options* options, const ww_check_options* check, ww_verdict* verdict,
                                  ww_report* report);
WW_API ww_status ww_k_grouped_check(const ww_k_grouped_problem* problem, const ww_check_groups* groups,
                                    const ww_options* options, const ww_check_options* check, ww_verdict* verdict,
                                    ww_report* report);
WW_API ww_status ww_kernel_check(const ww_kernel_source* kernel, const ww_check_options* check, ww_verdict* verdict,
                                 ww_report* report);

#ifdef __cplusplus
}
#endif
#endif /* WARPWRIGHT_CHECK_H */
