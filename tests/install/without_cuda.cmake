# SPDX-License-Identifier: Apache-2.0
# Builds the program as on a machine without a CUDA toolkit, and asks it what it is.
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE ${WORK_DIR})
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(status)
    message(FATAL_ERROR "${ARGN}: exit status ${status}\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()
run(${CMAKE_COMMAND} -G Ninja -S ${SOURCE_DIR} -B ${WORK_DIR} -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_BUILD_TYPE=Debug
    -DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER} -DWARPWRIGHT_BUILD_TESTS=OFF -DWARPWRIGHT_CUDA=OFF)
run(${CMAKE_COMMAND} --build ${WORK_DIR} --target warpwright_cli -j 2)
run(${WORK_DIR}/bin/warpwright devices)
if(NOT output MATCHES "emu:sm90" OR output MATCHES "cuda:0")
  message(FATAL_ERROR "expected the emulated device and no GPU, got\n${output}")
endif()
