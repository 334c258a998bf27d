// SPDX-License-Identifier: Apache-2.0
// Bit flips, tokens swapped or replaced, numbers set to extremes, splices, repetitions and truncations.
#include "mutator.hpp"

#include <algorithm>

namespace ww::fuzz {
namespace {

constexpr std::size_t kMostKept = 512, kLongestInput = 8192;
constexpr const char* kExtremes[] = {"0",
                                     "1",
                                     "-1",
                                     "2",
                                     "7",
                                     "8",
                                     "127",
                                     "128",
                                     "255",
                                     "256",
                                     "4096",
                                     "65535",
                                     "65536",
                                     "65537",
                                     "1073741824",
                                     "1073741825",
                                     "2147483647",
                                     "2147483648",
                                     "4294967295",
                                     "4294967296",
                                     "1099511627776",
                                     "9223372036854775807",
                                     "9223372036854775808",
                                     "-9223372036854775808",
                                     "18446744073709551615",
                                     "18446744073709551616",
                                     "1e38",
                                     "1e39",
                                     "1e-45",
                                     "0.1",
                                     "00000000000000000000000000000001"};

bool in_token(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

struct Span {
  std::size_t begin, size;
};

std::vector<Span> tokens_of(const std::string& input) {
  std::vector<Span> tokens;
  for (std::size_t at = 0; at < input.size();) {
    std::size_t end = at;
    while (end < input.size() && in_token(input[end])) ++end;
    if (end > at) tokens.push_back({at, end - at});
    at = end + 1;
  }
  return tokens;
}

}  // namespace

std::uint64_t Random::next() {
  std::uint64_t x = state_ += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

void Mutator::keep(const std::string& input) {
  if (kept_.size() < kMostKept) kept_.push_back(input);
  else kept_[random_.below(kMostKept)] = input;
}

const std::string& Mutator::base() {
  if (!kept_.empty() && random_.one_in(2)) return kept_[random_.below(kept_.size())];
  return corpus_[random_.below(corpus_.size())];
}

std::string Mutator::draw() {
  std::string input = base();
  do mutate(input);
  while (random_.one_in(3));
  if (input.size() > kLongestInput) input.resize(kLongestInput);
  return input;
}

/// A word of the dictionary, a number, or a token of another input.
std::string Mutator::token() {
  const std::size_t kind = random_.below(4);
  if (kind < 2 && !dictionary_.empty()) return dictionary_[random_.below(dictionary_.size())];
  if (kind == 2) return kExtremes[random_.below(std::size(kExtremes))];
  const std::string& other = base();
  const std::vector<Span> tokens = tokens_of(other);
  if (tokens.empty()) return "";
  const Span taken = tokens[random_.below(tokens.size())];
  return other.substr(taken.begin, taken.size);
}

void Mutator::mutate(std::string& input) {
  const std::size_t kind = random_.below(8);
  if (kind < 4) change_token(input);
  else if (kind < 6) change_structure(input);
  else change_bytes(input);
}

void Mutator::change_bytes(std::string& input) {
  if (input.empty()) return;
  const std::size_t at = random_.below(input.size());
  switch (random_.below(4)) {
    case 0: input[at] = static_cast<char>(input[at] ^ (1 << random_.below(8))); break;
    case 1: input[at] = static_cast<char>(random_.next()); break;
    case 2: input.erase(at, 1); break;
    default: input.insert(at, 1, static_cast<char>(random_.next()));
  }
}

void Mutator::change_token(std::string& input) {
  const std::vector<Span> tokens = tokens_of(input);
  if (tokens.empty()) return void(input += token());
  const Span at = tokens[random_.below(tokens.size())], other = tokens[random_.below(tokens.size())];
  const bool number = input[at.begin] >= '0' && input[at.begin] <= '9';
  switch (random_.below(6)) {
    case 0: {  // swap
      if (at.begin + at.size > other.begin) return;
      const std::string first = input.substr(at.begin, at.size), second = input.substr(other.begin, other.size);
      input.replace(other.begin, other.size, first).replace(at.begin, at.size, second);
      break;
    }
    case 1: input.insert(random_.one_in(2) ? at.begin : at.begin + at.size, token()); break;
    case 2: input.replace(at.begin, at.size, input.substr(other.begin, other.size)); break;
    case 3:
      if (number) {
        const std::string small = std::to_string(random_.below(20));
        input.replace(at.begin, at.size, random_.one_in(2) ? small : kExtremes[random_.below(std::size(kExtremes))]);
        break;
      }
      [[fallthrough]];
    default: input.replace(at.begin, at.size, token());
  }
}

void Mutator::change_structure(std::string& input) {
  const std::size_t begin = random_.below(input.size() + 1);
  const std::size_t size = random_.below(std::min<std::size_t>(input.size() - begin, 64) + 1);
  const std::string part = input.substr(begin, size);
  switch (random_.below(6)) {
    case 0: input.resize(begin); break;
    case 1: input.erase(begin, size); break;
    case 2: {  // the start of this and the end of another
      const std::string& other = base();
      input = input.substr(0, begin) + other.substr(random_.below(other.size() + 1));
      break;
    }
    case 3: {  // a part of another inside this
      const std::string& other = base();
      const std::size_t from = random_.below(other.size() + 1);
      input.insert(begin, other.substr(from, random_.below(64)));
      break;
    }
    case 4: input.insert(random_.below(input.size() + 1), part); break;
    default:
      for (std::size_t i = random_.below(64); i > 0 && input.size() < kLongestInput; --i) input.insert(begin, part);
  }
}

}  // namespace ww::fuzz
