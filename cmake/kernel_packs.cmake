# SPDX-License-Identifier: Apache-2.0
# Packs of precompiled cubins for the configs of src/launch/pack_configs.txt (Hopper) and sm100_pack_configs.txt
# (Blackwell), so that common problems need no compiler on the machine with the GPU.
#   cmake --build BUILD --target warpwright_packs
# They need NVRTC and no GPU. The oldest NVRTC of this machine makes them, because drivers take the cubins of compilers
# that are older than they are. Hopper's kernels need 12.1, Blackwell's 12.8; without the latter there is no pack of
# them. With WARPWRIGHT_PACKS the packs are part of every build, otherwise they are made on request.
set(WARPWRIGHT_PACKS OFF CACHE STRING "Make packs of precompiled cubins in every build: OFF, AUTO (where NVRTC is found), ON")
set_property(CACHE WARPWRIGHT_PACKS PROPERTY STRINGS OFF AUTO ON)
set(WARPWRIGHT_PACKS_NVRTC "" CACHE FILEPATH "The NVRTC library that makes the packs (default the oldest that is found)")

# ww_oldest_nvrtc(<variable> <version>) sets <variable> to the NVRTC library of the lowest version that is at least
# <version>, or to nothing if there is none. If WARPWRIGHT_PACKS_NVRTC is set, only the folder of that file is searched.
function(ww_oldest_nvrtc variable least)
  set(folders /usr/local/cuda*/lib64 $ENV{CUDA_HOME}/lib64 $ENV{CUDA_PATH}/lib64)
  if(WARPWRIGHT_PACKS_NVRTC)
    get_filename_component(folders ${WARPWRIGHT_PACKS_NVRTC} DIRECTORY)
  elseif(Python3_SITELIB)
    list(APPEND folders ${Python3_SITELIB}/nvidia/cuda_nvrtc/lib ${Python3_SITELIB}/nvidia/cu13/lib)
  endif()
  set(oldest)
  foreach(folder IN LISTS folders)
    # The builtins beside a library have its minor version in their name; the library of a wheel has not.
    file(GLOB builtins ${folder}/libnvrtc-builtins.so.1[2-9].[0-9]*)
    foreach(file IN LISTS builtins)
      string(REGEX MATCH "so\\.(([0-9]+)\\.[0-9]+)$" matched ${file})
      set(library ${folder}/libnvrtc.so.${CMAKE_MATCH_2})
      if(matched AND EXISTS ${library} AND CMAKE_MATCH_1 VERSION_GREATER_EQUAL ${least}
         AND (NOT oldest OR CMAKE_MATCH_1 VERSION_LESS lowest))
        set(lowest ${CMAKE_MATCH_1})
        set(oldest ${library})
      endif()
    endforeach()
  endforeach()
  set(${variable} ${oldest} PARENT_SCOPE)
endfunction()

if(WARPWRIGHT_HAS_CUDA AND TARGET warpwright_cli AND NOT CMAKE_CROSSCOMPILING)
  set(packs)
  foreach(entry sm90:12.1:pack_configs.txt sm100:12.8:sm100_pack_configs.txt)
    string(REPLACE ":" ";" entry ${entry})
    list(GET entry 0 arch)
    list(GET entry 1 least)
    list(GET entry 2 configs)
    set(configs ${PROJECT_SOURCE_DIR}/src/launch/${configs})
    ww_oldest_nvrtc(nvrtc ${least})
    if(WARPWRIGHT_PACKS_NVRTC AND arch STREQUAL "sm90")
      set(nvrtc ${WARPWRIGHT_PACKS_NVRTC})
    endif()
    if(nvrtc)
      set(pack ${WARPWRIGHT_PACK_DIR}/${arch}.wwpack)
      add_custom_command(
        OUTPUT ${pack}
        COMMAND ${CMAKE_COMMAND} -E env WARPWRIGHT_NVRTC=${nvrtc} $<TARGET_FILE:warpwright_cli> prepare
                --configs ${configs} --pack ${pack}
        DEPENDS warpwright_cli ${configs}
        COMMENT "Compiling the kernels of the pack ${arch} with ${nvrtc}"
        VERBATIM)
      list(APPEND packs ${pack})
    endif()
  endforeach()
  if(packs)
    set(all)
    if(WARPWRIGHT_PACKS)
      set(all ALL)
    endif()
    add_custom_target(warpwright_packs ${all} DEPENDS ${packs})
  endif()
endif()
if(WARPWRIGHT_PACKS STREQUAL "ON" AND NOT TARGET warpwright_packs)
  message(FATAL_ERROR "WARPWRIGHT_PACKS=ON: expected the CUDA headers, the program, a build for this machine and an NVRTC of CUDA 12.1 or later (WARPWRIGHT_PACKS_NVRTC names its file), and one of them is missing")
endif()
