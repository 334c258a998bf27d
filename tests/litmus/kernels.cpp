// SPDX-License-Identifier: Apache-2.0
// The litmus kernels as one checked module, compiled as src/jit compiles the kernels that a user checks.
#include "kernels/async.hpp"
#include "kernels/atomics.hpp"
#include "kernels/barriers.hpp"
#include "kernels/causality.hpp"
#include "kernels/clusters.hpp"
#include "kernels/fences.hpp"
#include "kernels/message_passing.hpp"
#include "kernels/proxies.hpp"

WW_MODULE()
