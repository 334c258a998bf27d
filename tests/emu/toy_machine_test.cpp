// SPDX-License-Identifier: Apache-2.0
// A second machine, "toy", made here of the shared engines, of wgmma, of smaller limits, and of an instruction with an
// engine and a rule of its own: a machine is a model, and adding one changes nothing in src/emu.
//   add(bank, address, words): asynchronous sum of words of shared memory; wait(bank); value(bank)
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "emu/caller.hpp"
#include "emu/check/checker.hpp"
#include "emu/memory.hpp"
#include "emu/sm90/model.hpp"
#include "runtime/backend.hpp"

namespace ww {
namespace {

using arch::Site;

/// Declares what the emulator and its modules have to agree on, and keeps its text for the source of the module.
#define WW_BOTH(...) \
  __VA_ARGS__        \
  const char* const kDeclarations = #__VA_ARGS__;
WW_BOTH(struct ToyInstructions {
  void (*add)(u32 bank, u32 address, u32 words, Site);
  void (*wait)(u32 bank, Site);
  u32 (*value)(u32 bank, Site);
};)

constexpr u32 kBanks = 4;
constexpr emu::Access kReadOfWords{200};
constexpr Rule kEarlyValue{emu::kFirstUnnamedRule};

class Adder final : public emu::Engine {
 public:
  explicit Adder(emu::Cta& cta) : Engine(&kKind), cta_(cta) {}
  void reset() override {
    issued_ = 0;
    for (Bank& bank : banks_) bank = {};
  }
  void start_check(emu::Checker& checker) override { agent_ = checker.new_agents(1); }
  void add(emu::Thread& thread, u32 number, u32 address, u32 words, Site site);
  void execute(emu::Operation& operation) override;
  void wait(emu::Thread& thread, u32 number, Site site);
  u32 value(emu::Thread& thread, u32 number, Site site);
  std::string waits_on(const emu::Thread& thread) const override {
    return "toy bank " + std::to_string(thread.wait_a) + ", to which nothing adds";
  }

  static constexpr char kKind = 0;

 private:
  struct Bank {
    emu::Operation operation;
    u32 words = 0, sum = 0, epoch = 0;
    bool done = false, waited = false;
    emu::WaitList waiters;
  };
  Bank& bank_of(emu::Thread& thread, u32 number, Site site) {
    if (number >= kBanks) thread.machine->fail({&thread, site}, "toy: expected a bank from 0 to 3");
    return banks_[number];
  }

  emu::Cta& cta_;
  Bank banks_[kBanks];
  u32 issued_ = 0, agent_ = 0;
};

void Adder::add(emu::Thread& thread, u32 number, u32 address, u32 words, Site site) {
  Bank& bank = bank_of(thread, number, site);
  const emu::SharedPlace place = emu::own_shared_place(thread, address, 4 * words, 16, "toy add", site);
  bank.words = words, bank.epoch = ++issued_;
  bank.operation.kind = emu::Operation::Kind::engine;
  bank.operation.engine = this, bank.operation.cta = &cta_;
  bank.operation.shared = place.offset, bank.operation.group = number;
  bank.operation.origin = {&thread, site};
  if (emu::Checker* checker = thread.machine->checker()) {
    std::vector<u32> granules;
    for (u32 at = 0; at < 4 * words; at += emu::kGranule) granules.push_back(place.offset + at);
    checker->engine_access(cta_,
                           {.kind = kReadOfWords,
                            .agent = agent_,
                            .epoch = bank.epoch,
                            .origin = bank.operation.origin,
                            .issuers = {&checker->knowledge(thread), 1}},
                           granules.data(), static_cast<u32>(granules.size()));
  }
  thread.machine->submit(bank.operation);
}

void Adder::execute(emu::Operation& operation) {
  Bank& bank = banks_[operation.group];
  const auto* words = reinterpret_cast<const u32*>(cta_.shared.get() + operation.shared);
  for (u32 i = 0; i < bank.words; ++i) bank.sum += words[i];
  bank.done = true;
  cta_.machine->wake_all(bank.waiters);
}

void Adder::wait(emu::Thread& thread, u32 number, Site site) {
  Bank& bank = bank_of(thread, number, site);
  while (!bank.done) {
    bank.waiters.push(thread);
    thread.machine->park(thread, emu::Wait::cta_engine, site, number);
  }
  bank.waited = true;
  if (emu::Checker* checker = thread.machine->checker()) checker->learn(thread, agent_, bank.epoch);
}

u32 Adder::value(emu::Thread& thread, u32 number, Site site) {
  const Bank& bank = bank_of(thread, number, site);
  emu::Checker* const checker = thread.machine->checker();
  if (checker && !bank.waited)
    checker->report(kEarlyValue, {}, checker->party(thread.check_slot, site, "toy.value", thread.call), 0, 0, "", {},
                    "a bank is read that no thread has waited for");
  return bank.sum;
}

Adder& adder() {
  emu::Engine* const engine = emu::current_thread->cta->engine.get();
  EXPECT_EQ(engine->kind, &Adder::kKind);
  return static_cast<Adder&>(*engine);
}

constexpr ToyInstructions kOperations = {
    .add = [](u32 bank, u32 address, u32 words, Site s) { adder().add(WW_CALLER, bank, address, words, s); },
    .wait = [](u32 bank, Site s) { adder().wait(WW_CALLER, bank, s); },
    .value = [](u32 bank, Site s) { return adder().value(WW_LOOKER, bank, s); },
};
constexpr emu::InstructionSet kToySet{"toy", 3, sizeof kOperations, &kOperations};
const emu::InstructionSet* const kSets[] = {&kToySet, &emu::sm90::kInstructions};
constexpr emu::RuleText kRules[] = {{kEarlyValue, "toy-early-value", "wait for the bank before its value is read"}};
const emu::AccessText kAccesses[] = {{kReadOfWords, "toy.add (read of its words)"}};

constexpr MachineTraits traits() {
  MachineTraits toy = Sm90();
  toy.name = "toy", toy.target = "toy_1", toy.emulated_device = "emu:toy";
  toy.shared_bytes_of_sm = 65 * 1024, toy.largest_cluster = 2;
  toy.registers_of_sm = 32768, toy.most_registers = 128, toy.fewest_registers = 16;
  return toy;
}

const emu::MachineModel kToy{
    .traits = traits(),
    .arch = Arch::sm90,
    .instructions = kSets,
    .warpgroup_engine = emu::sm90::make_warpgroup_engine,
    .cta_engine = [](emu::Cta& cta) -> std::unique_ptr<emu::Engine> { return std::make_unique<Adder>(cta); },
    .rules = kRules,
    .accesses = kAccesses,
    .add_stats = emu::sm90::add_stats,
};

const char* const kSource = R"(
#include "warpwright/arch/common/fence.hpp"
#include "warpwright/arch/common/mbarrier.hpp"
#include "warpwright/arch/common/named_barrier.hpp"
#include "warpwright/arch/common/registers.hpp"
#include "warpwright/arch/common/shared.hpp"
#include "warpwright/arch/sm90/wgmma.hpp"

using namespace ww;
using namespace ww::arch;

ToyInstructions toy;
InstructionPart toy_part{"toy", kToyVersion, sizeof toy, &toy, nullptr};
const Need toy_needed{toy_part};

struct Params { u32* d; int mistake; };

// 1: the value without a wait; 2: a word is written before the wait; 3: no fence before the add; 4: an empty bank
WW_KERNEL(sums, 128, Params, params) {
  const SharedAddress words = dynamic_shared();
  for (u32 at = thread_index() * 16; at < 8192; at += 128 * 16) shared::store4(words + at, {{1, 0, 0, 0}});
  if (params.mistake != 3) fence::proxy_async_shared();
  named_barrier::sync_cta();
  if (thread_index() == 0) toy.add(2, words.value, 2048, Site::here());
  named_barrier::sync_cta();
  if (params.mistake == 2 && thread_index() == 5) shared::store(words + 64, 1);
  if (params.mistake == 4) toy.wait(3, Site::here());
  if (params.mistake != 1) toy.wait(2, Site::here());
  params.d[thread_index()] = toy.value(2, Site::here());
}
// The engines of the other machine: wgmma beside an add.
WW_KERNEL(both, 128, Params, params) {
  const SharedAddress words = dynamic_shared();
  for (u32 at = thread_index() * 16; at < 8192; at += 128 * 16) shared::store4(words + at, {{0, 0, 0, 0}});
  fence::proxy_async_shared();
  named_barrier::sync_cta();
  if (thread_index() == 0) toy.add(0, words.value, 64, Site::here());
  Accumulator<64> acc;
  for (int v = 0; v < 32; ++v) acc[v] = 1.0f;
  if (params.mistake == 0) wgmma::fence();
  const MatrixDescriptor operand{words.value >> 4 | u64{1024 >> 4} << 32 | u64{1} << 62};
  wgmma::mma<DType::e4m3>(acc, operand, operand, true);
  wgmma::commit();
  wgmma::wait<0>(acc);
  named_barrier::sync_cta();
  toy.wait(0, Site::here());
  params.d[thread_index()] = toy.value(0, Site::here()) + static_cast<u32>(acc[3]);
}
WW_KERNEL(registers, 128, Params, params) {
  warpgroup::release_registers<16 + 8>();
  params.d[thread_index()] = 1;
}
WW_MODULE()
)";

std::string source(int version) {
  return "#include \"warpwright/arch/common/executor.hpp\"\nnamespace {\nusing ww::u32;\nusing ww::arch::Site;\n" +
         std::string(kDeclarations) + "\nconstexpr u32 kToyVersion = " + std::to_string(version) + ";\n}\n" + kSource;
}

class ToyMachine : public ::testing::Test {
 protected:
  struct Params {
    u32* d;
    int mistake;
  };

  static void SetUpTestSuite() {
    EXPECT_TRUE(emu::add_machine(kToy));
    EXPECT_FALSE(emu::add_machine(kToy)) << "a name stands for one machine";
    cache_ = std::filesystem::temp_directory_path() / ("ww-toy-machine-" + std::to_string(::getpid()));
  }
  static void TearDownTestSuite() {
    std::error_code ignored;
    std::filesystem::remove_all(cache_, ignored);
  }

  static Device open(const char* name, EmuOptions emu = {}) {
    DeviceOptions options;
    options.cache_dir = cache_;
    options.emu = emu;
    return *Device::open(name, options);
  }

  /// Launches a kernel of the source and returns the error's text; empty after success.
  static std::string launch(const Device& device, const char* name, int mistake = 0, u32 cluster = 1,
                            u32 shared_bytes = 8192) {
    const auto kernel = device.backend().kernel({name, source(3)});
    if (!kernel) return kernel.error().message;
    const Params params{d_, mistake};
    const MemoryRange memory[] = {{"d", d_, sizeof d_, true}};
    runtime::Launch launch;
    launch.kernel = kernel->get();
    launch.threads = 128, launch.grid = launch.cluster = cluster, launch.shared_bytes = shared_bytes;
    launch.params = &params, launch.params_bytes = sizeof params;
    launch.memory = memory;
    const Result<void> done = device.backend().launch(launch);
    return done ? "" : done.error().message;
  }

  /// Checks a kernel on emu:toy under some schedules, each of which must find `rule` and nothing else; without a rule,
  /// nothing.
  static void expect(const char* name, int mistake, std::optional<Rule> rule, const char* words = "") {
    for (u64 seed = 0; seed < 6; ++seed) {
      const Device device =
          open("emu:toy", {.seed = seed, .schedule = static_cast<EmuSchedule>(seed % 4), .check = true});
      launch(device, name, mistake);
      const std::optional<CheckReport> report = device.backend().last_check();
      ASSERT_TRUE(report);
      ASSERT_EQ(report->findings.size(), rule ? 1u : 0u) << report->why_incomplete;
      if (!rule) continue;
      EXPECT_EQ(report->findings[0].rule, *rule) << report->findings[0].text;
      EXPECT_NE(report->findings[0].text.find(words), std::string::npos) << report->findings[0].text;
    }
  }

  static inline std::filesystem::path cache_;
  alignas(256) static inline u32 d_[128] = {};
};

TEST_F(ToyMachine, IsADeviceOfItsOwnName) {
  const Device device = open("emu:toy");
  EXPECT_EQ(device.info().name, "emu:toy");
  EXPECT_EQ(device.info().shared_bytes_per_cta, 65536);
  EXPECT_NE(device.info().description.find("emulated toy_1"), std::string::npos);
  const auto none = Device::open("emu:none");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().expected, "auto, emu:sm90, emu:sm100, emu:toy or cuda:<ordinal>");
  EXPECT_EQ(Device::open("emu:sm90")->info().shared_bytes_per_cta, 232448);
}

TEST_F(ToyMachine, RunsItsOwnInstructionUnderEverySchedule) {
  for (u64 seed = 0; seed < 8; ++seed) {
    EXPECT_EQ(launch(open("emu:toy", {.seed = seed, .schedule = static_cast<EmuSchedule>(seed % 4)}), "sums"), "");
    EXPECT_EQ(d_[77], 512u);
  }
}

TEST_F(ToyMachine, RunsTheInstructionsOfTheOtherMachineToo) {
  const Device device = open("emu:toy");
  EXPECT_EQ(launch(device, "both"), "");
  EXPECT_EQ(d_[5], 1u);
  EXPECT_EQ(device.backend().last_stats()->wgmmas, 1u);
  expect("both", 0, std::nullopt);
  expect("both", 1, Rule::accumulator_in_flight, "without wgmma.fence");
}

TEST_F(ToyMachine, IsCheckedByItsOwnRulesAndByTheCommonOnes) {
  expect("sums", 0, std::nullopt);
  expect("sums", 1, kEarlyValue, "toy-early-value: a bank is read that no thread has waited for");
  expect("sums", 1, kEarlyValue, "advice: wait for the bank before its value is read");
  expect("sums", 2, Rule::data_race, "first:  toy.add (read of its words)");
  expect("sums", 3, Rule::proxy_fence, "second: toy.add (read of its words)");
  expect("sums", 4, Rule::deadlock, "toy bank 3, to which nothing adds");
  EXPECT_STREQ(rule_name(kEarlyValue), "toy-early-value");
  EXPECT_STREQ(rule_name(Rule{emu::kFirstUnnamedRule + 1}), "unknown");
}

TEST_F(ToyMachine, HasItsOwnLimits) {
  const Device device = open("emu:toy");
  EXPECT_NE(launch(device, "sums", 0, 4).find("1 to 2 CTAs"), std::string::npos);
  EXPECT_NE(launch(device, "sums", 0, 1, 65540).find("at most 65536"), std::string::npos);
  EXPECT_EQ(launch(device, "registers"), "") << "128 registers a thread are released to 24";
}

TEST_F(ToyMachine, ModulesRunOnlyWhereTheirInstructionsAre) {
  EXPECT_NE(launch(open("emu:sm90"), "sums").find("it uses instructions of toy, which emu:sm90 does not have"),
            std::string::npos);
  const auto kernel = open("emu:toy").backend().kernel({"sums", source(4)});
  ASSERT_FALSE(kernel);
  EXPECT_NE(kernel.error().message.find("built for version 4 of the instructions of toy"), std::string::npos)
      << kernel.error().message;
}

}  // namespace
}  // namespace ww
