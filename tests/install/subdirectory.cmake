# SPDX-License-Identifier: Apache-2.0
# Configures a project that adds the checkout as a subdirectory; parent/CMakeLists.txt says what must hold.
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE ${WORK_DIR})
execute_process(COMMAND ${CMAKE_COMMAND} -G Ninja -S ${CMAKE_CURRENT_LIST_DIR}/parent -B ${WORK_DIR}
                        -DCMAKE_CXX_COMPILER=${COMPILER} -DWARPWRIGHT_SOURCE_DIR=${SOURCE_DIR}
                RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(status)
  message(FATAL_ERROR "exit status ${status}\n${output}")
endif()
