// SPDX-License-Identifier: Apache-2.0
#include "case.hpp"

#include "emu/sm90/model.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <stdexcept>

namespace ww::check_test {

namespace {

constexpr std::size_t kAlignWords = 64;  // 256 bytes, as device allocations are

u32* aligned(std::vector<u32>& storage, const std::vector<u32>& words) {
  storage.assign(words.size() + kAlignWords, 0);
  const auto address = reinterpret_cast<std::uintptr_t>(storage.data());
  u32* start = storage.data() + (kAlignWords - address / 4 % kAlignWords) % kAlignWords;
  std::copy(words.begin(), words.end(), start);
  return start;
}

std::string base_name(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

constexpr const char* kHeaders[] = {"ring.hpp",      "shared.hpp", "product.hpp", "store.hpp",
                                    "clusters.hpp",  "global.hpp", "counts.hpp",  "tensor_map.hpp",
                                    "pipelines.hpp", "early.hpp",  "patterns.hpp"};

/// The lines of a kernel header, first is number 1; empty when there is no such header.
std::vector<std::string> lines_of(const std::string& header) {
  std::ifstream file(std::string(WW_CHECK_KERNELS) + "/" + header);
  std::vector<std::string> lines(1);
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

bool bears(const std::string& line, const std::string& mark) {
  const std::string token = "@" + mark;
  for (std::size_t at = line.find(token); at != std::string::npos; at = line.find(token, at + 1)) {
    const std::size_t end = at + token.size();
    if (end == line.size() || line[end] == ' ') return true;
  }
  return false;
}

template <class Kind> constexpr auto searching_schedules() {
  if constexpr (requires { Kind::pct, Kind::adversarial; })
    return std::array{Kind::random, Kind::pct, Kind::adversarial};
  else return std::array{Kind::random};
}

}  // namespace

Prepared::Prepared(const Case& c, Edit edit) : case_(c), entry_(find_kernel(c.kernel)) {
  if (!entry_) throw std::runtime_error(std::string("no kernel ") + c.kernel);
  in_words_ = aligned(in_, c.in);
  out_words_ = aligned(out_, c.out);
  params_.in = in_words_;
  params_.out = out_words_;
  params_.edit = edit;
  std::copy(c.arg.begin(), c.arg.end(), params_.arg);
  for (std::size_t i = 0; i < c.tensors.size(); ++i) {
    runtime::TensorMapSpec spec = c.tensors[i].spec;
    spec.base = c.tensors[i].in_output ? out_words_ : in_words_;
    auto map = emu::encode(spec);
    if (!map) throw std::runtime_error(c.name + ": " + map.error().message);
    params_.map[i] = *map;
  }
  memory_ = {{{"in", in_words_, c.in.size() * 4, false}, {"out", out_words_, c.out.size() * 4, true}}};
}

runtime::Launch Prepared::launch() {
  std::copy(case_.out.begin(), case_.out.end(), out_words_);
  if (case_.map_in_out) std::memcpy(out_words_, &params_.map[0], sizeof(params_.map[0]));
  runtime::Launch launch;
  launch.grid = case_.grid;
  launch.cluster = case_.cluster;
  launch.threads = case_.threads;
  launch.shared_bytes = case_.shared_bytes;
  launch.params = &params_;
  launch.params_bytes = sizeof(params_);
  launch.memory = memory_;
  launch.cross_cta = case_.cross_cta;
  launch.pdl = case_.pdl;
  return launch;
}

Result<EmuStats> Prepared::run(const EmuOptions& options) {
  return emu::run(emu::sm90::kModel, *entry_, launch(), options, 8);
}

std::string Prepared::difference() const {
  std::size_t wrong = 0, first = 0;
  for (std::size_t i = case_.expected.size(); i-- > (case_.map_in_out ? sizeof(arch::TensorMap) / 4 : 0);)
    if (out_words_[i] != case_.expected[i]) ++wrong, first = i;
  if (wrong == 0) return {};
  return fmt::format("{} of {} words differ, the first at {}: got 0x{:08x}, expected 0x{:08x}", wrong,
                     case_.expected.size(), first, out_words_[first], case_.expected[first]);
}

const Case& case_named(std::string_view name) {
  for (const Case& c : legal_cases())
    if (c.name == name) return c;
  throw std::runtime_error("no case " + std::string(name));
}

u64 base_seed() {
  static const u64 seed = [] {
    const char* given = std::getenv("WARPWRIGHT_CHECK_SEED");
    return given ? std::strtoull(given, nullptr, 0) : u64{WW_CHECK_SEED};
  }();
  return seed;
}

EmuOptions schedule_of(int index, u64 base) {
  constexpr auto kKinds = searching_schedules<EmuSchedule>();
  EmuOptions options;
  options.seed = base + static_cast<u64>(index);
  options.schedule = kKinds[static_cast<std::size_t>(index) % kKinds.size()];
  options.threads = 1;
  return options;
}

bool is_marked(const std::string& file, int line, const std::vector<std::string>& marks) {
  const std::vector<std::string> lines = lines_of(base_name(file));
  if (line <= 0) return false;
  for (auto at = static_cast<std::size_t>(line); at < lines.size(); ++at) {  // to the end of the statement
    for (const std::string& mark : marks)
      if (bears(lines[at], mark)) return true;
    if (lines[at].find_first_of(";{}") != std::string::npos) break;
  }
  return false;
}

bool mark_exists(const std::string& mark) {
  for (const char* header : kHeaders)
    for (const std::string& line : lines_of(header))
      if (bears(line, mark)) return true;
  return false;
}

bool names_mark(const Finding& finding, const std::vector<std::string>& marks) {
  if (marks.empty()) return true;
  for (const FindingParty* party : {&finding.first, &finding.second})
    if (is_marked(party->file, party->line, marks) || is_marked(party->inner_file, party->inner_line, marks))
      return true;
  for (const char* header : kHeaders) {  // a deadlock names every waiting thread
    const std::string prefix = std::string(header) + ":";
    for (std::size_t at = finding.text.find(prefix); at != std::string::npos; at = finding.text.find(prefix, at + 1))
      if (is_marked(header, std::atoi(finding.text.c_str() + at + prefix.size()), marks)) return true;
  }
  return false;
}

}  // namespace ww::check_test
