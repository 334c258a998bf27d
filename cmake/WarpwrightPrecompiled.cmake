# SPDX-License-Identifier: Apache-2.0
# ww_precompiled_headers(<target> [O1]): the target uses precompiled standard and third-party headers, parsed once for the
# libraries and once, with GoogleTest, for the programs of the tests.
# O1: the target's release build is compiled with -O1, and so is the header, because g++ 13 refuses a precompiled header of
# another optimisation level (-O2 and above set -munroll-only-small-loops).
# Parsing them takes 2 to 3 s of each of some 200 files (g++ 12). No header of ours is among them, so an edit rebuilds
# no more than without, and a file that forgets one of ours does not compile.
# They are off with a compiler launcher, because ccache needs CCACHE_SLOPPINESS=pch_defines,time_macros, which ./ww
# sets; and with clang-tidy, which cannot read g++'s. Builds without them also find a file that forgets a standard
# header.
find_package(tl-expected REQUIRED)
set(precompiled_default ${PROJECT_IS_TOP_LEVEL})
if(CMAKE_CXX_COMPILER_LAUNCHER OR CMAKE_CXX_CLANG_TIDY)
  set(precompiled_default OFF)
endif()
option(WARPWRIGHT_PRECOMPILED_HEADERS "Parse standard and third-party headers once" ${precompiled_default})

function(ww_precompiled_headers target)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "O1" "" "")
  if(NOT WARPWRIGHT_PRECOMPILED_HEADERS)
    return()
  endif()
  get_target_property(type ${target} TYPE)
  set(libraries warpwright_fmt tl::expected)
  set(headers <fmt/format.h> <tl/expected.hpp>)
  foreach(name algorithm array atomic bit charconv chrono cmath cstdint cstdio cstdlib cstring filesystem fstream
          functional limits map memory mutex numeric optional random set span string string_view thread vector)
    list(APPEND headers <${name}>)
  endforeach()
  # Two owners, because programs are compiled with -fPIE and libraries with -fPIC.
  set(owner warpwright_library_headers)
  set(empty ${PROJECT_BINARY_DIR}/CMakeFiles/precompiled.cpp)
  if(type STREQUAL EXECUTABLE)
    set(owner warpwright_program_headers)
    list(APPEND libraries GTest::gtest)
    list(APPEND headers <gtest/gtest.h>)
  endif()
  if(ARG_O1)
    string(APPEND owner _o1)
  endif()
  if(NOT TARGET ${owner})
    file(CONFIGURE OUTPUT ${empty} CONTENT "int main() {}\n")
    if(type STREQUAL EXECUTABLE)
      add_executable(${owner} ${empty})
    else()
      add_library(${owner} OBJECT ${empty})
    endif()
    ww_common_flags(${owner})
    if(ARG_O1)
      target_compile_options(${owner} PRIVATE $<$<CONFIG:Release>:-O1>)
    endif()
    target_link_libraries(${owner} PRIVATE ${libraries})
    target_precompile_headers(${owner} PRIVATE ${headers})
  endif()
  # A precompiled header is refused if it was compiled with other macros.
  target_link_libraries(${target} PRIVATE ${libraries})
  target_precompile_headers(${target} REUSE_FROM ${owner})
  # g++ 12 no longer treats code from a precompiled header as system code, and then warns about std::string.
  target_compile_options(${target} PRIVATE
                         $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds;-Wno-stringop-overflow;-Wno-stringop-overread>)
endfunction()
