// SPDX-License-Identifier: Apache-2.0
// Selects the executor of the instructions: PTX (nvcc and NVRTC) or the emulator (any other compiler). A translation
// unit belongs to one of them. Every file of this folder holds the two bodies of its instructions, in inline namespaces
// `ptx` and `emu`.
// WW_KERNEL defines an entry point for both. Nothing outside arch/ asks which executor it runs on.
#pragma once

#include "warpwright/core/dtype.hpp"

#if defined(__CUDACC__)

// The device pass compiles the bodies; nvcc's host pass only needs declarations that agree.
#define WW_SITE
#define WW_SITE_ONLY
#define WW_RESIDENT_KERNEL(name, threads, ctas, Params, params) \
  extern "C" __global__ void __launch_bounds__(threads, ctas) name(const __grid_constant__ Params params)
#define WW_MODULE()

#else

#include "warpwright/arch/common/emu_table.hpp"

namespace ww::arch {
inline namespace emu {
/// The emulator's operations, which the module's entry copies here; all zero before.
__attribute__((used, visibility("hidden"))) inline EmuTable installed asm("warpwright_operations") = {};
/// The same bytes under the name that instructions use. This second, constant name makes a call one load, where a
/// pointer to the table costs two, and -fsanitize=thread does not instrument loads of a constant.
__attribute__((visibility("hidden"))) extern const EmuTable operations asm("warpwright_operations");
inline constexpr const EmuTable* table = &operations;
inline const KernelEntry* registered = nullptr;        // head of the list of this module's kernels
inline const InstructionPart* needed_parts = nullptr;  // head of the list of the instruction sets that it uses

struct Register {
  explicit Register(KernelEntry& entry) {
    entry.next = registered;
    registered = &entry;
  }
};
/// Names an instruction set that this module uses. The part has static storage.
struct Need {
  explicit Need(InstructionPart& part) {
    part.next = needed_parts;
    needed_parts = &part;
  }
};

/// Copies the table and the instruction sets that the module uses. The table is copied last, because from then on the
/// hooks expect the stack of an emulated thread.
__attribute__((no_sanitize("thread"))) inline void install(const EmuTable& from) {
  for (const InstructionPart* part = needed_parts; part; part = part->next)
    if (const void* set = from.instructions(part->set, part->version, part->bytes))
      __builtin_memcpy(part->operations, set, part->bytes);
  installed = from;
}
}  // namespace emu
}  // namespace ww::arch

#define WW_SITE , ::ww::arch::Site site = ::ww::arch::Site::here()
#define WW_SITE_ONLY ::ww::arch::Site site = ::ww::arch::Site::here()

#define WW_RESIDENT_KERNEL(name, threads, ctas, Params, params)                                                   \
  static void name(const Params& params);                                                                         \
  static ::ww::arch::KernelEntry name##_entry{#name, [](const void* p) { name(*static_cast<const Params*>(p)); }, \
                                              sizeof(Params), threads, nullptr};                                  \
  static const ::ww::arch::Register name##_registered{name##_entry};                                              \
  static void name(const Params& params)

// WW_MODULE ends every emulator module.
#if defined(WW_CHECKED)
#define WW_MODULE_CHECKED ::ww::arch::hooks::work()
#define WW_MODULE_UNHOOKED __attribute__((no_sanitize("thread")))
// WW_UNHOOKED marks a function whose accesses the compiler does not announce; WW_ANNOUNCE announces an access in its
// place, as one of its caller.
#define WW_UNHOOKED __attribute__((no_sanitize("thread"), noinline)) inline
#define WW_ANNOUNCE(address, bytes, write) ::ww::arch::hooks::saw(address, bytes, write, __builtin_return_address(0))
#else
#define WW_MODULE_CHECKED false
#define WW_MODULE_UNHOOKED
#define WW_UNHOOKED inline
#define WW_ANNOUNCE(address, bytes, write) static_cast<void>(0)
#endif
#define WW_MODULE()                                                                                  \
  extern "C" __attribute__((visibility("default"))) WW_MODULE_UNHOOKED const ::ww::arch::ModuleInfo* \
  warpwright_module(const ::ww::arch::EmuTable* table) {                                             \
    static ::ww::arch::ModuleInfo info;                                                              \
    if (::ww::arch::installed.version == 0) {                                                        \
      info = {::ww::arch::kEmuTableVersion, WW_MODULE_CHECKED ? 1u : 0u, ::ww::arch::registered,     \
              ::ww::arch::needed_parts};                                                             \
      if (table->version == ::ww::arch::kEmuTableVersion) ::ww::arch::install(*table);               \
    }                                                                                                \
    return &info;                                                                                    \
  }

#endif

namespace ww::arch {

/// A byte address in the shared memory of this CTA; with another CTA's rank in its upper bits, one of the cluster.
struct SharedAddress {
  u32 value;
  WW_HOST_DEVICE constexpr SharedAddress operator+(u32 bytes) const { return {value + bytes}; }
};

/// A shared-memory pointer with an element type, the engine of shared tensors.
template <class T> struct SharedPtr {
  using value_type = T;
  SharedAddress address;
  WW_HOST_DEVICE constexpr SharedPtr operator+(i64 elements) const {
    return {{address.value + static_cast<u32>(elements * static_cast<i64>(sizeof(T)))}};
  }
};

}  // namespace ww::arch

#if defined(WW_CHECKED) && !defined(__CUDACC__)
#include "warpwright/arch/common/hooks.hpp"
#endif

// A kernel at an occupancy of one CTA per SM, which therefore has all registers of the SM.
#define WW_KERNEL(name, threads, Params, params) WW_RESIDENT_KERNEL(name, threads, 1, Params, params)
