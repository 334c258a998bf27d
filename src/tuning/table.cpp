// SPDX-License-Identifier: Apache-2.0
// Reads, writes and searches tuning files.
#include "tuning/table.hpp"

#include <climits>
#include <cmath>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "host/messages.hpp"
#include "warpwright/host/config.hpp"

namespace ww::tuning {
namespace {

using Json = nlohmann::json;

/// Reads the members of one line; the first that is missing or of another type is the error.
class Members {
 public:
  Members(const Json& object, std::string where) : object_(object), where_(std::move(where)) {}

  std::string text(const char* key) {
    const Json& value = member(key);
    if (value.is_string()) return value.get<std::string>();
    refuse(key, "a text", value);
    return {};
  }
  std::string text_or_empty(const char* key) { return member(key).is_null() ? std::string() : text(key); }
  std::int64_t size(const char* key) {
    const Json& value = member(key);
    if (value.is_number_integer() && value.get<std::int64_t>() >= 0) return value.get<std::int64_t>();
    refuse(key, "an integer from 0", value);
    return 0;
  }
  double time(const char* key) {
    const Json& value = member(key);
    if (value.is_number() && value.get<double>() > 0) return value.get<double>();
    refuse(key, "a positive number", value);
    return 0;
  }
  bool flag_or_false(const char* key) {
    const Json& value = member(key);
    if (!value.is_null() && !value.is_boolean()) refuse(key, "true or false", value);
    return value.is_boolean() && value.get<bool>();
  }
  std::vector<Timing> times(const char* key) {
    std::vector<Timing> list;
    const Json& value = member(key);
    if (!value.is_array() || value.empty()) refuse(key, "an array of configs and times", value);
    else
      for (const Json& entry : value) {
        Members timing(entry, where_);
        list.push_back({timing.text("config"), timing.time("us")});
        if (!error_) error_ = timing.error_;
      }
    return list;
  }
  const std::optional<Error>& error() const { return error_; }

 private:
  const Json& member(const char* key) const {
    static const Json nothing;
    return object_.is_object() && object_.contains(key) ? object_.at(key) : nothing;
  }
  void refuse(const char* key, const char* expected, const Json& value) {
    if (error_) return;
    // Arrays and objects are named and not shown, because their nesting has no limit.
    const std::string text = value.is_null()         ? "nothing"
                             : value.is_structured() ? std::string("an ") + value.type_name()
                                                     : value.dump(-1, ' ', true, Json::error_handler_t::replace);
    error_ = make_error(ErrorCode::invalid, "tuning", fmt::format("{} as {} in {}", expected, key, where_),
                        text.substr(0, 80));
  }

  const Json& object_;
  std::string where_;
  std::optional<Error> error_;
};

std::string where_text(const std::filesystem::path& path, int number) {
  return fmt::format("{}, line {}", path.string(), number);
}

Result<Line> parse(const std::string& text, const std::string& where) {
  const Json object = Json::parse(text, nullptr, false);
  if (!object.is_object())
    return failure(ErrorCode::invalid, "tuning", "a JSON object in " + where, quoted(text.substr(0, 80)));
  Members members(object, where);
  Line line;
  line.problem = {members.text("op"),
                  members.size("m"),
                  members.size("n"),
                  members.size("k"),
                  members.size("count"),
                  members.text("family"),
                  members.text_or_empty("limits")};
  line.place = {members.text("source_hash"), members.text("device"), static_cast<int>(members.size("sms")),
                members.text("driver")};
  line.config = members.text("config"), line.us = members.time("us");
  line.times = members.times("times"), line.date = members.text("date");
  line.modelled = members.flag_or_false("modelled");
  if (members.error()) return failure(*members.error());
  if (const std::int64_t sms = members.size("sms"); sms > INT_MAX)
    return failure(ErrorCode::invalid, "tuning", fmt::format("member sms of at most {} in {}", INT_MAX, where),
                   fmt::format("{}", sms));
  return line;
}

std::int64_t extent_of(const Problem& p) { return p.op == "k-grouped" ? p.k : p.m; }

std::string key_of(const Problem& p) {
  return fmt::format("{} {} {} {} {} {}", p.op, p.op == "k-grouped" ? p.m : p.k, p.n, p.count, p.limits, p.family);
}

std::string major_of(const std::string& driver) { return driver.substr(0, driver.find('.')); }

}  // namespace

std::string to_text(const Line& line) {
  io::List times;
  for (const Timing& timing : line.times) times.emplace_back(io::Fields{{"config", timing.config}, {"us", timing.us}});
  io::Fields fields{{"op", line.problem.op}, {"m", line.problem.m},         {"n", line.problem.n},
                    {"k", line.problem.k},   {"count", line.problem.count}, {"family", line.problem.family}};
  if (!line.problem.limits.empty()) fields.emplace_back("limits", line.problem.limits);
  for (auto& field : io::Fields{{"config", line.config},
                                {"us", line.us},
                                {"times", std::move(times)},
                                {"source_hash", line.place.source_hash},
                                {"device", line.place.device},
                                {"sms", line.place.sms},
                                {"driver", line.place.driver},
                                {"date", line.date}})
    fields.push_back(std::move(field));
  if (line.modelled) fields.emplace_back("modelled", true);
  return io::to_json(fields);
}

std::string staleness(const Place& line, const Place& place) {
  if (line.source_hash != place.source_hash)
    return fmt::format("its kernels have the source hash {}, those of this library {}", line.source_hash,
                       place.source_hash);
  if (line.device != place.device) return fmt::format("it was measured on {}, not on {}", line.device, place.device);
  if (line.sms != place.sms)
    return fmt::format("it was measured on {} SMs, and this device has {}", line.sms, place.sms);
  if (major_of(line.driver) != major_of(place.driver))
    return fmt::format("it was measured with a driver for CUDA {}, and this one is for {}", line.driver, place.driver);
  return "";
}

Result<std::vector<FileLine>> read_lines(const std::filesystem::path& path) {
  std::error_code none;
  if (!std::filesystem::is_regular_file(path, none))  // a FIFO would block, and a device need not end
    return failure(ErrorCode::invalid, "tuning", "a regular file, as `warpwright tune` writes it", path.string());
  std::ifstream file(path);
  if (!file)
    return failure(ErrorCode::invalid, "tuning", "a readable file, as `warpwright tune` writes it", path.string());
  std::vector<FileLine> lines;
  std::string text;
  for (int number = 1; std::getline(file, text); ++number) {
    if (text.find_first_not_of(" \t\r") == std::string::npos) continue;
    WW_TRY(Line line, parse(text, where_text(path, number)));
    lines.push_back({std::move(line), text, number});
  }
  return lines;
}

Result<std::shared_ptr<const Table>> Table::open(const std::filesystem::path& path, const Place& place) {
  WW_TRY(const std::vector<FileLine> lines, read_lines(path));
  const auto table = std::make_shared<Table>();
  for (const FileLine& one : lines) {
    Entry entry{.extent = extent_of(one.line.problem),
                .config = {},
                .us = one.line.us,
                .measured = one.line.times.size(),
                .modelled = one.line.modelled,
                .where = where_text(path, one.number),
                .stale = staleness(one.line.place, place)};
    if (entry.stale.empty()) {
      const Result<GemmConfig> config = parse_config(one.line.config);
      if (!config)
        return failure(ErrorCode::invalid, "tuning", fmt::format("a config in {}", entry.where),
                       quoted(one.line.config), config.error().message);
      entry.config = *config;
    }
    table->entries_[key_of(one.line.problem)].push_back(std::move(entry));
  }
  return table;
}

const Table::Entry* Table::find(const Problem& problem) const {
  const auto found = entries_.find(key_of(problem));
  if (found == entries_.end()) return nullptr;
  const std::int64_t extent = extent_of(problem);
  const Entry* best = nullptr;
  for (const Entry& entry : found->second) {
    if (entry.extent < extent || entry.extent - extent > extent / 4) continue;
    const bool better = best == nullptr || (entry.stale.empty() && !best->stale.empty()) ||
                        (entry.stale.empty() == best->stale.empty() && entry.extent <= best->extent);
    if (better) best = &entry;
  }
  return best;
}

}  // namespace ww::tuning
