# SPDX-License-Identifier: Apache-2.0
# Installs the finished build under a fresh prefix, then configures, builds and runs consumer/ against it.
cmake_minimum_required(VERSION 3.25)
set(prefix ${WORK_DIR}/prefix)
file(REMOVE_RECURSE ${WORK_DIR})
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(status)
    message(FATAL_ERROR "${ARGN}: exit status ${status}\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

run(${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${prefix})
foreach(file bin/warpwright include/warpwright/warpwright.h include/warpwright/warpwright.hpp include/warpwright/core/meta.hpp
        libexec/warpwright/warpwright-check-worker
        share/bash-completion/completions/warpwright share/zsh/site-functions/_warpwright share/man/man1/warpwright.1)
  if(NOT EXISTS ${prefix}/${file})
    message(FATAL_ERROR "not installed: ${file}")
  endif()
endforeach()

# The package must work where neither checkout nor build folder exist.
file(GLOB_RECURSE package ${prefix}/*.cmake)
foreach(file ${package})
  file(READ ${file} text)
  foreach(place ${SOURCE_DIR} ${BUILD_DIR})
    string(FIND "${text}" "${place}/" found)
    if(NOT found EQUAL -1)
      message(FATAL_ERROR "${file} names ${place}")
    endif()
  endforeach()
endforeach()

run(${CMAKE_COMMAND} -G Ninja -S ${CMAKE_CURRENT_LIST_DIR}/consumer -B ${WORK_DIR}/build -DCMAKE_CXX_COMPILER=${COMPILER}
    -DCMAKE_PREFIX_PATH=${prefix} -DEXPECTED_VERSION=${VERSION}
    -DEXPECTED_MODULE_DIR=${prefix}/${MODULE_DIR})
run(${CMAKE_COMMAND} --build ${WORK_DIR}/build)
# A project in C alone, which needs none of the C++ dependencies.
run(${CMAKE_COMMAND} -G Ninja -S ${CMAKE_CURRENT_LIST_DIR}/consumer_c -B ${WORK_DIR}/build_c
    -DCMAKE_PREFIX_PATH=${prefix} -DEXPECTED_VERSION=${VERSION})
run(${CMAKE_COMMAND} --build ${WORK_DIR}/build_c)

# Installed programs with a cache of their own. The consumers lie outside the prefix and are told nothing by the
# environment: they must load the installed modules, not those of the build folder, and compile none.
set(environment ${CMAKE_COMMAND} -E env --unset=WARPWRIGHT_MODULE_DIR WARPWRIGHT_CACHE_DIR=${WORK_DIR}/cache)
file(GLOB shipped ${prefix}/${MODULE_DIR}/*.so)
run(${environment} ${WORK_DIR}/build/consumer)
string(FIND "${output}" "${prefix}/${MODULE_DIR}/" found)
if(shipped AND found EQUAL -1)
  message(FATAL_ERROR "the consumer loaded no module of ${prefix}/${MODULE_DIR}:\n${output}")
endif()
run(${environment} ${WORK_DIR}/build_c/consumer)
string(FIND "${output}" "${prefix}/${MODULE_DIR}/" found)
if(shipped AND found EQUAL -1)
  message(FATAL_ERROR "the C consumer loaded no module of ${prefix}/${MODULE_DIR}:\n${output}")
endif()
run(${environment} ${prefix}/bin/warpwright gemm --m 64 --n 64 --k 128 --device emu:sm90 --verify)
# The emulator modules of a checked kernel are compiled, by the worker of the prefix and no other.
run(${environment} --unset=WARPWRIGHT_CHECK_WORKER WARPWRIGHT_CACHE_DIR=${WORK_DIR}/check_cache
    ${WORK_DIR}/build/checker ${prefix}/libexec/warpwright/warpwright-check-worker)
file(GLOB_RECURSE compiled ${WORK_DIR}/cache/*.so)
if(shipped AND compiled)
  message(FATAL_ERROR "modules are installed, yet these were compiled: ${compiled}")
endif()
