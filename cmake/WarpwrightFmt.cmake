# SPDX-License-Identifier: Apache-2.0
# warpwright_fmt: the target that our own targets link to use {fmt}, inside the library and in the program.
# fmt::fmt-header-only is not used, because it costs 3 s of compile in each of some fifty files (g++ 12, -O3). The
# library compiles fmt's code once, in src/host/fmt_once.cpp, in a namespace of its own that cannot collide with a
# consumer's fmt.
# Versions of fmt with another file structure are used header-only: slower to build, the same result.
find_package(fmt REQUIRED)
add_library(warpwright_fmt INTERFACE)
if(fmt_VERSION VERSION_GREATER_EQUAL 9 AND fmt_VERSION VERSION_LESS 10)
  target_sources(warpwright PRIVATE src/host/fmt_once.cpp)
  target_include_directories(warpwright_fmt SYSTEM INTERFACE
                             $<TARGET_PROPERTY:fmt::fmt-header-only,INTERFACE_INCLUDE_DIRECTORIES>)
  target_compile_definitions(warpwright_fmt INTERFACE
                             "FMT_BEGIN_NAMESPACE=namespace fmt { inline namespace warpwright {" "FMT_END_NAMESPACE=}}")
else()
  target_link_libraries(warpwright_fmt INTERFACE fmt::fmt-header-only)
endif()
