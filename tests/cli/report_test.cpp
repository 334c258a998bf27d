// SPDX-License-Identifier: Apache-2.0
// What is printed and which status comes back, for outcomes that the program's own tests cannot provoke.
#include "cli/report.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "host/messages.hpp"

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

TEST(Report, OnlyAGpuOnWhichNothingHasRunIsAskedForResults) {
  const auto request = [](const char* name, bool emulated, Arch arch) {
    DeviceInfo info;
    info.name = name, info.emulated = emulated, info.arch = arch;
    return request_for_results(info);
  };
  EXPECT_EQ(request("cuda:0", false, Arch::sm90), "");
  EXPECT_EQ(request("emu:sm100", true, Arch::sm100), "");
  const std::string asked = request("cuda:1", false, Arch::sm100);
  EXPECT_NE(asked.find("docs/blackwell.md"), std::string::npos) << asked;
  EXPECT_NE(asked.find("sm100_hashes.txt cuda:1"), std::string::npos) << asked;
}

TEST(Report, JsonHoldsAnyBytesAndNumbers) {
  EXPECT_EQ(to_json({{"s", std::string("a\"\\\n\xff\0b", 7)}}), "{\"s\":\"a\\\"\\\\\\n\\ufffd\\u0000b\"}");
  EXPECT_EQ(
      to_json(
          {{"nan", NAN}, {"inf", -INFINITY}, {"n", std::int64_t{-1}}, {"l", List{1, Fields{{"x", true}}, Value{}}}}),
      "{\"nan\":\"nan\",\"inf\":\"-inf\",\"n\":-1,\"l\":[1,{\"x\":true},null]}");
}

TEST(Report, NothingThatIsShownSteersTheTerminal) {
  Outcome outcome = wrong();
  outcome.text = "a\tb\n\x1b[31m\xc2\x9b\x7f\n";
  outcome.error = make_error(ErrorCode::invalid, "--\x1b]0;x\a", "\r", std::string("\0\x80", 2), "\xe2\x80\xae");
  const Shown text = shown(outcome, false);
  EXPECT_EQ(text.out, "a\tb\n\\x1b[31m\\xc2\\x9b\\x7f\n");
  EXPECT_EQ(text.err,
            "warpwright: invalid: argument --\\x1b]0;x\\x07: expected \\x0d, got \\x00\\x80; \\xe2\\x80\\xae\n");
  for (const char c : shown(outcome, true).out) EXPECT_TRUE((c >= ' ' && c < 0x7f) || c == '\n');
}

TEST(Report, TextThatIsTextStaysAsItIs) {
  for (const char* text : {"", "d.npy", "naïve … ‘x’ 矩阵 𝔸", "a  b", "\\x1b"}) EXPECT_EQ(printable(text), text);
  EXPECT_EQ(printable("a\nb\tc"), "a\\x0ab\\x09c");
  EXPECT_EQ(printable_lines("a\nb\tc"), "a\nb\tc");
  EXPECT_EQ(printable("\xc0\x80\xed\xa0\x80\xf4\x90\x80\x80\xe2\x82"),
            "\\xc0\\x80\\xed\\xa0\\x80\\xf4\\x90\\x80\\x80\\xe2\\x82");
  EXPECT_EQ(quoted("x\x1b"), "\"x\\x1b\"");
}

TEST(Report, AnErrorUnderAnotherNameSaysSoInItsSentence) {
  const Error error = with_argument(make_error(ErrorCode::invalid, "m", "8", "7", "argument m"), "--m");
  EXPECT_EQ(error.argument, "--m");
  EXPECT_EQ(error.message, "invalid: argument --m: expected 8, got 7; argument m");
}

}  // namespace
}  // namespace ww::cli
