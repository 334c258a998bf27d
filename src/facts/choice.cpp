// SPDX-License-Identifier: Apache-2.0
// The choice of a config, and kernels that were compiled ahead.
#include "facts/facts.hpp"
#include "warpwright/config/swap_ab.hpp"
#include "warpwright/host/config.hpp"

namespace ww::facts {

Fields fields_of(const RankedConfig& ranked) {
  Fields fields{{"config", to_text(ranked.config)}};
  if (ranked.terms.empty()) return fields;
  Fields terms;
  for (const CostTerm& term : ranked.terms) terms.emplace_back(term.name, term.us);
  for (auto& field : Fields{{"us", ranked.us},
                            {"waves", ranked.waves},
                            {"resident_ctas", ranked.resident_ctas},
                            {"hbm_bytes", ranked.hbm_bytes},
                            {"terms", terms}})
    fields.push_back(std::move(field));
  return fields;
}

List list_of(const std::vector<ExcludedConfigs>& excluded) {
  List list;
  for (const ExcludedConfigs& e : excluded)
    list.push_back(Fields{{"reason", e.reason},
                          {"count", static_cast<std::int64_t>(e.configs.size())},
                          {"example", to_text(e.configs.front())}});
  return list;
}

Fields fields_of(const Explanation& explanation) {
  List ranking;
  for (const RankedConfig& ranked : explanation.ranking) ranking.push_back(fields_of(ranked));
  return {{"sms", explanation.sms},
          {"emulated", explanation.emulated},
          {"chosen", fields_of(explanation.chosen)},
          {"because", explanation.because},
          {"tuned", explanation.tuned},
          {"tuning", explanation.tuning},
          {"modelled_for", explanation.modelled_for},
          {"measured", explanation.measured},
          {"swap_ab", config::swaps(explanation.chosen.config)},
          {"ranking", ranking},
          {"excluded", list_of(explanation.excluded)}};
}

Fields fields_of(const PreparedKernel& kernel) {
  List cases;
  for (const std::size_t i : kernel.cases) cases.emplace_back(static_cast<std::int64_t>(i));
  Fields fields{
      {"config", kernel.text}, {"cases", cases}, {"seconds", kernel.seconds}, {"ok", !kernel.error.has_value()}};
  if (kernel.error) fields.push_back(io::error_fields(*kernel.error)[1]);
  return fields;
}

}  // namespace ww::facts
