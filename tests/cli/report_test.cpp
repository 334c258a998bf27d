// SPDX-License-Identifier: Apache-2.0
// What is printed and which status comes back, for outcomes that the program's own tests cannot provoke.
#include "cli/report.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace ww::cli {
namespace {

struct Shown {
  int status;
  std::string out, err;
};

Shown shown(const Result<Outcome>& result, bool json) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const int status = show(result, json);
  return {status, testing::internal::GetCapturedStdout(), testing::internal::GetCapturedStderr()};
}

Outcome wrong() {
  Outcome outcome;
  outcome.text = "facts\n";
  outcome.json = {{"ok", false}, {"max_error", 2.5}};
  outcome.error = make_error(ErrorCode::wrong_result, "D", "1", "3.5");
  return outcome;
}

TEST(Report, AWrongResultShowsFactsAndErrorAndExitsWithOne) {
  const Shown text = shown(wrong(), false);
  EXPECT_EQ(text.status, 1);
  EXPECT_EQ(text.out, "facts\n");
  EXPECT_EQ(text.err, "warpwright: wrong result: argument D: expected 1, got 3.5\n");
  const Shown json = shown(wrong(), true);
  EXPECT_EQ(json.status, 1);
  EXPECT_EQ(json.err, "");
  EXPECT_EQ(
      json.out,
      "{\"ok\":false,\"max_error\":2.5,\"error\":{\"code\":\"wrong_result\",\"argument\":\"D\",\"expected\":\"1\","
      "\"actual\":\"3.5\",\"message\":\"wrong result: argument D: expected 1, got 3.5\"}}\n");
}

TEST(Report, EveryErrorCodeHasItsStatus) {
  for (const auto& [code, status] : {std::pair{ErrorCode::wrong_result, 1},
                                     {ErrorCode::invalid, 2},
                                     {ErrorCode::unsupported, 3},
                                     {ErrorCode::could_not_finish, 4}}) {
    const Result<Outcome> result = failure(code, "x", "y", "z");
    EXPECT_EQ(shown(result, false).status, status);
    EXPECT_EQ(shown(result, true).status, status);
    EXPECT_EQ(shown(result, true).out.rfind("{\"ok\":false,\"error\":{\"code\":", 0), 0u);
  }
}

TEST(Report, JsonHoldsAnyBytesAndNumbers) {
  EXPECT_EQ(to_json({{"s", std::string("a\"\\\n\xff\0b", 7)}}), "{\"s\":\"a\\\"\\\\\\n\xef\xbf\xbd\\u0000b\"}");
  EXPECT_EQ(
      to_json(
          {{"nan", NAN}, {"inf", -INFINITY}, {"n", std::int64_t{-1}}, {"l", List{1, Fields{{"x", true}}, Value{}}}}),
      "{\"nan\":\"nan\",\"inf\":\"-inf\",\"n\":-1,\"l\":[1,{\"x\":true},null]}");
}

}  // namespace
}  // namespace ww::cli
