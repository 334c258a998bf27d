// SPDX-License-Identifier: Apache-2.0
/* The rules that every function of the C interface keeps: sizes of structures, parts of errors, numbers, handles that
 * were freed or made up, threads, children of a fork. */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "expect.h"

static ww_gemm_problem small_problem(void) {
  ww_gemm_problem problem = {sizeof problem};
  problem.m = problem.n = 64, problem.k = 128;
  problem.a_type = problem.b_type = WW_BF16, problem.d_type = WW_BF16;
  return problem;
}

static void errors(void) {
  ww_gemm_problem problem = small_problem();
  problem.k = 100;
  EXPECT_REFUSED(WW_UNSUPPORTED, "k", ww_gemm_can_implement(&problem, NULL));
  EXPECT(*ww_error_expected() != '\0' && *ww_error_actual() != '\0');
  EXPECT(strstr(ww_error_message(), ww_error_expected()) != NULL);
  problem = small_problem();
  problem.m = -1;
  EXPECT_REFUSED(WW_INVALID, "m", ww_gemm_can_implement(&problem, NULL));
  EXPECT(strcmp(ww_error_actual(), "-1") == 0);
  problem = small_problem();
  problem.epilogue = "silu(acc";
  EXPECT_REFUSED(WW_INVALID, "epilogue", ww_gemm_can_implement(&problem, NULL));
  problem = small_problem();
  ww_options options = {sizeof options};
  options.config = "tile=1x2x3";
  EXPECT_REFUSED(WW_UNSUPPORTED, "tile", ww_gemm_can_implement(&problem, &options));
  options.config = "colour=red";
  EXPECT_REFUSED(WW_INVALID, "config", ww_gemm_can_implement(&problem, &options));
  EXPECT_REFUSED(WW_INVALID, "problem", ww_gemm_can_implement(NULL, NULL));
  ww_device device = NULL;
  EXPECT_REFUSED(WW_INVALID, "device", ww_device_open("gpu", NULL, &device));
  EXPECT_REFUSED(WW_INVALID, "name", ww_device_open(NULL, NULL, &device));
  EXPECT_REFUSED(WW_INVALID, "device", ww_device_open("emu:sm90", NULL, NULL));
  EXPECT(strcmp(ww_status_name(WW_UNDER_CAPTURE), "under capture") == 0);
}

static void numbers(void) {
  ww_gemm_problem problem = small_problem();
  problem.a_type = 0; /* there is no default */
  EXPECT_REFUSED(WW_INVALID, "a_type", ww_gemm_can_implement(&problem, NULL));
  problem.a_type = 77;
  EXPECT_REFUSED(WW_INVALID, "a_type", ww_gemm_can_implement(&problem, NULL));
  EXPECT(strcmp(ww_error_actual(), "77") == 0);
  problem = small_problem();
  problem.scale = -1;
  EXPECT_REFUSED(WW_INVALID, "scale", ww_gemm_can_implement(&problem, NULL));
  problem = small_problem();
  problem.scale_type = WW_SCALES_E8M0;
  problem.scale = WW_SCALE_TENSOR;
  EXPECT_REFUSED(WW_UNSUPPORTED, "scale_type", ww_gemm_can_implement(&problem, NULL));
  problem = small_problem();
  problem.a_major = 2;
  EXPECT_REFUSED(WW_INVALID, "a_major", ww_gemm_can_implement(&problem, NULL));
  ww_options options = {sizeof options};
  options.pdl = 3;
  problem = small_problem();
  EXPECT_REFUSED(WW_INVALID, "pdl", ww_gemm_can_implement(&problem, &options));
  options.pdl = WW_PDL_OFF, options.reserved = 1;
  EXPECT_REFUSED(WW_INVALID, "reserved", ww_gemm_can_implement(&problem, &options));

  static const char* const kDtypes[] = {"e4m3", "e5m2", "bf16", "f16", "f32", "tf32", "e2m1", "e3m2", "e2m3", "e8m0"};
  for (int i = 0; i < 10; ++i) EXPECT(strcmp(ww_dtype_name(WW_E4M3 + i), kDtypes[i]) == 0);
  EXPECT(ww_dtype_name(0) == NULL && ww_dtype_name(11) == NULL);
  EXPECT(ww_dtype_bytes(WW_E4M3) == 1 && ww_dtype_bytes(WW_F16) == 2 && ww_dtype_bytes(WW_TF32) == 4);
  EXPECT(ww_dtype_bytes(WW_E2M1) == 0 && ww_dtype_bytes(WW_E3M2) == 0 && ww_dtype_bytes(WW_E8M0) == 1);
  EXPECT(strcmp(ww_scale_name(WW_SCALE_BLOCK), "block") == 0 && ww_scale_name(8) == NULL &&
         strcmp(ww_scale_name(WW_SCALE_NV), "nv") == 0);
  EXPECT(strcmp(ww_encoding_name(WW_MASKED), "masked") == 0 && strcmp(ww_scale_type_name(0), "f32") == 0);
  int rules = 0;
  while (ww_rule_name(rules) != NULL) ++rules;
  EXPECT(rules == 23 && ww_rule_name(-1) == NULL);
}

/* A caller that was compiled with a shorter structure, and one with a longer. */
static void sizes(void) {
  ww_gemm_problem problem = small_problem();
  memset((char*)&problem + offsetof(ww_gemm_problem, lda), 0xff, sizeof problem - offsetof(ww_gemm_problem, lda));
  problem.struct_size = offsetof(ww_gemm_problem, lda);
  EXPECT_OK(ww_gemm_can_implement(&problem, NULL)); /* what it does not know is not read */
  problem.struct_size -= 4;                         /* would cut a field in two */
  EXPECT_REFUSED(WW_INVALID, "struct_size", ww_gemm_can_implement(&problem, NULL));
  problem.struct_size = 0;
  EXPECT_REFUSED(WW_INVALID, "struct_size", ww_gemm_can_implement(&problem, NULL));
  problem.struct_size = (size_t)-1;
  EXPECT_REFUSED(WW_INVALID, "struct_size", ww_gemm_can_implement(&problem, NULL));
  problem.struct_size = sizeof(size_t); /* everything is left at its default, and the types have none */
  EXPECT_REFUSED(WW_INVALID, "a_type", ww_gemm_can_implement(&problem, NULL));

  struct {
    ww_gemm_problem known;
    int64_t added;
  } newer = {small_problem(), 0};
  newer.known.struct_size = sizeof newer;
  EXPECT_OK(ww_gemm_can_implement(&newer.known, NULL));
  newer.added = 1;
  EXPECT_REFUSED(WW_UNSUPPORTED, "struct_size", ww_gemm_can_implement(&newer.known, NULL));

  /* Results are written as far as the caller knows the structure. */
  ww_device device = NULL;
  EXPECT_OK(ww_device_open("emu:sm90", NULL, &device));
  ww_device_info info;
  memset(&info, 0x5a, sizeof info);
  info.struct_size = offsetof(ww_device_info, sms);
  EXPECT_OK(ww_device_get_info(device, &info));
  EXPECT(info.arch == 90 && info.sms == 0x5a5a5a5a);
  info.struct_size = 4;
  EXPECT_REFUSED(WW_INVALID, "info", ww_device_get_info(device, &info));
  EXPECT_OK(ww_device_close(device));
}

static void handles(void) {
  ww_device device = NULL, other = NULL;
  EXPECT_OK(ww_device_open("emu:sm90", NULL, &device));
  EXPECT_OK(ww_device_open("emu:sm90", NULL, &other));
  ww_gemm_problem problem = small_problem();
  ww_plan plan = NULL, cached = NULL;
  EXPECT_OK(ww_gemm_plan(device, &problem, NULL, &plan));
  EXPECT_OK(ww_gemm_cached(device, &problem, NULL, NULL, &cached));

  ww_gemm_operands operands = {sizeof operands};
  ww_grouped_operands groups = {sizeof groups};
  EXPECT_REFUSED(WW_INVALID, "d", ww_gemm_run(plan, &operands, NULL));
  EXPECT_REFUSED(WW_INVALID, "operands", ww_gemm_run(plan, NULL, NULL));
  EXPECT_REFUSED(WW_INVALID, "plan", ww_grouped_run(plan, &groups, NULL)); /* of another operation */
  EXPECT_REFUSED(WW_INVALID, "plan", ww_gemm_run((ww_plan)(void*)device, &operands, NULL));
  EXPECT_REFUSED(WW_INVALID, "plan", ww_gemm_run((ww_plan)(void*)&operands, &operands, NULL));
  EXPECT_REFUSED(WW_INVALID, "plan", ww_gemm_run(NULL, &operands, NULL));
  EXPECT_REFUSED(WW_INVALID, "device", ww_gemm_plan((ww_device)(void*)plan, &problem, NULL, &cached));
  EXPECT(cached == NULL); /* a failure leaves no old handle */
  EXPECT_OK(ww_gemm_cached(device, &problem, NULL, NULL, &cached));

  const char* config = NULL;
  EXPECT_OK(ww_plan_free(plan));
  EXPECT_REFUSED(WW_INVALID, "plan", ww_gemm_run(plan, &operands, NULL));
  EXPECT_REFUSED(WW_INVALID, "plan", ww_plan_free(plan));
  EXPECT_REFUSED(WW_INVALID, "plan", ww_plan_config(plan, &config));
  ww_plan reused = NULL; /* takes the slot of the freed one, with another handle */
  EXPECT_OK(ww_gemm_plan(device, &problem, NULL, &reused));
  EXPECT(reused != plan);
  EXPECT_REFUSED(WW_INVALID, "plan", ww_plan_free(plan));
  EXPECT_OK(ww_plan_free(NULL));

  void* memory = NULL;
  EXPECT_OK(ww_device_allocate(device, 100, &memory));
  EXPECT((uintptr_t)memory % 256 == 0);
  EXPECT_REFUSED(WW_INVALID, "memory", ww_device_free(other, memory)); /* of another device */
  EXPECT_OK(ww_device_free(device, memory));
  EXPECT_REFUSED(WW_INVALID, "memory", ww_device_free(device, memory));
  EXPECT_REFUSED(WW_COULD_NOT_FINISH, "bytes", ww_device_allocate(device, (size_t)1 << 60, &memory));
  EXPECT_REFUSED(WW_INVALID, "destination", ww_device_upload(device, NULL, &operands, 8));

  /* A plan outlives its device; plans of the cache do not. */
  EXPECT_OK(ww_device_close(device));
  EXPECT_REFUSED(WW_INVALID, "device", ww_device_close(device));
  EXPECT_REFUSED(WW_INVALID, "plan", ww_plan_config(cached, &config));
  EXPECT_OK(ww_plan_config(reused, &config));
  EXPECT_OK(ww_plan_free(reused));
  EXPECT_OK(ww_device_close(other));
  EXPECT_OK(ww_device_close(NULL));
}

/* Runs a plan until it is freed, and counts what else happens. */
typedef struct {
  ww_plan plan;
  ww_gemm_operands operands;
  int runs, surprises;
} Runner;

static void* run_until_freed(void* argument) {
  Runner* const runner = argument;
  for (;;) {
    const ww_status status = ww_gemm_run(runner->plan, &runner->operands, NULL);
    if (status == WW_OK) ++runner->runs;
    if (status == WW_INVALID && strcmp(ww_error_argument(), "plan") == 0) return NULL;
    if (status != WW_OK && ++runner->surprises > 0) return NULL;
  }
}

static void threads(void) {
  ww_device device = NULL;
  EXPECT_OK(ww_device_open("emu:sm90", NULL, &device));
  ww_gemm_problem problem = small_problem();
  enum { kThreads = 3 };
  Runner runners[kThreads];
  pthread_t thread[kThreads];
  ww_plan plan = NULL;
  EXPECT_OK(ww_gemm_plan(device, &problem, NULL, &plan));
  for (int i = 0; i < kThreads; ++i) {
    Runner* const r = &runners[i];
    memset(r, 0, sizeof *r);
    r->plan = plan, r->operands.struct_size = sizeof r->operands;
    r->operands.a = on_device(device, NULL, 64 * 128 * 2);
    r->operands.b = on_device(device, NULL, 64 * 128 * 2);
    r->operands.d = on_device(device, NULL, 64 * 64 * 2);
    EXPECT_OK(ww_plan_workspace_bytes(plan, &r->operands.workspace_bytes));
    r->operands.workspace = on_device(device, NULL, r->operands.workspace_bytes);
  }
  for (int i = 0; i < kThreads; ++i) pthread_create(&thread[i], NULL, run_until_freed, &runners[i]);
  usleep(100000);
  EXPECT_OK(ww_plan_free(plan)); /* while it runs */
  for (int i = 0; i < kThreads; ++i) {
    pthread_join(thread[i], NULL);
    EXPECT(runners[i].runs > 0 && runners[i].surprises == 0);
  }
  EXPECT_REFUSED(WW_INVALID, "plan", ww_plan_free(plan));
  EXPECT(ww_error_status() == WW_INVALID);
  EXPECT_OK(ww_device_close(device));
}

/* A plan for each of more problems than the cache holds. */
static void many_plans(void) {
  enum { kProblems = 20000, kRoom = 16384 };
  static ww_plan plans[kProblems];
  ww_device device = NULL;
  EXPECT_OK(ww_device_open("emu:sm90", NULL, &device));
  ww_gemm_problem problem = small_problem();
  for (int i = 0; i < kProblems; ++i) {
    problem.m = 1 + i;
    EXPECT_OK(ww_gemm_cached(device, &problem, NULL, NULL, &plans[i]));
  }
  const char* config = NULL;
  int kept = 0, last = -1, evicted = -1;
  for (int i = 0; i < kProblems; ++i)
    if (ww_plan_config(plans[i], &config) == WW_OK) ++kept, last = i;
    else evicted = i;
  EXPECT(kept > kRoom / 2 && kept <= kRoom && evicted >= 0);
  ww_plan again = NULL;
  problem.m = 1 + last;
  EXPECT_OK(ww_gemm_cached(device, &problem, NULL, NULL, &again));
  EXPECT(again == plans[last]);
  problem.m = 1 + evicted; /* is made once more, with another handle */
  EXPECT_OK(ww_gemm_cached(device, &problem, NULL, NULL, &again));
  EXPECT(again != plans[evicted]);
  EXPECT_OK(ww_plan_config(again, &config));
  EXPECT_REFUSED(WW_INVALID, "plan", ww_plan_config(plans[evicted], &config));
  EXPECT_OK(ww_device_close(device));
}

/* Several threads make and find the plans of one cache. */
static void* find_plans(void* argument) {
  ww_device const device = argument;
  ww_gemm_problem problem = small_problem();
  uintptr_t wrong = 0;
  for (int i = 0; i < 3000; ++i) {
    problem.m = 1 + i % 300;
    ww_plan plan = NULL, again = NULL;
    wrong += ww_gemm_cached(device, &problem, NULL, NULL, &plan) != WW_OK;
    wrong += ww_gemm_cached(device, &problem, NULL, NULL, &again) != WW_OK || plan != again;
  }
  return (void*)wrong;
}

static void cache_of_threads(void) {
  enum { kThreads = 4 };
  ww_device device = NULL;
  EXPECT_OK(ww_device_open("emu:sm90", NULL, &device));
  pthread_t thread[kThreads];
  for (int i = 0; i < kThreads; ++i) pthread_create(&thread[i], NULL, find_plans, device);
  for (int i = 0; i < kThreads; ++i) {
    void* wrong = NULL;
    pthread_join(thread[i], &wrong);
    EXPECT(wrong == NULL);
  }
  ww_counters counters = {sizeof counters};
  EXPECT_OK(ww_device_get_counters(device, &counters));
  EXPECT(counters.plans >= 300 && counters.plan_cache_hits >= kThreads * (2 * 3000 - 300));
  EXPECT_OK(ww_device_close(device));
}

static void* read_error(void* argument) {
  *(int*)argument = ww_error_status() == WW_OK && *ww_error_message() == '\0';
  return NULL;
}

static void error_of_thread(void) {
  EXPECT_REFUSED(WW_INVALID, "problem", ww_gemm_can_implement(NULL, NULL));
  pthread_t thread;
  int untouched = 0;
  pthread_create(&thread, NULL, read_error, &untouched);
  pthread_join(thread, NULL);
  EXPECT(untouched);
}

static void forks(void) {
  ww_device device = NULL;
  ww_gemm_problem problem = small_problem();
  ww_plan plan = NULL;
  EXPECT_OK(ww_device_open("emu:sm90", NULL, &device));
  EXPECT_OK(ww_gemm_plan(device, &problem, NULL, &plan));
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    failures = 0;
    ww_gemm_operands operands = {sizeof operands};
    ww_device_info info = {sizeof info};
    EXPECT_REFUSED(WW_FORKED, "device", ww_device_get_info(device, &info));
    EXPECT_REFUSED(WW_FORKED, "plan", ww_gemm_run(plan, &operands, NULL));
    EXPECT_REFUSED(WW_FORKED, "device", ww_gemm(device, &problem, NULL, &operands, NULL));
    EXPECT_OK(ww_plan_free(plan));
    EXPECT_OK(ww_device_close(device));
    EXPECT_OK(ww_device_open("emu:sm90", NULL, &device)); /* its own */
    EXPECT_OK(ww_gemm_plan(device, &problem, NULL, &plan));
    EXPECT_OK(ww_plan_free(plan));
    EXPECT_OK(ww_device_close(device));
    fflush(stdout);
    _exit(failures == 0 ? 0 : 1);
  }
  int status = 1;
  EXPECT(waitpid(child, &status, 0) == child && status == 0);
  const char* config = NULL;
  EXPECT_OK(ww_plan_config(plan, &config)); /* the parent's handles are as they were */
  EXPECT_OK(ww_plan_free(plan));
  EXPECT_OK(ww_device_close(device));
}

int main(void) {
  EXPECT(ww_error_status() == WW_OK && *ww_error_message() == '\0');
  errors();
  numbers();
  sizes();
  handles();
  threads();
  many_plans();
  cache_of_threads();
  error_of_thread();
  forks();
  return report_failures("contract");
}
