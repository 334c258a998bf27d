// SPDX-License-Identifier: Apache-2.0
// The corpus as one checked kernel module, made as run-time compiled ones are: hidden, hooked, loaded by itself.
#include "gemm_kernels.hpp"
#include "kernels/clusters.hpp"
#include "kernels/counts.hpp"
#include "kernels/early.hpp"
#include "kernels/global.hpp"
#include "kernels/patterns.hpp"
#include "kernels/pipelines.hpp"
#include "kernels/product.hpp"
#include "kernels/ring.hpp"
#include "kernels/shared.hpp"
#include "kernels/store.hpp"
#include "kernels/tensor_map.hpp"

WW_MODULE()
