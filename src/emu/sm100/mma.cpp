// SPDX-License-Identifier: Apache-2.0
// One MMA or copy: what an instruction may say, what it reads and writes, and its execution.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "emu/check/checker.hpp"
#include "emu/sm100/engine.hpp"
#include "emu/sm100/model.hpp"
#include "emu/sm100/numerics/umma.hpp"
#include "emu/sm100/operands.hpp"

namespace ww::emu::sm100 {
namespace {

constexpr u32 kRowBytes = u32{MachineTraits::kInstructionBytes};
constexpr u32 kMostRows = u32{Sm100().mma[1].n_most};
constexpr u8 kNaNScale = 0xFF;

/// The scales that an instruction reads for one operand.
struct ScaleRead {
  ScaleRows rows;
  int id = 0, vector = 0;
  u32 address = 0;
};

ScaleRead scales_of_a(const arch::UmmaCall& call, const arch::sm100::MmaInstruction& i, MmaExtent extent) {
  return {scale_rows_a(extent), static_cast<int>(i.scale_id_a), call.scale_vector, call.scale_a};
}
ScaleRead scales_of_b(const arch::UmmaCall& call, const arch::sm100::MmaInstruction& i, MmaExtent extent) {
  return {scale_rows_b(extent), static_cast<int>(i.scale_id_b), call.scale_vector, call.scale_b};
}

OperandRead read_of_a(const arch::sm100::MmaInstruction& i, MmaExtent extent) {
  return {.kind = i.kind, .format = i.a, .major = i.major_a, .rows = extent.rows(), .name = "A"};
}
/// B's rows in each CTA.
OperandRead read_of_b(const arch::sm100::MmaInstruction& i, MmaExtent extent) {
  return {
      .kind = i.kind, .format = i.b, .major = i.major_b, .rows = extent.n / arch::ctas_of(extent.group), .name = "B"};
}

/// Reads the scales, (rows, vector). Where the replicas differ, the quarters would see different ones: that is a NaN.
void gather_scales(TensorMemory& memory, const ScaleRead& read, u8* out) {
  const u32 first = column_of(read.address);
  for (int row = 0; row < read.rows.rows; ++row)
    for (int s = 0; s < read.vector; ++s) {
      u8 scale = 0;
      for (int replica = 0; replica < read.rows.replicas(); ++replica) {
        const BytePlace place = scale_place(read.rows, row, read.id + s, replica);
        const u32 cell = memory.seen(static_cast<u32>(place.lane), first + static_cast<u32>(place.column));
        const u8 byte = cell == kPoisonBits ? kNaNScale : static_cast<u8>(cell >> 8 * place.byte);
        scale = replica == 0 || byte == scale ? byte : kNaNScale;
      }
      *out++ = scale;
    }
}

/// Reads A in tensor memory as rows of 32 bytes; `copy` is that of one half of N.
void gather_a(TensorMemory& memory, const arch::sm100::MmaInstruction& i, MmaExtent extent, u32 address, int copy,
              u8* out) {
  const bool mixed = i.kind == arch::MmaKind::f8f6f4 || i.kind == arch::MmaKind::mxf8f6f4;
  for (int row = 0; row < extent.rows(); ++row, out += kRowBytes) {
    const u32 lane = lane_of(address) + static_cast<u32>(operand_a_place(extent, row, 0, 8, copy).lane);
    for (u32 column = 0; column < u32{kOperandColumns}; ++column) {
      const u32 cell = memory.seen(lane, column_of(address) + column);
      std::memcpy(out + 4 * column, &cell, sizeof cell);
    }
    if (mixed)
      for (u32 byte = 0; byte < kRowBytes; ++byte) out[byte] = value_in_tensor_memory(i.a, out[byte]);
  }
}

/// Keeps the disabled lanes of an accumulator over an MMA.
class KeptLanes {
 public:
  KeptLanes(TensorMemory& memory, const Region& region, const u32* disabled) : memory_(memory), region_(region) {
    for (u32 lane = 0; lane < kLanes; ++lane)
      if (disabled[lane / 32] >> lane % 32 & 1) lanes_.push_back(lane);
    for (const u32 lane : lanes_)
      cells_.insert(cells_.end(), memory.row(lane, region.first), memory.row(lane, region.first) + columns());
  }
  void restore() {
    for (std::size_t i = 0; i < lanes_.size(); ++i)
      std::copy_n(&cells_[i * columns()], columns(), memory_.row(lanes_[i], region_.first));
  }

 private:
  u32 columns() const { return region_.last - region_.first; }
  TensorMemory& memory_;
  Region region_;
  std::vector<u32> lanes_, cells_;
};

}  // namespace

Region accumulator_region(MmaExtent extent, u32 address) {
  Region region{column_of(address), column_of(address) + static_cast<u32>(extent.columns()), {}};
  if (!extent.half_quarters()) region.add_lanes(0, kLanes);
  else
    for (u32 quarter = 0; quarter < kLanes; quarter += kLanesOfWarp) region.add_lanes(quarter + lane_of(address), 16);
  return region;
}

Region copy_region(arch::CopyShape shape, u32 address) {
  Region region{column_of(address), column_of(address) + static_cast<u32>(columns_of(shape)), {}};
  for (int row = 0; row < rows_of(shape); ++row)
    for (int copy = 0; copy < copies_of(shape); ++copy)
      region.add_lanes(static_cast<u32>(copy_lane(shape, row, copy)), 1);
  return region;
}

bool TensorEngine::same_accumulator(const Entry& a, const Entry& b) {
  return a.call.d == b.call.d && a.call.kind == b.call.kind && a.instruction.m == b.instruction.m &&
         a.instruction.n == b.instruction.n;
}

void TensorEngine::check_columns(const Entry& entry, Cta& cta, u32 first, u32 columns, const char* what) const {
  const std::string fault = of(cta).memory_.fault_of_columns(first, columns);
  if (!fault.empty()) refuse(entry.origin, fmt::format("{} in CTA {}: {}", what, cta.index, fault), kTensorMemory);
}

void TensorEngine::check_mma(Entry& entry, const Ctas& ctas) const {
  const arch::UmmaCall& call = entry.call;
  const arch::sm100::MmaForm form{call.group, call.scale_vector, call.a_in_tensor_memory};
  const arch::InstructionDescriptor bits{call.instruction};
  if (const auto fault = arch::sm100::fault(call.kind, bits, form))
    refuse(entry.origin,
           fmt::format("tcgen05.mma: {}: expected {}, got {}", fault.argument, fault.expected, fault.actual));
  entry.instruction = arch::sm100::decode(call.kind, bits);
  const arch::sm100::MmaInstruction& i = entry.instruction;
  const MmaExtent extent = entry.extent();
  if (call.scale_input_d > 15 ||
      (call.scale_input_d != 0 && call.kind != arch::MmaKind::f16 && call.kind != arch::MmaKind::tf32))
    refuse(entry.origin,
           fmt::format("tcgen05.mma: scale-input-d {}: expected 0 to 15, and 0 but for kinds f16 and tf32",
                       call.scale_input_d));
  if (call.disabled_lanes && is_block_scaled(call.kind))
    refuse(entry.origin, "tcgen05.mma: kinds with block scales have no mask of disabled lanes");
  if (!extent.takes_lane(static_cast<int>(lane_of(call.d))))
    refuse(entry.origin,
           fmt::format("tcgen05.mma: D at address 0x{:08x} begins at lane {}; expected lane 0{}", call.d,
                       lane_of(call.d), extent.half_quarters() ? " or 16" : ""),
           kTensorMemory);
  const u32 a = static_cast<u32>(call.a);
  if (call.a_in_tensor_memory && lane_of(a) != lane_of(call.d))
    refuse(entry.origin,
           fmt::format("tcgen05.mma: A begins at lane {} and D at lane {}; expected the same lanes", lane_of(a),
                       lane_of(call.d)),
           kTensorMemory);
  const auto check_descriptor = [&](u64 descriptor, const OperandRead& read) {
    if (const std::string fault = operand_fault(descriptor, read); !fault.empty())
      refuse(entry.origin, fmt::format("tcgen05.mma operand {}: {}", read.name, fault));
  };
  if (!call.a_in_tensor_memory) check_descriptor(call.a, read_of_a(i, extent));
  check_descriptor(call.b, read_of_b(i, extent));
  for (Cta* cta : ctas.at) {
    if (!cta) continue;
    check_columns(entry, *cta, column_of(call.d), static_cast<u32>(extent.columns()), "tcgen05.mma: D");
    if (call.a_in_tensor_memory) check_columns(entry, *cta, column_of(a), u32{kOperandColumns}, "tcgen05.mma: A");
    if (!is_block_scaled(call.kind)) continue;
    for (const ScaleRead& read : {scales_of_a(call, i, extent), scales_of_b(call, i, extent)}) {
      if (lane_of(read.address) != 0)
        refuse(entry.origin, fmt::format("tcgen05.mma: scales at address 0x{:08x}; expected lane 0", read.address),
               kTensorMemory);
      check_columns(entry, *cta, column_of(read.address), static_cast<u32>(read.rows.columns()), "tcgen05.mma: scales");
    }
  }
}

/// Notes the reads of shared memory by an MMA in one CTA, and validates the addresses.
void TensorEngine::judge_operand(Thread& thread, const Entry& entry, Cta& cta, u64 descriptor, const OperandRead& read,
                                 Access kind, u32 agent) {
  u32 offsets[2 * kMostRows];
  operand_chunks(cta, descriptor, read, offsets, entry.origin);
  judge_reads(thread, entry, cta, offsets, static_cast<u32>(read.chunks()), kind, agent);
}

void TensorEngine::judge_reads(Thread& thread, const Entry& entry, Cta& cta, const u32* offsets, u32 count, Access kind,
                               u32 agent) {
  Checker* const checker = thread.machine->checker();
  if (!checker) return;
  checker->engine_access(cta,
                         {.kind = kind,
                          .agent = agent,
                          .epoch = entry.number,
                          .origin = entry.origin,
                          .from = entry.from,
                          .issuers = {&checker->knowledge(thread), 1},
                          .by_one_thread = true},
                         offsets, count);
}

void TensorEngine::judge_mma(Thread& thread, const Entry& entry, const Ctas& ctas, u32 agent) {
  const arch::UmmaCall& call = entry.call;
  const arch::sm100::MmaInstruction& i = entry.instruction;
  const MmaExtent extent = entry.extent();
  TensorUse use{.thread = &thread, .origin = entry.origin, .from = entry.from, .agent = agent, .epoch = entry.number};
  use.accumulator =
      u64{call.d} << 32 | static_cast<u32>(call.kind) << 28 | static_cast<u32>(i.m) << 16 | static_cast<u32>(i.n);
  for (Cta* cta : ctas.at) {
    if (!cta) continue;
    if (!call.a_in_tensor_memory) judge_operand(thread, entry, *cta, call.a, read_of_a(i, extent), kReadOfA, agent);
    judge_operand(thread, entry, *cta, call.b, read_of_b(i, extent), kReadOfB, agent);
    TensorRules& rules = of(*cta).rules_;
    if (call.a_in_tensor_memory) {
      Region a = accumulator_region(extent, static_cast<u32>(call.a));
      a.first = column_of(static_cast<u32>(call.a)), a.last = a.first + u32{kOperandColumns};
      rules.touch(use, rules_, TensorAction::read_of_a, a);
    }
    if (is_block_scaled(call.kind))
      for (const ScaleRead& read : {scales_of_a(call, i, extent), scales_of_b(call, i, extent)}) {
        Region scales{
            column_of(read.address), column_of(read.address) + static_cast<u32>(read.rows.used_columns()), {}};
        scales.add_lanes(0, kLanes);
        rules.touch(use, rules_, TensorAction::read_of_scales, scales);
      }
    rules.touch(use, rules_, call.accumulate ? TensorAction::accumulate : TensorAction::overwrite,
                accumulator_region(extent, call.d));
  }
}

void TensorEngine::judge_copy(Thread& thread, const Entry& entry, const Ctas& ctas, u32 agent) {
  u32 offsets[kCopyChunks];
  const TensorUse use{
      .thread = &thread, .origin = entry.origin, .from = entry.from, .agent = agent, .epoch = entry.number};
  const u32 chunks = static_cast<u32>(rows_of(entry.shape) * columns_of(entry.shape) / 4);
  for (Cta* cta : ctas.at) {
    if (!cta) continue;
    copy_chunks(*cta, entry.descriptor, entry.shape, offsets, entry.origin);
    judge_reads(thread, entry, *cta, offsets, chunks, kReadOfCopy, agent);
    of(*cta).rules_.touch(use, rules_, TensorAction::copy, copy_region(entry.shape, entry.address));
  }
}

void TensorEngine::count_reads(const Entry& entry, const Ctas& ctas) {
  std::vector<u64>& bytes = cta_.machine->counters().mma_shared_bytes;
  const MmaExtent extent = entry.extent();
  const int rows = (entry.call.a_in_tensor_memory ? 0 : extent.rows()) + extent.n / ctas.count();
  for (const Cta* cta : ctas.at) {
    if (!cta) continue;
    if (bytes.size() <= cta->index) bytes.resize(cta->index + 1);
    bytes[cta->index] += static_cast<u64>(rows) * kRowBytes;
  }
}

/// What an MMA leaves when nothing is computed: zeros.
void TensorEngine::clear(const Entry& entry, const Ctas& ctas) {
  const Region d = accumulator_region(entry.extent(), entry.call.d);
  for (Cta* cta : ctas.at)
    for (u32 lane = 0; cta && lane < kLanes; ++lane)
      if (d.has(lane, d.first)) std::fill_n(of(*cta).memory_.row(lane, d.first), d.last - d.first, 0u);
}

void TensorEngine::compute(const Entry& entry, const Ctas& ctas) {
  alignas(64) u8 a[2][128 * kRowBytes], b[kMostRows * kRowBytes];
  u8 scale_a[128 * kScalesOfColumn], scale_b[kMostRows * kScalesOfColumn];
  const arch::UmmaCall& call = entry.call;
  const arch::sm100::MmaInstruction& i = entry.instruction;
  const MmaExtent extent = entry.extent();
  const OperandRead of_a = read_of_a(i, extent), of_b = read_of_b(i, extent);
  const UmmaArithmetic how{i.kind, i.a, i.b, i.d, i.negate_a, i.negate_b, call.scale_input_d, call.scale_vector,
                           i.scale};
  const MmaMath math = cta_.machine->context().options.math == EmuMath::exact ? MmaMath::exact : MmaMath::fp32_chain;
  for (int c = 0; c < ctas.count(); ++c)
    gather(*ctas.at[c], call.b, of_b, b + static_cast<u32>(c * of_b.rows) * kRowBytes, entry.origin);
  for (int c = 0; c < ctas.count(); ++c) {
    TensorMemory& memory = of(*ctas.at[c]).memory_;
    const Region d = accumulator_region(extent, call.d);
    if (!call.a_in_tensor_memory) gather(*ctas.at[c], call.a, of_a, a[0], entry.origin);
    else
      for (int copy = 0; copy < operand_a_copies(extent); ++copy)
        gather_a(memory, i, extent, static_cast<u32>(call.a), copy, a[copy]);
    if (is_block_scaled(call.kind)) {
      gather_scales(memory, scales_of_a(call, i, extent), scale_a);
      gather_scales(memory, scales_of_b(call, i, extent), scale_b);
    }
    KeptLanes kept(memory, d, entry.disabled + 4 * c);
    // Blocks of D whose rows are neighbouring lanes.
    const int halves = extent.halves() ? 2 : 1, blocks = extent.half_quarters() ? 4 : 1;
    const int rows = extent.rows() / blocks, columns = extent.n / halves;
    for (int half = 0; half < halves; ++half)
      for (int block = 0; block < blocks; ++block) {
        const Place at = accumulator_place(extent, block * rows, half * columns);
        const u8* a_rows = a[call.a_in_tensor_memory ? half : 0] + static_cast<u32>(block * rows) * kRowBytes;
        multiply(how, rows, columns, a_rows, b + static_cast<u32>(half * columns) * kRowBytes,
                 scale_a + block * rows * call.scale_vector, scale_b + half * columns * call.scale_vector,
                 memory.row(lane_of(call.d) + static_cast<u32>(at.lane), d.first), static_cast<int>(kColumns),
                 call.accumulate, math);
      }
    kept.restore();
  }
}

void TensorEngine::copy_rows(const Entry& entry, Cta& cta) {
  u32 offsets[kCopyChunks];
  alignas(16) u8 rows[128 * 32];
  copy_chunks(cta, entry.descriptor, entry.shape, offsets, entry.origin);
  gather_copy(cta.shared.get(), entry.shape, entry.unpack, offsets, rows);
  TensorMemory& memory = of(cta).memory_;
  const u32 bytes = 4 * static_cast<u32>(columns_of(entry.shape));
  for (int row = 0; row < rows_of(entry.shape); ++row)
    for (int copy = 0; copy < copies_of(entry.shape); ++copy)
      std::memcpy(memory.row(static_cast<u32>(copy_lane(entry.shape, row, copy)), column_of(entry.address)),
                  rows + static_cast<u32>(row) * bytes, bytes);
}

}  // namespace ww::emu::sm100
