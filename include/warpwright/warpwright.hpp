// SPDX-License-Identifier: Apache-2.0
// The host API in one include: devices, problems, plans.
#pragma once

#include "warpwright/host/device.hpp"
#include "warpwright/host/gemm.hpp"
#include "warpwright/host/grouped.hpp"
#include "warpwright/host/k_grouped.hpp"
#include "warpwright/host/prepare.hpp"
#include "warpwright/host/result.hpp"
