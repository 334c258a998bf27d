// SPDX-License-Identifier: Apache-2.0
// The memory that a thread may access: shared memory of its cluster, and the global ranges that the launch names.
// Every access is checked for bounds, alignment and permission before the kernel gets a pointer.
#pragma once

#include <string>

#include "emu/cta.hpp"
#include "host/kernel_launch.hpp"

namespace ww::emu {

struct SharedPlace {
  Cta* cta = nullptr;
  u32 offset = 0;
  u8* data() const { return cta->shared.get() + offset; }
};

/// Returns the bytes at a shared address; reports when they do not all exist or the CTA has exited.
SharedPlace shared_place(Thread& thread, u32 address, u32 bytes, u32 alignment, arch::Site site);
/// Does the same for this CTA's own memory only.
SharedPlace own_shared_place(Thread& thread, u32 address, u32 bytes, u32 alignment, const char* what, arch::Site site);

void* shared_access(Thread& thread, u32 address, u32 bytes, arch::Access access, arch::Ordering ordering,
                    arch::Site site);
/// Issues st.async: `bytes` of `words`, 4 or 16, arrive at `address` later; then `barrier`, in the same CTA, counts
/// them.
void store_async(Thread& thread, u32 address, const u32* words, u32 bytes, u32 barrier, arch::Site site);
/// Completes an st.async. Called by the machine.
void land_store(Operation& operation);
void* global_access(Thread& thread, const void* address, u32 bytes, arch::Access access, arch::Ordering ordering,
                    arch::Site site);

/// Returns the index of the launch's memory range that holds [base, base + bytes); -1 when none does. Operands may lie
/// between the rows of others, so that several hold it; a `write` prefers one that is writable.
int range_of(const Machine& machine, u64 base, u64 bytes, bool write = false);

/// Returns an address in words: the operand that holds it or the nearest one, and the offset, because addresses differ
/// from run to run.
std::string words_of_place(const runtime::Launch& launch, u64 address, u64 bytes);

}  // namespace ww::emu
