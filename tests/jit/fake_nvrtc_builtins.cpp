// SPDX-License-Identifier: Apache-2.0
// The stand-in's builtins library, found by its soname.
extern "C" int ww_fake_builtins() { return 1; }
