// SPDX-License-Identifier: Apache-2.0
// What every operation's flags have in common, as values: where to run, which types and scales, which files.
// Flags are parsed, files opened and their headers checked; nothing is allocated and no device is touched.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "cli/flags.hpp"
#include "host/messages.hpp"
#include "io/array_file.hpp"
#include "warpwright/host/gemm.hpp"

namespace ww::cli {

using namespace io;
using namespace ref;

struct Types {
  DType ab = DType::e4m3, d = DType::bf16;
  DType b = DType::e4m3;  // as ab, but for mixed FP8
  Scale scale = Scale::none;
};

struct Request {
  Types types;
  GemmOptions options;
  DeviceOptions device_options;
  std::string device = "auto";
  std::uint64_t seed = 0;
  bool verify = false;
  std::optional<std::string> out;
  std::optional<ArrayFile> a, b, scale_a, scale_b;  // operands that come from files
  /// Where every operand comes from, a file or "generated"; empty when all are generated.
  std::vector<std::pair<std::string, std::string>> sources;
};

/// "  operands   a x.npy, b generated": one line, or nothing when all are generated.
std::string sources_text(const Request& request);

/// In place of a file: random values.
inline constexpr const char* kGenerated = "generated";
/// The file that a flag names, or nothing.
Result<std::optional<ArrayFile>> open_operand(const Flag& flag, const std::string& argument);

/// Returns the architecture of an emulated device. That of others is known once they are open.
std::optional<Arch> emulated_arch(std::string_view device);

/// Everything above but `verify`; shapes of files are not looked at.
Result<void> resolve_request(const Flags& flags, Request& request);

/// One of `names`, as its index; `otherwise` without a flag.
Result<int> parse_choice(const Flag& flag, const std::string& argument, std::initializer_list<const char*> names,
                         int otherwise);

/// --split, at most `most`, into `config`, whose tile scheduler --tile-scheduler has set.
Result<void> resolve_split(const Flags& flags, std::int64_t most, GemmConfig& config);

/// --emu-schedule, one of the emulated device's, as EmuSchedule; `otherwise` without a flag.
Result<int> parse_emu_schedule(const Flag& flag, int otherwise);

/// A size from its flag, else from the first file that has it, else the default; all that are given must agree.
Result<std::int64_t> resolve_size(const Flag& flag, const std::string& argument, std::optional<std::int64_t> file,
                                  std::int64_t otherwise);

Result<void> expect_shape(const std::optional<ArrayFile>& array, std::vector<std::int64_t> shape, const char* meaning);

/// Refuses an array whose bytes do not fit 63 bits. `of_first` is the flag of the first extent, which is named if the
/// array would fit without that extent.
Result<void> expect_bytes(const char* argument, std::vector<std::int64_t> shape, int element_bytes,
                          const char* of_first = nullptr);

/// Elements from one row of A or B to the next: K rounded up, because rows start at multiples of 16 bytes and a file's
/// or a user's K need not.
Result<std::int64_t> operand_row(std::int64_t k, DType type);

/// Refuses sizes beside --cases, which has them, and flags of peers beside --no-peers.
Result<void> check_cases_flags(const Flags& flags);

/// Files of scales are float32, and there only with a recipe that reads them.
Result<void> check_scale_files(const Flags& flags, const Request& request);

/// Refuses a flag that contradicts what --config says of the same field. `chosen` has what the flags ask for.
Result<void> check_config_agrees(const Flags& flags, const GemmConfig& chosen);

/// Refuses a --config that names another grouping than that of the operation, which `of` describes.
Result<void> check_grouping(const Flags& flags, const GemmConfig& config, Grouping grouping, const char* of);

/// Refuses a --config that says of `batched` what the problem, "a batch" or not, contradicts.
Result<void> check_batched(const Flags& flags, const GemmConfig& config, bool batched, const char* of_batch);

inline std::int64_t blocks_of(std::int64_t size) { return size / 128 + (size % 128 != 0); }

}  // namespace ww::cli
