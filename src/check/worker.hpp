// SPDX-License-Identifier: Apache-2.0
// The worker's side of a campaign. The program warpwright-check-worker is this function.
#pragma once

namespace ww::campaign {

/// Serves the campaign behind the descriptor kSocket until it goes away. Returns the exit status.
int serve(int argc, const char* const* argv);

}  // namespace ww::campaign
