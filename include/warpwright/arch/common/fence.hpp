// SPDX-License-Identifier: Apache-2.0
// Fences between proxies (ordinary accesses and the async units access memory through different proxies) and between
// scopes.
//   ordinary write -> fence::proxy_async_shared -> barrier -> TMA store or wgmma read
// PTX ISA: fence.*, membar, fence.proxy.
#pragma once

#include "warpwright/arch/common/executor.hpp"

namespace ww::arch::fence {

#if defined(__CUDACC__)
inline namespace ptx {
/// Makes initialised barriers visible to the cluster. It precedes the cluster barrier that follows their
/// initialisation.
WW_DEVICE void mbarrier_init() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
/// Orders this thread's earlier accesses to shared memory before later ones of the async proxy.
WW_DEVICE void proxy_async_shared() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
WW_DEVICE void proxy_async_global() { asm volatile("fence.proxy.async.global;" ::: "memory"); }
WW_DEVICE void proxy_async() { asm volatile("fence.proxy.async;" ::: "memory"); }
WW_DEVICE void acq_rel_cta() { asm volatile("fence.acq_rel.cta;" ::: "memory"); }
WW_DEVICE void acq_rel_cluster() { asm volatile("fence.acq_rel.cluster;" ::: "memory"); }
WW_DEVICE void acq_rel_gpu() { asm volatile("fence.acq_rel.gpu;" ::: "memory"); }
WW_DEVICE void acq_rel_system() { asm volatile("fence.acq_rel.sys;" ::: "memory"); }
WW_DEVICE void sc_cta() { asm volatile("fence.sc.cta;" ::: "memory"); }
WW_DEVICE void sc_cluster() { asm volatile("fence.sc.cluster;" ::: "memory"); }
WW_DEVICE void sc_gpu() { asm volatile("fence.sc.gpu;" ::: "memory"); }
WW_DEVICE void sc_system() { asm volatile("fence.sc.sys;" ::: "memory"); }
}  // namespace ptx
#else
inline namespace emu {
WW_DEVICE void mbarrier_init(WW_SITE_ONLY) { table->fence(Fence::mbarrier_init, site); }
WW_DEVICE void proxy_async_shared(WW_SITE_ONLY) { table->fence(Fence::proxy_async_shared, site); }
WW_DEVICE void proxy_async_global(WW_SITE_ONLY) { table->fence(Fence::proxy_async_global, site); }
WW_DEVICE void proxy_async(WW_SITE_ONLY) { table->fence(Fence::proxy_async, site); }
WW_DEVICE void acq_rel_cta(WW_SITE_ONLY) { table->fence(Fence::acq_rel_cta, site); }
WW_DEVICE void acq_rel_cluster(WW_SITE_ONLY) { table->fence(Fence::acq_rel_cluster, site); }
WW_DEVICE void acq_rel_gpu(WW_SITE_ONLY) { table->fence(Fence::acq_rel_gpu, site); }
WW_DEVICE void acq_rel_system(WW_SITE_ONLY) { table->fence(Fence::acq_rel_system, site); }
WW_DEVICE void sc_cta(WW_SITE_ONLY) { table->fence(Fence::sc_cta, site); }
WW_DEVICE void sc_cluster(WW_SITE_ONLY) { table->fence(Fence::sc_cluster, site); }
WW_DEVICE void sc_gpu(WW_SITE_ONLY) { table->fence(Fence::sc_gpu, site); }
WW_DEVICE void sc_system(WW_SITE_ONLY) { table->fence(Fence::sc_system, site); }
}  // namespace emu
#endif

}  // namespace ww::arch::fence
