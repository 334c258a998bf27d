# SPDX-License-Identifier: Apache-2.0
# Builds the fuzz targets, and what they link, with sanitizers, then runs their long tests there.
#   cmake -DSOURCE=checkout -DBUILD=folder -DCOMPILER=g++ -DGENERATOR=Ninja -P sanitized.cmake
set(targets fuzz_config fuzz_epilogue fuzz_layout fuzz_npy fuzz_safetensors)
execute_process(
  COMMAND ${CMAKE_COMMAND} -G ${GENERATOR} -S ${SOURCE} -B ${BUILD} -DCMAKE_CXX_COMPILER=${COMPILER}
          -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE=-O1 -DWARPWRIGHT_SANITIZE=address,undefined
          -DWARPWRIGHT_BUILD_MODULES=OFF -DWARPWRIGHT_INSTALL=OFF -DWARPWRIGHT_CUDA=OFF -DWARPWRIGHT_BUILD_TESTS=ON
  COMMAND_ERROR_IS_FATAL ANY OUTPUT_QUIET)
execute_process(COMMAND ${CMAKE_COMMAND} --build ${BUILD} --target ${targets} COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_CTEST_COMMAND} --test-dir ${BUILD} -L fuzz -R HundredThousand --output-on-failure
                        --no-tests=error
                RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "a fuzz target failed with sanitizers")
endif()
