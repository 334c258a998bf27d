// SPDX-License-Identifier: Apache-2.0
// Fits the constants of the cost model to recorded times, and shows how well they do.
//   fit_cost_model <result.json>...         recorded and modelled time of each of our contenders with today's constants
//   fit_cost_model --fit <result.json>...   the same after coordinate descent on the fitted constants, which it prints
// A result is what `warpwright bench gemm --result FILE` writes.
#include <fmt/format.h>

#include <cstdio>
#include <string>

#include "cost_fit.hpp"

int main(int argc, char** argv) {
  using namespace ww::testing;
  const bool fits = argc > 1 && std::string(argv[1]) == "--fit";
  std::vector<RecordedTime> times;
  for (int i = fits ? 2 : 1; i < argc; ++i)
    if (!read_times(argv[i], times)) return fmt::print(stderr, "{}: not a bench result\n", argv[i]), 2;
  if (times.empty()) return fmt::print(stderr, "usage: fit_cost_model [--fit] <result.json>...\n"), 2;
  const CostConstants k = fits ? fit(times, {}) : CostConstants{};
  fmt::print("{:>6} {:>6} {:>6}  {:>9} {:>9} {:>6}  config\n", "m", "n", "k", "recorded", "modelled", "ratio");
  for (const RecordedTime& r : times)
    fmt::print("{:>6} {:>6} {:>6}  {:>9.1f} {:>9.1f} {:>6.3f}  {}\n", r.problem.m, r.problem.n, r.problem.k, r.us,
               modelled_us(r, k), modelled_us(r, k) / r.us, r.text);
  for (const Fitted& f : kFitted) fmt::print("{} = {:.4g}\n", f.name, k.*f.field);
  fmt::print("root mean square error {:.2f} % over {} recorded times\n", 100 * error_of(times, k), times.size());
}
