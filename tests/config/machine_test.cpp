// SPDX-License-Identifier: Apache-2.0
// The limits of each architecture against figures of the CUDA C++ Programming Guide (table of compute capabilities) and
// of the PTX ISA, and what is derived from them: register splits, shared memory of several CTAs, names.
#include "warpwright/core/machine.hpp"

#include <gtest/gtest.h>

#include <string>

#include "warpwright/config/enum_names.hpp"

namespace ww {
namespace {

TEST(Machine, LimitsAreThoseOfTheProgrammingGuide) {
  for (const MachineTraits& m : {MachineTraits(Sm90()), MachineTraits(Sm100())}) {
    EXPECT_EQ(m.shared_bytes(), 227 * 1024) << m.name;
    EXPECT_EQ(m.registers_of_sm, 64 * 1024) << m.name;
    EXPECT_EQ(m.portable_cluster, 8) << m.name;
    EXPECT_EQ(m.largest_cluster, 16) << m.name;
  }
  static_assert(Sm90().shared_bytes(2) == 113 * 1024 && Sm90().shared_bytes(3) == 228 * 1024 / 3 - 1024);
}

TEST(Machine, RegistersOfALaunchAreTheFileDividedInStepsOfEight) {
  constexpr MachineTraits m = Sm90();
  static_assert(m.registers_at_launch(128) == 256 && m.registers_at_launch(256) == 256);
  static_assert(m.registers_at_launch(384) == 168 && m.registers_at_launch(512) == 128);
  static_assert(m.registers_at_launch(1024) == 64);
}

TEST(Machine, RolesNeverClaimMoreThanTheLaunchGave) {
  constexpr MachineTraits m = Sm90();
  static_assert(m.split_registers(2, 40).consumer == 232 && m.split_registers(2, 24).consumer == 240);
  static_assert(m.split_registers(2, 56).consumer == 224 && m.split_registers(3, 56).consumer == 152);
  static_assert(m.split_registers(3, 32).consumer == 160);
  for (int consumers = 2; consumers <= 3; ++consumers)
    for (int producer = m.fewest_registers; producer <= m.most_producer_registers; producer += m.register_step) {
      const RegisterSplit split = m.split_registers(consumers, producer);
      const int given = (1 + consumers) * m.registers_at_launch(128 * (1 + consumers));
      EXPECT_EQ(split.producer, producer);
      EXPECT_LE(split.producer + consumers * split.consumer, given) << consumers << " " << producer;
      EXPECT_GT(split.producer + consumers * (split.consumer + m.register_step), given) << consumers << " " << producer;
      EXPECT_TRUE(m.takes_registers(split.consumer));
    }
}

TEST(Machine, RegisterCountsAreMultiplesOfEightFrom24To256) {
  for (int count = 0; count <= 300; ++count)
    EXPECT_EQ(Sm90().takes_registers(count), count >= 24 && count <= 256 && count % 8 == 0) << count;
}

TEST(Machine, InstructionShapes) {
  constexpr MachineTraits hopper = Sm90(), blackwell = Sm100();
  static_assert(hopper.mma[0].m == 64 && hopper.mma[1].m == 0 && hopper.pair_mma[0].m == 0);
  static_assert(hopper.mma_threads == 128 && blackwell.mma_threads == 1);
  for (int n = -8; n <= 300; ++n) {
    EXPECT_EQ(hopper.mma[0].takes_n(n), n >= 8 && n <= 256 && n % 8 == 0) << n;
    EXPECT_EQ(blackwell.mma[1].takes_n(n), n >= 16 && n <= 256 && n % 16 == 0) << n;
  }
  static_assert(blackwell.pair_mma[1].m == 2 * blackwell.mma[1].m && blackwell.pair_mma[1].takes_n(256));
  static_assert(!blackwell.pair_mma[0].takes_n(16));
}

TEST(Machine, OnlyBlackwellHasTensorMemory) {
  static_assert(Sm90().tensor_columns == 0 && Sm90().tensor_lanes == 0);
  // Two FP32 accumulators of 128 rows and 256 columns fill it.
  static_assert(Sm100().tensor_columns == 2 * 256 && Sm100().tensor_lanes == Sm100().mma[1].m);
}

TEST(Machine, EveryArchitectureHasItsNames) {
  EXPECT_EQ(names_of(Arch{}).count(), kArchs);
  for (int i = 0; i < kArchs; ++i) {
    const auto arch = static_cast<Arch>(i);
    const MachineTraits m = machine_of(arch);
    EXPECT_STREQ(name_of(arch), m.name);
    EXPECT_STREQ(names_of(arch).value[i], m.name);
    EXPECT_EQ(m.name, "sm" + std::to_string(m.capability));
    EXPECT_EQ(m.target, "sm_" + std::to_string(m.capability) + "a");
    EXPECT_EQ(m.emulated_device, std::string("emu:") + m.name);
  }
  EXPECT_EQ(machine_of(kDefaultArch).name, std::string("sm90"));
  constexpr MachineTraits next = Sm100();
  EXPECT_EQ(next.target, std::string("sm_100a"));
}

}  // namespace
}  // namespace ww
