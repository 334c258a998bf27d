// SPDX-License-Identifier: Apache-2.0
// ptxas' report on every kernel that this library chooses by itself: the dense and the grouped default configs of all
// types and recipes, and everything else that ships as an emulator module. Each must keep its values in registers (no
// spills, no stack), leave wgmma asynchronous (no C75xx), and start with the registers that its roles then
// redistribute. Grouped kernels keep wgmma's descriptors in uniform registers.
//   ptxas_report all                     the whole list, as a table
//   ptxas_report sample <seed> <count>   about `count` of them, others with another seed
//   ptxas_report listed <seed> <count>   the same of every config that auto may choose, in the common families
//   ptxas_report grouped                 those of them for groups of rows, as a table
//   ptxas_report kernel <name>           one of the whole list by its name, such as a cast, which has no config
//   ptxas_report config <text>           one, as `warpwright info` and failures print it; auto fields are filled in
//   ptxas_report sources <folder>        writes each as <number>.cu, for bench/compile/code.py
//   ptxas_report sm100 <seed> <count> [folder]  about `count` kernels of sm_100a (sm100_list.hpp), or `all` of them;
//                                        the cubins, and a line about each, go to the folder
//   ptxas_report faulty                  kernels with one fault each, which must be found
// Exit status: 0 right, 1 a fault, 2 usage, 77 no NVRTC here.
#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>
#include <thread>

#include "config/config_text.hpp"
#include "config/quantize_text.hpp"
#include "cubin_notes.hpp"
#include "jit/nvrtc.hpp"
#include "launch/default_sources.hpp"
#include "launch/gemm_source.hpp"
#include "launch/grouped_source.hpp"
#include "launch/microscale_adapter.hpp"
#include "ops/operand_checks.hpp"
#include "select/config_list.hpp"
#include "select/default_configs.hpp"
#include "select/grouped_configs.hpp"
#include "select/grouped_list.hpp"
#include "sm100_list.hpp"
#include "warpwright/config/faults.hpp"
#include "warpwright/config/resolve.hpp"
#include "warpwright/config/sizes.hpp"

namespace {

using namespace ww;
using Clock = std::chrono::steady_clock;

struct Shipped {
  std::string name;  // the config's text, or the kernel's name where it has no config
  runtime::KernelSource source;
  std::optional<GemmConfig> config;
  Arch arch = kDefaultArch;  // of kernels without a config
};

Shipped shipped(const GemmConfig& config) {
  return {to_text(config),
          config.grouping == Grouping::row_groups ? adapters::grouped_source(config) : adapters::gemm_source(config),
          config};
}

/// Returns the configs of the lists for groups of rows, in the same families.
std::vector<Shipped> all_listed_groups() {
  std::vector<Shipped> all;
  for (const auto& [a, scale] :
       {std::pair{e4m3, Scale::block_1x128_128x128}, std::pair{e4m3, Scale::tensor}, std::pair{bf16, Scale::none}})
    for (GroupedVariant variant :
         {GroupedVariant::ragged, GroupedVariant::contiguous, GroupedVariant::masked, GroupedVariant::descriptors})
      for (const GemmConfig& config : select::grouped_list({.operands = {.a = a, .b = a, .d = bf16, .scale = scale},
                                      .row_groups = {.variant = variant, .capacity = 128}},
                                                           GroupEncoding::offsets, 4096))
        all.push_back(shipped(config));
  return all;
}

/// Returns the configs among which auto chooses, in families that LLMs use.
std::vector<Shipped> all_listed() {
  struct Family {
    DType a, d;
    Scale scale;
  };
  std::vector<Shipped> all;
  std::set<std::string> seen;  // because some schedulers differ by their launch alone
  for (const Family& f : {Family{e4m3, bf16, Scale::block_1x128_128x128}, Family{e4m3, bf16, Scale::block_1x128_1x128},
                          Family{e4m3, bf16, Scale::tensor}, Family{e4m3, bf16, Scale::row_column},
                          Family{bf16, bf16, Scale::none}, Family{bf16, f32, Scale::none}})
    for (const GemmConfig& config : select::config_list({.operands = {.a = f.a, .b = f.a, .d = f.d, .scale = f.scale}}))
      if (Shipped one = shipped(config); seen.insert(one.source.text).second) all.push_back(std::move(one));
  for (Shipped& one : all_listed_groups()) all.push_back(std::move(one));
  return all;
}

/// Returns configs with A from registers, and tf32 layouts that wgmma does not read from shared memory, with every
/// schedule.
std::vector<GemmConfig> register_configs() {
  std::vector<GemmConfig> configs;
  for (const char* operands : {"a=tf32,b=tf32,layout=nn", "a=tf32,b=tf32,layout=tn", "a=tf32,b=tf32,layout=tt",
                               "a=bf16,b=bf16,a_source=registers", "a=f16,b=f16,layout=tn,a_source=registers",
                               "scale=tensor,a_source=registers", "scale=block,a_source=registers"})
    for (const char* shape :
         {"tile=128x256x0,cluster=2x1", "tile=128x128x0,cluster=1x2,d=f32", "tile=64x64x0", "tile=192x64x0",
          "tile=256x64x0", "tile=64x128x0,schedule=pingpong", "tile=128x64x0,tile_scheduler=stream-k",
          "tile=128x128x0,tile_scheduler=split-k,split=2", "tile=128x128x0,tile_scheduler=dynamic"}) {
      const GemmConfig c = config::resolve(*parse_config(fmt::format("{},{}", operands, shape)));
      if (!config::fault_of(c)) configs.push_back(c);
    }
  return configs;
}

/// Returns the kernels of sm_100a, each once.
std::vector<Shipped> all_of_sm100() {
  std::vector<Shipped> all;
  std::set<std::string> seen;  // because some schedulers differ by their launch alone
  int refused = 0;
  for (const test::Sm100Candidate& candidate : test::sm100_candidates()) {
    const Result<GemmConfig> config = test::resolved(candidate);
    if (!config) {
      ++refused;
      if (std::getenv("WARPWRIGHT_TEST_VERBOSE") != nullptr)
        fmt::print("refused: {} {}: {}\n", candidate.text, candidate.epilogue, config.error().message);
      continue;
    }
    if (Shipped one = shipped(*config); seen.insert(one.source.text).second) all.push_back(std::move(one));
  }
  for (const DType x : {bf16, f16, f32})
    for (const auto& [scale, q] : {std::pair{Scale::mx, e4m3},
                                   {Scale::mx, e5m2},
                                   {Scale::mx, e3m2},
                                   {Scale::mx, e2m3},
                                   {Scale::mx, e2m1},
                                   {Scale::nv, e2m1}}) {
      const config::MicroscaleKind kind{x, q, scale};
      all.push_back({to_text(kind), adapters::microscale_source(kind), std::nullopt, Arch::sm100});
    }
  fmt::print("{} kernels of sm_100a; {} configs refused\n", all.size(), refused);
  return all;
}

/// Every kernel once. Configs that a list gains are in here without a change.
std::vector<Shipped> all_shipped() {
  std::vector<GemmConfig> configs;
  const auto add = [&](const std::vector<GemmConfig>& list) {
    configs.insert(configs.end(), list.begin(), list.end());
  };
  for (DType a : {e4m3, e5m2, bf16, f16, tf32})
    for (Scale scale : {Scale::none, Scale::tensor, Scale::row_column, Scale::block_1x128_128x128})
      for (DType d : {bf16, f16, f32}) {
        add(select::default_configs(a, d, scale));
        if (ops::check_types(a, a, d, scale)) add(select::default_grouped_configs(a, d, scale));
      }
  add(select::all_default_configs());
  add(register_configs());
  add(select::shipped_grouped_configs());
  std::vector<Shipped> all;
  std::set<std::string> seen;
  for (const GemmConfig& config : configs)
    if (Shipped one = shipped(config); seen.insert(one.source.name).second) all.push_back(std::move(one));
  for (runtime::KernelSource& source : adapters::default_sources())
    if (seen.insert(source.name).second) all.push_back({source.name, std::move(source), std::nullopt});
  return all;
}

struct Report {
  test::CubinNotes notes;
  std::string cubin;
  double wall = 0, cpu = 0;  // seconds
  std::string fault;         // empty: none
};

/// Returns the CPU time of this thread: the cost of a compile whatever else the machine does.
double cpu_seconds() {
  timespec t{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

/// Returns the fault in the registers of `notes`. The registers that roles claim must have been allocated at the
/// launch; otherwise setmaxnreg waits for ever.
std::string fault_of_registers(const test::CubinNotes& notes, const std::optional<GemmConfig>& config) {
  const MachineTraits machine = machine_of(config ? config->arch : kDefaultArch);
  const int registers = static_cast<int>(round_up(notes.registers, machine.register_step));
  if (notes.threads <= 0) return "no launch bound";
  const int ctas = config ? max(1, config->sm90.occupancy) : 1;
  if (registers * notes.threads * ctas > machine.registers_of_sm)
    return fmt::format("{} registers for {} CTAs of {} threads are more than {}", registers, ctas, notes.threads,
                       machine.registers_of_sm);
  if (!config) return {};
  if (const int threads = config::threads_of(*config); threads != notes.threads)
    return fmt::format("compiled for {} threads, launched with {}", notes.threads, threads);
  const RegisterSplit split = config::registers_of(*config);
  const int claimed =
      MachineTraits::kWarpgroupThreads * (split.producer + config->sm90.consumer_warpgroups * split.consumer);
  if (claimed > registers * notes.threads)
    return fmt::format("roles claim {} registers of {}", claimed, registers * notes.threads);
  return {};
}

Report report_on(const jit::Nvrtc& nvrtc, const Shipped& one) {
  Report report;
  const double cpu = cpu_seconds();
  const auto begin = Clock::now();
  const auto compiled = nvrtc.compile(one.source.text, one.config ? one.config->arch : one.arch);
  report.wall = std::chrono::duration<double>(Clock::now() - begin).count();
  report.cpu = cpu_seconds() - cpu;
  if (!compiled) {
    report.fault = compiled.error().message;
    return report;
  }
  report.cubin = compiled->payload;
  report.notes = test::read_notes(compiled->payload, compiled->log);
  const test::CubinNotes& notes = report.notes;
  if (notes.functions == 0 || notes.registers == 0) report.fault = "ptxas reported nothing:\n" + compiled->log;
  else if (notes.spilled > 0 || notes.stack > 0)
    report.fault = fmt::format("{} bytes spilled, {} bytes of stack", notes.spilled, notes.stack);
  else if (compiled->log.find("C75") != std::string::npos) report.fault = "ptxas warns:\n" + compiled->log;
  else if (compiled->log.find("arning") != std::string::npos || compiled->log.find("ignored") != std::string::npos)
    report.fault = compiled->log;
  else if (notes.moved > 0 && (!one.config || one.config->grouping != Grouping::dense))
    report.fault = fmt::format("{} moves to uniform registers between wgmmas", notes.moved);
  else report.fault = fault_of_registers(notes, one.config);
  return report;
}

/// Writes the cubin of kernel `i` to `folder`, with its facts beside it: registers, threads and config.
void keep(const std::filesystem::path& folder, std::size_t i, const Report& report, const std::string& name) {
  std::ofstream(folder / fmt::format("{:04}.cubin", i), std::ios::binary) << report.cubin;
  std::ofstream(folder / fmt::format("{:04}.txt", i))
      << fmt::format("{} {} {}\n", report.notes.registers, report.notes.threads, name);
}

/// In parallel; a line for each as soon as it is done. Cubins go to `folder` unless it is empty.
int print_reports(const jit::Nvrtc& nvrtc, const std::vector<Shipped>& list, std::size_t of,
                  const std::filesystem::path& folder = {}) {
  std::atomic<std::size_t> next = 0;
  std::mutex printing;
  int faulty = 0;
  double cpu = 0, slowest = 0;
  fmt::print("registers x threads  spilled  moved  wall ms  CPU ms  cubin KiB\n");
  const auto work = [&] {
    for (std::size_t i; (i = next++) < list.size();) {
      const Report r = report_on(nvrtc, list[i]);
      if (!folder.empty() && !r.cubin.empty()) keep(folder, i, r, list[i].name);
      const std::lock_guard lock(printing);
      cpu += r.cpu, slowest = std::max(slowest, r.cpu);
      fmt::print("{:9} x {:7}  {:7}  {:5}  {:7.0f}  {:6.0f}  {:9.1f}  {}\n", r.notes.registers, r.notes.threads,
                 r.notes.spilled, r.notes.moved, 1e3 * r.wall, 1e3 * r.cpu, static_cast<double>(r.cubin.size()) / 1024,
                 list[i].name);
      if (!r.fault.empty()) {
        ++faulty;
        fmt::print("  FAULT {}\n  again: ptxas_report {} {}\n", r.fault, list[i].config ? "config" : "kernel",
                   list[i].name);
      }
      std::fflush(stdout);
    }
  };
  {
    std::vector<std::jthread> workers;
    for (unsigned t = 0; t < std::max(1u, std::thread::hardware_concurrency()); ++t) workers.emplace_back(work);
  }
  fmt::print("{}: {} of {} kernels, {} with a fault; {:.1f} s of CPU, the slowest {:.2f} s\n", nvrtc.identity(),
             list.size(), of, faulty, cpu, slowest);
  return faulty == 0 && !list.empty() ? 0 : 1;
}

// 96 live values in 64 registers; wgmma's registers read in flight; descriptors that threads hold; a claim without a
// launch bound.
constexpr std::pair<const char*, const char*> kFaulty[] = {
    {"bytes spilled", R"(
extern "C" __global__ void __launch_bounds__(1024, 1) spills(float* p) {
  float v[96];
  for (int i = 0; i < 96; ++i) v[i] = p[1024 * i + threadIdx.x];
  __syncthreads();
  for (int i = 0; i < 96; ++i) p[1024 * i + threadIdx.x] = v[i] * v[(7 * i + 1) % 96];
})"},
    {"(C75", R"(#include "warpwright/arch/sm90/wgmma.hpp"
using namespace ww;
extern "C" __global__ void __launch_bounds__(128, 1) serialises(float* p, u64 a, u64 b) {
  arch::Accumulator<64> acc;
  arch::wgmma::fence();
  arch::wgmma::mma<DType::bf16>(acc, arch::MatrixDescriptor{a}, arch::MatrixDescriptor{b}, false);
  arch::wgmma::commit();
  p[threadIdx.x] = acc[0];
  arch::wgmma::wait<0>(acc);
  p[threadIdx.x + 128] = acc[1];
})"},
    {"moves to uniform registers", R"(#include "warpwright/arch/sm90/wgmma.hpp"
using namespace ww;
extern "C" __global__ void __launch_bounds__(128, 1) moves(float* p, const u64* a, u64 b) {
  arch::Accumulator<8> acc;
  const u64 mine = a[threadIdx.x];
  arch::wgmma::fence();
  arch::wgmma::mma<DType::bf16>(acc, arch::MatrixDescriptor{mine}, arch::MatrixDescriptor{b}, false);
  arch::wgmma::mma<DType::bf16>(acc, arch::MatrixDescriptor{mine + 2}, arch::MatrixDescriptor{b}, true);
  arch::wgmma::commit();
  arch::wgmma::wait<0>(acc);
  p[threadIdx.x] = acc[0];
})"},
    {"setmaxnreg", R"(#include "warpwright/arch/common/registers.hpp"
extern "C" __global__ void claims(int* p) {
  ww::arch::warpgroup::claim_registers<232>();
  p[threadIdx.x] = 1;
})"},
    {"no launch bound", R"(extern "C" __global__ void unbounded(int* p) { p[threadIdx.x] = 1; })"},
};

int write_sources(const std::filesystem::path& folder, const std::vector<Shipped>& list) {
  std::filesystem::create_directories(folder);
  for (std::size_t i = 0; i < list.size(); ++i) {
    std::ofstream file(folder / fmt::format("{:04}.cu", i));
    file << "// " << list[i].name << '\n' << list[i].source.text;
    if (!file.flush()) return fmt::print(stderr, "{}: cannot write a source there\n", folder.string()), 1;
  }
  fmt::print("{} kernels\n", list.size());
  return 0;
}

int find_faults(const jit::Nvrtc& nvrtc) {
  int missed = 0;
  for (const auto& [expected, text] : kFaulty) {
    const Report report = report_on(nvrtc, {expected, {"", text}, std::nullopt});
    const bool found = report.fault.find(expected) != std::string::npos;
    fmt::print("{}: {}; ptxas_report says: {}\n", found ? "found" : "MISSED", expected, report.fault);
    missed += !found;
  }
  return missed == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string verb = argc > 1 ? argv[1] : "";
  ::setenv("CUDA_CACHE_DISABLE", "1", 1);  // because a cubin from NVRTC's cache comes without ptxas' report
  if (verb == "sources" && argc > 2) return write_sources(argv[2], all_shipped());
  const auto nvrtc = jit::Nvrtc::get();
  if (!nvrtc) return fmt::print("skipped: {}\n", nvrtc.error().message), 77;
  if (verb == "faulty") return find_faults(**nvrtc);
  if (verb == "config" && argc > 2) {
    const auto config = parse_config(argv[2]);
    if (!config) return fmt::print(stderr, "{}\n", config.error().message), 2;
    const bool rows = config->grouping == Grouping::row_groups;
    return print_reports(**nvrtc, {shipped(rows ? config::resolve_grouped(*config) : config::resolve(*config))}, 1);
  }
  if (verb == "grouped") {
    const std::vector<Shipped> groups = all_listed_groups();
    return print_reports(**nvrtc, groups, groups.size());
  }
  const bool listed = verb == "listed", sm100 = verb == "sm100";
  const std::vector<Shipped> all = listed ? all_listed() : sm100 ? all_of_sm100() : all_shipped();
  if (verb == "kernel" && argc > 2) {
    for (const Shipped& one : all)
      if (one.name == argv[2]) return print_reports(**nvrtc, {one}, all.size());
    return fmt::print(stderr, "no kernel that ships is called {}\n", argv[2]), 2;
  }
  if (verb == "all") return print_reports(**nvrtc, all, all.size());
  if ((verb == "sample" || listed || sm100) && argc > 3) {
    const std::size_t count = std::string_view(argv[3]) == "all" ? all.size() : std::strtoull(argv[3], nullptr, 0);
    if (count == 0) return fmt::print(stderr, "ptxas_report: count: expected 1 or more, or all, got {}\n", argv[3]), 2;
    const std::size_t step = (all.size() + count - 1) / count;
    std::vector<Shipped> some;
    for (std::size_t i = std::strtoull(argv[2], nullptr, 0) % step; i < all.size(); i += step) some.push_back(all[i]);
    return print_reports(**nvrtc, some, all.size(), argc > 4 ? argv[4] : "");
  }
  fmt::print(
      stderr,
      "usage: ptxas_report all | sample <seed> <count> | listed <seed> <count> | sm100 <seed> <count> [folder] | "
      "grouped | config <text> | "
      "kernel <name> | "
      "sources <folder> | faulty\n");
  return 2;
}
