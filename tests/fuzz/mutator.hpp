// SPDX-License-Identifier: Apache-2.0
// Seeded mutations of inputs. Texts and binary headers are treated alike: a token is a run of letters and digits.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ww::fuzz {

/// SplitMix64: the same numbers on every machine.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next();
  /// 0 to count - 1; 0 when count is 0.
  std::size_t below(std::size_t count) { return count == 0 ? 0 : static_cast<std::size_t>(next() % count); }
  bool one_in(std::size_t count) { return below(count) == 0; }

 private:
  std::uint64_t state_;
};

class Mutator {
 public:
  Mutator(std::vector<std::string> corpus, std::vector<std::string> dictionary, std::uint64_t seed)
      : corpus_(std::move(corpus)), dictionary_(std::move(dictionary)), random_(seed) {}

  /// A mutated copy of one of the corpus, or of an input that keep() was given.
  std::string draw();
  /// Keeps an input that the parser accepted, so that later mutations go further from the corpus.
  void keep(const std::string& input);

 private:
  const std::string& base();
  std::string token();
  void mutate(std::string& input);
  void change_bytes(std::string& input);
  void change_token(std::string& input);
  void change_structure(std::string& input);

  std::vector<std::string> corpus_, dictionary_, kept_;
  Random random_;
};

}  // namespace ww::fuzz
