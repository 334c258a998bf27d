# Flags that every target shares, and the one way to add a test.
include(GNUInstallDirs)

function(ww_common_flags target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON)
  # why: kernel arithmetic is exact only when the compiler fuses nothing on its own (docs/numerics.md)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Werror -ffp-contract=off)
endfunction()

# ww_add_test(<name> SOURCES a.cpp ... [LIBRARIES ...] [LONG]): a GoogleTest program, one ctest entry per TEST.
function(ww_add_test name)
  cmake_parse_arguments(ARG "LONG" "" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  ww_common_flags(${name})
  target_link_libraries(${name} PRIVATE warpwright::warpwright GTest::gtest_main ${ARG_LIBRARIES})
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 300 $<$<BOOL:${ARG_LONG}>:LABELS long>)
endfunction()
