# SPDX-License-Identifier: Apache-2.0
# Finds the two headers the CUDA backend is compiled against. Nothing of CUDA is linked: the driver and NVRTC are opened
# at run time, so a program built here also starts on a machine without a GPU. CMake's CUDA language is not used.
#   WARPWRIGHT_HAS_CUDA            1 or 0, also a compile definition of src/
#   WARPWRIGHT_CUDA_INCLUDE_DIR    the folder of cuda.h and nvrtc.h, when 1
set(WARPWRIGHT_HAS_CUDA 0)
if(NOT WARPWRIGHT_CUDA MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "WARPWRIGHT_CUDA: expected AUTO, ON or OFF, got ${WARPWRIGHT_CUDA}")
endif()
if(NOT WARPWRIGHT_CUDA STREQUAL "OFF")
  find_path(WARPWRIGHT_CUDA_INCLUDE_DIR NAMES nvrtc.h
            HINTS ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda /opt/cuda PATH_SUFFIXES include targets/x86_64-linux/include
            DOC "Folder of cuda.h and nvrtc.h")
  if(WARPWRIGHT_CUDA_INCLUDE_DIR AND EXISTS ${WARPWRIGHT_CUDA_INCLUDE_DIR}/cuda.h)
    set(WARPWRIGHT_HAS_CUDA 1)
  elseif(WARPWRIGHT_CUDA STREQUAL "ON")
    message(FATAL_ERROR "WARPWRIGHT_CUDA=ON: expected cuda.h and nvrtc.h in one folder, got "
                        "'${WARPWRIGHT_CUDA_INCLUDE_DIR}'; set CUDA_HOME to the toolkit")
  endif()
endif()
if(WARPWRIGHT_HAS_CUDA)
  message(STATUS "CUDA backend: on, headers in ${WARPWRIGHT_CUDA_INCLUDE_DIR}")
else()
  message(STATUS "CUDA backend: off, emulator only")
endif()

# ww_cuda_headers(<target>): tells the sources of `target`, and nobody who links it, whether the headers are there.
function(ww_cuda_headers target)
  target_compile_definitions(${target} PRIVATE WARPWRIGHT_HAS_CUDA=${WARPWRIGHT_HAS_CUDA})
  if(WARPWRIGHT_HAS_CUDA)
    target_include_directories(${target} SYSTEM PRIVATE ${WARPWRIGHT_CUDA_INCLUDE_DIR})
  endif()
endfunction()
