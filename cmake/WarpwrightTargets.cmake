# SPDX-License-Identifier: Apache-2.0
# Flags that our own targets share, and the one way to add a test. Everything is per target: a parent project and the
# consumers of an installed library see none of it.
include(GNUInstallDirs)

# Where the emulator's kernel modules lie: in the build folder, and relative to an install prefix.
set(WARPWRIGHT_MODULE_DIR ${PROJECT_BINARY_DIR}/lib/warpwright/modules)
set(WARPWRIGHT_MODULE_INSTALL_DIR ${CMAKE_INSTALL_LIBDIR}/warpwright/modules)
# The same for packs of precompiled kernels.
set(WARPWRIGHT_PACK_DIR ${PROJECT_BINARY_DIR}/lib/warpwright/packs)
set(WARPWRIGHT_PACK_INSTALL_DIR ${CMAKE_INSTALL_LIBDIR}/warpwright/packs)
# The same for programs that the library starts.
set(WARPWRIGHT_LIBEXEC_DIR ${PROJECT_BINARY_DIR}/libexec/warpwright)
set(WARPWRIGHT_LIBEXEC_INSTALL_DIR ${CMAKE_INSTALL_LIBEXECDIR}/warpwright)

# ww_common_flags(<target> [KERNEL] [TEST]): language level, warnings, exact arithmetic, sanitizers.
# KERNEL: the target is a kernel module. It is never sanitized, since instrumented kernels have hooks of their own and
# -fsanitize=thread and =address exclude each other in one translation unit.
# TEST: part of a program that takes longer to compile than to run: precompiled headers, and -O1 in a release build.
function(ww_common_flags target)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "KERNEL;TEST" "" "")
  target_compile_features(${target} PUBLIC cxx_std_20)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON)
  # -ffp-contract=off, because kernel arithmetic is exact only if the compiler fuses nothing on its own
  # (docs/numerics.md).
  # -Wno-restrict, because g++ 12 warns about correct std::string concatenation (GCC bug 105329).
  target_compile_options(${target} PRIVATE -Wall -Wextra $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict> -ffp-contract=off)
  if(ARG_TEST)
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
    ww_precompiled_headers(${target} O1)
  endif()
  if(WARPWRIGHT_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  if(WARPWRIGHT_SANITIZE AND NOT ARG_KERNEL)
    target_compile_options(${target} PRIVATE -fsanitize=${WARPWRIGHT_SANITIZE} -fno-omit-frame-pointer)
    # PUBLIC, because a program that links a sanitized static library must link the sanitizer's run time.
    target_link_options(${target} PUBLIC -fsanitize=${WARPWRIGHT_SANITIZE})
  endif()
endfunction()

# ww_add_test(<name> SOURCES a.cpp ... [LIBRARIES ...] [LABELS ...] [LONG] [SERIAL] [TIMEOUT seconds]):
# a GoogleTest program, one ctest entry per TEST, labelled with its folder.
#   LONG    a sweep that only `./ww test --all` runs
#   SERIAL  runs while no other test does (it measures time, or uses both cores)
function(ww_add_test name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "LONG;SERIAL" "TIMEOUT" "SOURCES;LIBRARIES;LABELS")
  add_executable(${name} ${ARG_SOURCES})
  ww_common_flags(${name} TEST)
  target_link_libraries(${name} PRIVATE warpwright::warpwright GTest::gtest_main ${ARG_LIBRARIES})
  if(TARGET warpwright_modules)
    add_dependencies(${name} warpwright_modules)
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
    if(ARG_LONG)
      set(ARG_TIMEOUT 3600)
    endif()
  endif()
  get_filename_component(folder ${CMAKE_CURRENT_SOURCE_DIR} NAME)
  set(labels ${folder} ${ARG_LABELS})
  if(ARG_LONG)
    list(APPEND labels long)
  endif()
  set(properties TIMEOUT ${ARG_TIMEOUT})
  if(ARG_SERIAL)
    list(APPEND properties RUN_SERIAL ON)
  endif()
  # Tests with parameters have the names that their generators give: CMake would append the parameter's bytes.
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 NO_PRETTY_VALUES TEST_LIST ${name}_entries
                       PROPERTIES ${properties})
  # The labels go through a file, because gtest_discover_tests cannot pass a property that is a list.
  set(script ${CMAKE_CURRENT_BINARY_DIR}/${name}_labels.cmake)
  file(CONFIGURE OUTPUT ${script} @ONLY CONTENT [[
if(@name@_entries)
  set_tests_properties(${@name@_entries} PROPERTIES LABELS "@labels@")
endif()
]])
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${script})
endfunction()
