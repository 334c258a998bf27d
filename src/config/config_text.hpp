// SPDX-License-Identifier: Apache-2.0
// GemmConfig as one line of text and back. The CLI takes and prints it, and bench results store it.
//   arch=sm90,a=e4m3,b=e4m3,d=bf16,scale=block,tile=128x128x128,cluster=2x1,raster=8,band=m,schedule=cooperative,
//   stages=6,consumer_warpgroups=2,partial_accumulators=2,tile_scheduler=static,a_source=shared,swap_ab=off,occupancy=1
// Missing keys are open. The text of a resolved config is closed: on every device it resolves to the same kernel.
// parse_config(to_text(c)) == c for every config that a caller may request. The text of a kernel under swap-AB may have
// 16-bit column vectors, which no request has.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "warpwright/config/gemm_config.hpp"
#include "warpwright/host/config.hpp"
#include "warpwright/host/result.hpp"

namespace ww {

/// Returns the value of a field by the name that config::fault_of gives it: "tile (n)" of tile=128x136x128 is
/// "136".
std::string field_text(const GemmConfig& config, std::string_view field);

/// A field of the config as a flag of the program.
struct ConfigFieldFlag {
  std::string flag;    // "--a-source"
  std::string key;     // "a_source"
  std::string values;  // "auto|shared|registers", or "auto|INT" and the like if the field has no named values
  std::string help;
  bool dense, rows, k_groups;  // the groupings whose kernels have the field
};
/// Returns the fields that have help in their table, in its order.
std::vector<ConfigFieldFlag> config_field_flags();
/// Refuses a config of another architecture than the device's.
Result<void> check_arch(const GemmConfig& config, Arch device);
/// Whether `text`, which parses, has the key.
bool names_key(std::string_view text, std::string_view key);

Result<DType> parse_dtype(std::string_view text, std::string_view argument);
/// Parses one of nt, nn, tn, tt.
Result<MatrixLayout> parse_layout(std::string_view text, std::string_view argument);

}  // namespace ww
