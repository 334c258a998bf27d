// SPDX-License-Identifier: Apache-2.0
// Fits the constants of the cost model to recorded times, and shows how well they do.
//   fit_cost_model <result.json>...          with today's constants: the config taken of those that ran, and the best
//   fit_cost_model --times <result.json>...  the same, and recorded and modelled time of every config
//   fit_cost_model --fit <result.json>...    the same without corrections, after a fit to all cases, whose constants it
//                                            prints; then fits to those of every other problem, judged by those that
//                                            they have not seen
//   fit_cost_model --features <result.json>...  prints the input of tools/fit_correction.py: a line for each recorded
//                                               time of the present kernels, with the features of its config
// A result is what `warpwright bench gemm --result FILE` writes.
#include <fmt/format.h>

#include <cstdio>
#include <string>

#include "cost_fit.hpp"
#include "select/correction.hpp"

namespace {

using namespace ww::testing;

void print(const Cases& cases, const CostConstants& k, bool all) {
  for (const RecordedCase& one : cases) {
    const RecordedTime& choice = taken(one, k);
    fmt::print("{} {} x {} x {}: {:.3f} of the best, {}\n", choice.us <= 1.1 * one.best() ? " " : "*", one.problem.m,
               one.problem.n, one.problem.k, choice.us / one.best(), to_text(choice.config));
    for (const RecordedTime& r : one.times) {
      const double modelled = modelled_us(one, r.config, k);
      if (all) fmt::print("    {:>9.1f} {:>9.1f} {:>6.3f}  {}\n", r.us, modelled, modelled / r.us, to_text(r.config));
    }
  }
}

void summary(const char* what, const Cases& cases, const CostConstants& k) {
  fmt::print("{}: root mean square error {:.1f} %, {} of {} choices within 10 % of the best, mean {:.3f}\n", what,
             100 * error_of(cases, k), near_best(cases, k), cases.size(), loss_of(cases, k));
}

void print_features(const Cases& cases) {
  fmt::print("m,n,k,recipe,recorded,best,modelled");
  for (int f = 0; f < ww::select::kFeatures; ++f) fmt::print(",{}", name_of(ww::select::Feature(f)));
  fmt::print("\n");
  for (const RecordedCase& one : cases) {
    const ww::GemmProblem& p = one.problem;
    if (one.alone || one.older_kernels) continue;
    for (const RecordedTime& r : one.times) {
      if (!ww::select::has_correction(p, r.config)) continue;
      const Cost cost = cost_of(one, r.config, uncorrected());
      fmt::print("{},{},{},{}/{},{},{},{}", p.m, p.n, p.k, name_of(p.a), name_of(p.scale), r.us, one.best(),
                 cost.total());
      for (const float value : ww::select::features_of(p, r.config, cost)) fmt::print(",{}", value);
      fmt::print("\n");
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string verb = argc > 1 ? argv[1] : "";
  const bool fits = verb == "--fit", times = verb == "--times", features = verb == "--features";
  Cases cases;
  for (int i = fits || times || features ? 2 : 1; i < argc; ++i)
    if (!read_cases(argv[i], cases)) return fmt::print(stderr, "{}: not a bench result\n", argv[i]), 2;
  if (cases.empty())
    return fmt::print(stderr, "usage: fit_cost_model [--times | --fit | --features] <result.json>...\n"), 2;
  if (features) return print_features(cases), 0;
  const CostConstants k = fits ? fit(cases, uncorrected()) : CostConstants{};
  print(cases, k, times);
  if (fits)
    for (const Fitted& f : kFitted) fmt::print("{} = {:.4g}\n", f.name, k.*f.field);
  summary("all cases", cases, k);
  for (std::size_t first = 0; fits && first < 2; ++first) {
    const Cases seen = half_of(cases, first), unseen = half_of(cases, 1 - first);
    const CostConstants half = fit(seen, uncorrected());
    summary("fitted to a half", seen, half);
    summary("  the other half", unseen, half);
  }
}
