# SPDX-License-Identifier: Apache-2.0
# Emulator modules compiled when the library is built, so that a default configuration needs no compiler at run time.
#   ww_emu_modules(<name> [SOURCES default_sources.cpp ...] [DIRECTORY <dir>] [JOBS <n>] [EXCLUDE_FROM_ALL])
# makes <name>_generator from src/launch/module_generator.cpp (its list is ww::adapters::default_sources(), in the library or in
# SOURCES) and a target <name> that runs it. Keys, flags and file format come from the library's own code: one build
# step writes all modules, reuses those whose key is still right and removes the others.
function(ww_emu_modules name)
  cmake_parse_arguments(ARG "EXCLUDE_FROM_ALL" "DIRECTORY;JOBS" "SOURCES" ${ARGN})
  if(NOT ARG_DIRECTORY)
    set(ARG_DIRECTORY ${WARPWRIGHT_MODULE_DIR})  # where src/jit/shipped.cpp looks
  endif()
  if(NOT ARG_JOBS)
    cmake_host_system_information(RESULT ARG_JOBS QUERY NUMBER_OF_LOGICAL_CORES)
  endif()
  add_executable(${name}_generator ${PROJECT_SOURCE_DIR}/src/launch/module_generator.cpp ${ARG_SOURCES})
  ww_common_flags(${name}_generator)
  target_include_directories(${name}_generator PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${name}_generator PRIVATE warpwright::warpwright)
  set(stamp ${CMAKE_CURRENT_BINARY_DIR}/${name}.stamp)
  add_custom_command(
    OUTPUT ${stamp}
    COMMAND ${name}_generator ${ARG_DIRECTORY} ${ARG_JOBS}
    COMMAND ${CMAKE_COMMAND} -E touch ${stamp}
    DEPENDS ${name}_generator
    COMMENT "Compiling emulator modules"
    VERBATIM)
  set(all ALL)
  if(ARG_EXCLUDE_FROM_ALL)
    set(all)
  endif()
  add_custom_target(${name} ${all} DEPENDS ${stamp})
endfunction()
