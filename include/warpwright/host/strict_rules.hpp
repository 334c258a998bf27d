// SPDX-License-Identifier: Apache-2.0
// Strict rules of the checker: where the PTX ISA leaves open whether a pattern is ordered, or kernels in use read it
// more generously than its letter. Each has a name by which it is switched: CheckOptions has the lists `relaxed` and
// `strict`, the program --relax and --strict. A machine with further rules appends them to the table.
#pragma once

#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

#include "warpwright/host/result.hpp"

namespace ww {

/// One strict rule.
struct StrictRule {
  const char* name;     // in options and findings
  bool on;              // unless it is switched
  const char* meaning;  // what a kernel must do under it
  const char* source;   // where the question is decided or discussed
};

/// All strict rules.
inline constexpr StrictRule kStrictRules[] = {
    {"reader-side-fence", true,
     "a proxy fence that only the thread issuing the asynchronous access executes does not cover accesses of other "
     "threads; each of them needs its own, after its access and before its release",
     "PTX ISA, proxy-preserved base causality order; CUTLASS executes the fence in the threads that wrote"},
    {"read-before-async-write", true,
     "an ordinary read needs a proxy fence before its thread's release, if an asynchronous copy then overwrites the "
     "bytes",
     "PTX ISA, proxy-preserved base causality order; DeepEP pull request 642, Triton pull request 7262"},
    {"remote-release-of-reads", false,
     "ordinary reads before an arrival on another CTA's mbarrier are ordered before an asynchronous write, and before "
     "any write of their own CTA to which that CTA passes the order on, only if the arrival releases and the wait "
     "acquires at cluster scope",
     "PTX ISA, mbarrier.arrive: .release at .cta scope by default; multicast pipelines of CUTLASS release reads so"},
    {"remote-acquire-of-writes", false,
     "ordinary writes before an arrival of cluster scope on another CTA's mbarrier are ordered before an asynchronous "
     "write only if the wait acquires at cluster scope",
     "PTX ISA, mbarrier.try_wait: .acquire at .cta scope by default; CUTLASS (ClusterBarrier::wait) has no other wait"},
};

/// A set of strict rules: bit i stands for kStrictRules[i].
using StrictRules = std::uint32_t;
inline constexpr StrictRules kReaderSideFence = 1, kReadBeforeAsyncWrite = 2, kRemoteReleaseOfReads = 4,
                             kRemoteAcquireOfWrites = 8;

/// Returns the rules that are on by default.
constexpr StrictRules default_strict_rules() {
  StrictRules rules = 0;
  for (std::size_t i = 0; i < std::size(kStrictRules); ++i) rules |= StrictRules{kStrictRules[i].on} << i;
  return rules;
}

/// Returns the default rules without those that `relaxed` names and with those that `strict` names. A name that no rule
/// has is invalid; the error names the argument, "relaxed" or "strict", and the choices.
Result<StrictRules> strict_rules(const std::vector<std::string>& relaxed, const std::vector<std::string>& strict);

}  // namespace ww
