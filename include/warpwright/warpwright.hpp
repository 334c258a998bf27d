// SPDX-License-Identifier: Apache-2.0
// The host API in one include: devices, problems, plans, kernels of your own, checks.
#pragma once

#include "warpwright/host/check.hpp"
#include "warpwright/host/compile.hpp"
#include "warpwright/host/config.hpp"
#include "warpwright/host/device.hpp"
#include "warpwright/host/emulation.hpp"
#include "warpwright/host/explain.hpp"
#include "warpwright/host/gemm.hpp"
#include "warpwright/host/grouped.hpp"
#include "warpwright/host/k_grouped.hpp"
#include "warpwright/host/kernel.hpp"
#include "warpwright/host/launch.hpp"
#include "warpwright/host/microscale.hpp"
#include "warpwright/host/pack_scales.hpp"
#include "warpwright/host/prepare.hpp"
#include "warpwright/host/quantize.hpp"
#include "warpwright/host/report.hpp"
#include "warpwright/host/result.hpp"
#include "warpwright/host/verify.hpp"
