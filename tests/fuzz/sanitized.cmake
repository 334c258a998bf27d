# SPDX-License-Identifier: Apache-2.0
# Builds targets and the library that they link with sanitizers, then runs tests of theirs there. All callers share one
# folder, so that the library is built once, and hold the resource `sanitized_build`.
#   cmake -DSOURCE=checkout -DBUILD=folder -DCOMPILER=g++ -DGENERATOR=Ninja -DTARGETS=... -DTESTS=regex -P sanitized.cmake
execute_process(
  COMMAND ${CMAKE_COMMAND} -G ${GENERATOR} -S ${SOURCE} -B ${BUILD} -DCMAKE_CXX_COMPILER=${COMPILER}
          -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE=-O1 -DWARPWRIGHT_SANITIZE=address,undefined
          -DWARPWRIGHT_BUILD_MODULES=OFF -DWARPWRIGHT_INSTALL=OFF -DWARPWRIGHT_CUDA=OFF -DWARPWRIGHT_BUILD_TESTS=ON
  COMMAND_ERROR_IS_FATAL ANY OUTPUT_QUIET)
execute_process(COMMAND ${CMAKE_COMMAND} --build ${BUILD} --target ${TARGETS} COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_CTEST_COMMAND} --test-dir ${BUILD} -R ${TESTS} --output-on-failure
                        --no-tests=error
                RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "${TESTS} failed with sanitizers")
endif()
