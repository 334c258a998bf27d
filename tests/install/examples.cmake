# SPDX-License-Identifier: Apache-2.0
# Installs the finished build under a fresh prefix, copies the examples, takes every C++ and C block out of README and docs/,
# builds all of it against the package in a folder without the checkout, and runs the programs on the emulated device.
cmake_minimum_required(VERSION 3.25)
set(prefix ${WORK_DIR}/prefix)
set(sources ${WORK_DIR}/sources)
file(REMOVE_RECURSE ${WORK_DIR})
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(status)
    message(FATAL_ERROR "${ARGN}: exit status ${status}\n${output}")
  endif()
endfunction()

run(${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${prefix})
file(GLOB examples ${SOURCE_DIR}/examples/*.cpp ${SOURCE_DIR}/examples/*.hpp)
file(COPY ${examples} ${CMAKE_CURRENT_LIST_DIR}/examples/CMakeLists.txt DESTINATION ${sources})
run(${PYTHON} -B ${CMAKE_CURRENT_LIST_DIR}/blocks.py ${SOURCE_DIR} ${sources})
run(${CMAKE_COMMAND} -G Ninja -S ${sources} -B ${WORK_DIR}/build -DCMAKE_CXX_COMPILER=${COMPILER}
    -DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER} -DCMAKE_PREFIX_PATH=${prefix} -DSOURCES=${sources})
run(${CMAKE_COMMAND} --build ${WORK_DIR}/build)

file(GLOB programs ${sources}/*.cpp ${sources}/*.c)
list(LENGTH programs count)
if(count LESS 11)
  message(FATAL_ERROR "expected ten examples and README's program, got ${count} programs")
endif()
foreach(program ${programs})
  get_filename_component(name ${program} NAME_WE)
  run(${CMAKE_COMMAND} -E env --unset=WARPWRIGHT_MODULE_DIR ${WORK_DIR}/build/${name})
endforeach()
