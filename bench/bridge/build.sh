#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Links the bridge and the library into one shared object that needs nothing but libstdc++ and libdl where it runs.
#   bench/bridge/build.sh BUILD_DIR OUT.so      BUILD_DIR: configured with -DCMAKE_POSITION_INDEPENDENT_CODE=ON
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
build=$1
out=$2
# exclude-libs, because a framework in the same process may bring its own {fmt}, xxHash or Boost.
exec "${CXX:-g++}" -shared -fPIC -O2 -std=c++20 -Wall -Wextra -fvisibility=hidden \
  '-DFMT_BEGIN_NAMESPACE=namespace fmt { inline namespace warpwright {' '-DFMT_END_NAMESPACE=}}' \
  -I"$root/include" -I"$root/src" "$root/bench/bridge/bridge.cpp" \
  -Wl,--exclude-libs,ALL -Wl,-Bsymbolic -Wl,-z,defs -static-libstdc++ -static-libgcc \
  "$build/libwarpwright.a" -l:libboost_context.a -l:libxxhash.a -ldl -lpthread -o "$out"
