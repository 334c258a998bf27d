// SPDX-License-Identifier: Apache-2.0
// Uses the installed headers and the installed library, nothing of the checkout.
#include <warpwright/warpwright.hpp>

int main() {
  const ww::Error error = ww::make_error(ww::ErrorCode::unsupported, "k", "a multiple of 16", "17");
  return error.message == "unsupported: argument k: expected a multiple of 16, got 17" ? 0 : 1;
}
