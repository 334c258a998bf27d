// SPDX-License-Identifier: Apache-2.0
// Fits the constants of the model of grouped products to recorded times, and shows what its choices lose.
//   fit_grouped_model <result.json>...          with today's constants
//   fit_grouped_model --times <result.json>...  the same, and recorded and modelled time of every config
//   fit_grouped_model --fit <result.json>...    fits to two thirds of the problems and judges by the third left out,
//                                               then fits to all and prints the constants
//   fit_grouped_model --only NAME,... <result.json>...  fits these constants alone, to all problems, and prints them:
//                                               where few results have the tiles that they stand for
//   fit_grouped_model --features <result.json>...  prints the input of tools/fit_correction.py --grouped: a line for
//                                               each recorded time, with the features of its config for the sizes that
//                                               the groups had
// Fits are without corrections.
// A result is what bench/grouped_random.py or bench/grouped_torch.py writes.
#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <string>

#include "grouped_fit.hpp"
#include "select/grouped_correction.hpp"

namespace {

using namespace ww;
using namespace ww::testing;

/// Accumulates ratios of the time of a choice to the best time of its problem: their geometric mean, the largest, and
/// the numbers of those up to 1.03 and above 1.08.
struct Loss {
  double logs = 0, worst = 1;
  int cases = 0, near = 0, far = 0;
  void add(double ratio) {
    logs += std::log(ratio), worst = std::max(worst, ratio), near += ratio <= 1.03;
    far += ratio > 1.08, ++cases;
  }
  std::string text() const {
    return cases == 0 ? "none"
                      : fmt::format("mean {:.3f}, worst {:.3f}, of {} {:.0f} % within 3 %, {} more than 8 % behind",
                                    std::exp(logs / cases), worst, cases, 100.0 * near / cases, far);
  }
};

void print(const GroupedCases& cases, const GroupedConstants& k) {
  for (const GroupedCase& one : cases) {
    fmt::print("{}: best {:.3f}\n", one.name, one.best);
    for (const GroupedTime& t : one.times) {
      const double known = modelled_us(one, one.known, t.config, k),
                   assumed = modelled_us(one, one.assumed, t.config, k);
      fmt::print("    {:>10.3f}{} {:>10.3f} {:>6.3f} {:>10.3f}  {}\n", t.us, t.rough ? "~" : " ", known, known / t.us,
                 assumed, to_text(t.config));
    }
  }
}

void print_features(const GroupedCases& cases) {
  fmt::print("problem,kind,recorded,best,modelled");
  for (int f = 0; f < select::kGroupedFeatures; ++f) fmt::print(",{}", name_of(select::GroupedFeature(f)));
  fmt::print("\n");
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const GroupedCase& one = cases[i];
    for (const GroupedTime& t : one.times) {
      if (!select::has_correction(one.problem, one.known, t.config)) continue;
      const select::Cost cost = select::cost_of(one.problem, one.known, t.config, kGroupedSms, uncorrected_groups());
      fmt::print("{},{},{},{},{}", i, one.kind, t.us, one.best, cost.total());
      for (const float value : select::features_of(one.problem, one.known, t.config, cost)) fmt::print(",{}", value);
      fmt::print("\n");
    }
  }
}

/// What today's rules, the model with assumed sizes, and the model with known sizes lose, for each class. All three are
/// judged by the same problems: those where the config that the rules take has a time.
void summary(const char* what, const GroupedCases& cases, const GroupedConstants& k, bool each) {
  fmt::print("{}: {} problems, root mean square error {:.1f} %\n", what, cases.size(), 100 * error_of(cases, k));
  std::map<std::string, Loss> rules, assumed, known;
  int unpaired = 0;
  for (const GroupedCase& one : cases) {
    GemmConfig open;
    const GroupedTime* by_rules = one.find(select::choose_grouped(one.problem, open, kGroupedSms));
    const GroupedTime &by_assumed = taken(one, one.assumed, k), &by_known = taken(one, one.known, k);
    unpaired += by_rules == nullptr;
    const std::string masked = one.problem.encoding == GroupEncoding::masked ? " masked" : "";
    for (const std::string& kind :
         {std::string("all"), one.kind, one.kind + " " + name_of(one.problem.scale) + masked}) {
      if (by_rules == nullptr) continue;
      rules[kind].add(by_rules->us / one.best);
      assumed[kind].add(by_assumed.us / one.best), known[kind].add(by_known.us / one.best);
    }
    if (each && by_assumed.us > 1.03 * one.best)
      fmt::print("  {:.3f} {} (rules {:.3f}, sizes known {:.3f}): {}\n", by_assumed.us / one.best, one.name,
                 by_rules != nullptr ? by_rules->us / one.best : std::nan(""), by_known.us / one.best,
                 to_text(by_assumed.config));
  }
  if (unpaired > 0) fmt::print("  {} problems without a time of the rules' config are not compared\n", unpaired);
  for (const auto& [kind, loss] : assumed)
    fmt::print("  {:<20} rules: {}\n                       model: {}\n                       known: {}\n", kind,
               rules[kind].text(), loss.text(), known[kind].text());
}

/// Returns the problems whose number within their class and recipe is `third` modulo 3, or all others.
GroupedCases third_of(const GroupedCases& cases, std::size_t third, bool others) {
  std::map<std::string, std::map<std::string, std::size_t>> numbers;
  GroupedCases part;
  for (const GroupedCase& one : cases) {
    auto& of_class = numbers[one.kind + name_of(one.problem.scale)];
    const std::size_t number = of_class.try_emplace(one.name, of_class.size()).first->second;
    if ((number % 3 == third) != others) part.push_back(one);
  }
  return part;
}

/// Returns the constants whose names are in `list`, which commas separate.
std::vector<Constant> named(const std::string& list) {
  std::vector<Constant> some;
  for (const Constant& f : kGroupedFitted)
    if (("," + list + ",").find(std::string(",") + f.name + ",") != std::string::npos) some.push_back(f);
  return some;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string verb = argc > 1 ? argv[1] : "";
  const bool fits = verb == "--fit", times = verb == "--times", only = verb == "--only" && argc > 2,
             features = verb == "--features";
  GroupedCases cases;
  for (int i = only ? 3 : fits || times || features ? 2 : 1; i < argc; ++i)
    if (!read_grouped(argv[i], cases)) return fmt::print(stderr, "{}: not a result of grouped products\n", argv[i]), 2;
  if (cases.empty())
    return fmt::print(stderr, "usage: fit_grouped_model [--times | --fit | --features] <result.json>...\n"), 2;
  if (features) return print_features(cases), 0;
  if (times) print(cases, {});
  summary("all, today's constants", cases, {}, !fits && !only);
  if (only) {
    const std::vector<Constant> some = named(argv[2]);
    const GroupedConstants k = fit(cases, uncorrected_groups(), some);
    summary("fitted to all", cases, k, true);
    for (const Constant& f : some) fmt::print("{} = {:.4g}\n", f.name, k.*f.field);
  }
  if (!fits) return 0;
  const GroupedCases seen = third_of(cases, 2, true), unseen = third_of(cases, 2, false);
  const GroupedConstants part = fit(seen, uncorrected_groups());
  summary("fitted to two thirds", seen, part, false);
  if (!unseen.empty()) summary("the third left out", unseen, part, true);
  const GroupedConstants k = fit(cases, part);
  summary("fitted to all", cases, k, true);
  for (const Constant& f : kGroupedFitted) fmt::print("{} = {:.4g}\n", f.name, k.*f.field);
}
