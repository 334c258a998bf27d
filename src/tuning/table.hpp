// SPDX-License-Identifier: Apache-2.0
// A tuning file: the fastest of the measured configs for each of a list of problems, as `warpwright tune` writes it and
// `auto` reads it (docs/tuning.md). One JSON object a line:
//   {"op":"gemm","m":64,"n":4096,"k":7168,"count":1,"family":"arch=sm90,a=e4m3,...","config":"arch=sm90,...","us":11.6,
//    "times":[{"config":"arch=sm90,...","us":11.6}],"source_hash":"xxh3-128:...","device":"NVIDIA H200","sms":132,
//    "driver":"13.0","date":"2026-11-23T18:00:00Z"}
// A line that was measured elsewhere or with other kernels is stale: it is kept and not used.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "io/json.hpp"
#include "warpwright/config/gemm_config.hpp"
#include "warpwright/host/result.hpp"

namespace ww::tuning {

/// What a choice depends on.
struct Problem {
  std::string op;                    // "gemm", "grouped", "masked", "k-grouped"
  std::int64_t m = 0, n = 0, k = 0;  // m of grouped: rows of all groups; k of k-grouped: that of all groups
  std::int64_t count = 1;            // products of a batch, or groups
  std::string family;                // types, recipe, layout, epilogue, requested fields: the text of an open config
  std::string limits = {};           // other limits of the choice: "batch-invariant", "sms=64"; of a free one empty
  bool operator==(const Problem&) const = default;
};

/// Where and with which kernels times are measured.
struct Place {
  std::string source_hash, device;
  int sms = 0;
  std::string driver;  // "13.0"; empty where there is none
  bool operator==(const Place&) const = default;
};

struct Timing {
  std::string config;
  double us = 0;
};

struct Line {
  Problem problem;
  Place place;
  std::string config;         // closed text of the one to take
  double us = 0;              // its time
  std::vector<Timing> times;  // of all that were measured
  std::string date;
  bool modelled = false;  // its times are the cost model's: chosen so that a list of problems needs few kernels
};

/// Returns the line as JSON, without a line break.
std::string to_text(const Line& line);

/// Returns why `line` says nothing about `place`, or "".
std::string staleness(const Place& line, const Place& place);

/// A line of a file as it stands there.
struct FileLine {
  Line line;
  std::string text;
  int number = 0;
};
/// Reads every line of a file. Errors name the file, the line, what was expected and what it has.
Result<std::vector<FileLine>> read_lines(const std::filesystem::path& path);

/// The choices of one file for one device.
class Table {
 public:
  struct Entry {
    std::int64_t extent = 0;  // rows, or K of groups of K
    GemmConfig config;
    double us = 0;
    std::size_t measured = 0;  // configs
    bool modelled = false;     // none was; `us` is the model's
    std::string where;         // "tuning.jsonl, line 3"
    std::string stale;         // why it is not used; then config is not set
  };
  /// Lines of other places are kept as stale.
  static Result<std::shared_ptr<const Table>> open(const std::filesystem::path& path, const Place& place);
  /// Returns the entry of the problem with the same extent, otherwise of the next larger one that is at most a quarter
  /// larger, because tiles that cover its rows cover fewer too. Of several, the last one counts. Returns null if there
  /// is none, and a stale entry only if no other fits.
  const Entry* find(const Problem& problem) const;

 private:
  std::unordered_map<std::string, std::vector<Entry>> entries_;  // by everything but the extent
};

}  // namespace ww::tuning
