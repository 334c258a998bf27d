# SPDX-License-Identifier: Apache-2.0
# A pack of precompiled cubins for the configs of src/launch/pack_configs.txt, so that common problems need no compiler
# on the machine with the GPU.   cmake --build BUILD --target warpwright_packs
# It needs NVRTC and no GPU. The oldest NVRTC of this machine makes it, because drivers take the cubins of compilers
# that are older than they are; one that is older than 12.1 does not compile every kernel. With WARPWRIGHT_PACKS the
# pack is part of every build, otherwise it is made on request.
set(WARPWRIGHT_PACKS OFF CACHE STRING "Make a pack of precompiled cubins in every build: OFF, AUTO (where NVRTC is found), ON")
set_property(CACHE WARPWRIGHT_PACKS PROPERTY STRINGS OFF AUTO ON)
set(WARPWRIGHT_PACKS_NVRTC "" CACHE FILEPATH "The NVRTC library that makes the pack (default the oldest that is found)")

# ww_oldest_nvrtc(<variable>): the file of the lowest version from 12.1 on, or nothing.
function(ww_oldest_nvrtc variable)
  set(folders /usr/local/cuda*/lib64 $ENV{CUDA_HOME}/lib64 $ENV{CUDA_PATH}/lib64)
  if(Python3_SITELIB)
    list(APPEND folders ${Python3_SITELIB}/nvidia/cuda_nvrtc/lib ${Python3_SITELIB}/nvidia/cu13/lib)
  endif()
  set(oldest)
  foreach(folder IN LISTS folders)
    # The builtins beside a library have its minor version in their name; the library of a wheel has not.
    file(GLOB builtins ${folder}/libnvrtc-builtins.so.1[2-9].[0-9]*)
    foreach(file IN LISTS builtins)
      string(REGEX MATCH "so\\.(([0-9]+)\\.[0-9]+)$" matched ${file})
      set(library ${folder}/libnvrtc.so.${CMAKE_MATCH_2})
      if(matched AND EXISTS ${library} AND CMAKE_MATCH_1 VERSION_GREATER_EQUAL 12.1
         AND (NOT oldest OR CMAKE_MATCH_1 VERSION_LESS lowest))
        set(lowest ${CMAKE_MATCH_1})
        set(oldest ${library})
      endif()
    endforeach()
  endforeach()
  set(${variable} ${oldest} PARENT_SCOPE)
endfunction()

if(WARPWRIGHT_PACKS_NVRTC)
  set(nvrtc ${WARPWRIGHT_PACKS_NVRTC})
else()
  ww_oldest_nvrtc(nvrtc)
endif()
if(WARPWRIGHT_PACKS STREQUAL "ON" AND NOT nvrtc)
  message(FATAL_ERROR "WARPWRIGHT_PACKS=ON: expected an NVRTC of CUDA 12.1 or later, found none; WARPWRIGHT_PACKS_NVRTC names its file")
endif()
if(nvrtc AND WARPWRIGHT_HAS_CUDA AND TARGET warpwright_cli AND NOT CMAKE_CROSSCOMPILING)
  set(pack ${WARPWRIGHT_PACK_DIR}/sm90.wwpack)
  set(all)
  if(WARPWRIGHT_PACKS)
    set(all ALL)
  endif()
  add_custom_command(
    OUTPUT ${pack}
    COMMAND ${CMAKE_COMMAND} -E env WARPWRIGHT_NVRTC=${nvrtc} $<TARGET_FILE:warpwright_cli> prepare
            --configs ${PROJECT_SOURCE_DIR}/src/launch/pack_configs.txt --pack ${pack}
    DEPENDS warpwright_cli ${PROJECT_SOURCE_DIR}/src/launch/pack_configs.txt
    COMMENT "Compiling the kernels of the pack with ${nvrtc}"
    VERBATIM)
  add_custom_target(warpwright_packs ${all} DEPENDS ${pack})
endif()
