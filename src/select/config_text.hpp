// SPDX-License-Identifier: Apache-2.0
// GemmConfig as one line of text and back: what the CLI takes and prints, what a bench result stores.
//   arch=sm90,a=e4m3,b=e4m3,d=bf16,scale=block,tile=128x128x128,cluster=2x1,stages=6,warpgroups=2,raster=8
// and, for grouped products, ",mechanism=ragged,order=dynamic,groups=128" after it.
// Missing keys are auto. parse_config(to_text(c)) == c for every config that may be asked for; the text of a kernel
// under swap-AB may have 16-bit column vectors, which no request does.
#pragma once

#include <string>
#include <string_view>

#include "warpwright/collective/gemm_config.hpp"
#include "warpwright/host/result.hpp"

namespace ww {

std::string to_text(const GemmConfig& config);

/// The value of a field as collective::fault_of names it: "tile (n)" of tile=128x136x128 is "136".
std::string field_text(const GemmConfig& config, std::string_view field);

/// `base` supplies what the text leaves out. Errors: invalid, naming the key, what it takes and what came.
Result<GemmConfig> parse_config(std::string_view text, GemmConfig base = {});

Result<DType> parse_dtype(std::string_view text, std::string_view argument);
Result<Scale> parse_scale(std::string_view text, std::string_view argument);
/// How A and B are stored, in the words of a BLAS for row-major arrays: A (M, K) is n and (K, M) t, B (K, N) is n and
/// (N, K) t. nt is both K-major.
struct MatrixLayout {
  Major a = Major::k, b = Major::k;
};
const char* name_of(MatrixLayout layout);
Result<MatrixLayout> parse_layout(std::string_view text, std::string_view argument);

Result<OperandSource> parse_operand_source(std::string_view text, std::string_view argument);
Result<Mechanism> parse_mechanism(std::string_view text, std::string_view argument);
Result<Schedule> parse_schedule(std::string_view text, std::string_view argument);
Result<TileOrder> parse_order(std::string_view text, std::string_view argument);

}  // namespace ww
