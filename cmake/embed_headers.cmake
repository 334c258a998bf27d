# SPDX-License-Identifier: Apache-2.0
# Puts the text of every kernel header into the library, for NVRTC and for the host compiler of emulator modules.
#   include(embed_headers)        defines ww_embed_headers(<target>)
#   cmake -P embed_headers.cmake  is what that function runs at build time: it writes one .cpp of raw strings
# The same file also carries a digest of src/jit, which goes into every cache key: changed compile code, new entries.
set(WW_EMBEDDED_FOLDERS core layout arch atom pipeline config scheduler mainloop epilogue kernel)
set(WW_EMBED_SCRIPT ${CMAKE_CURRENT_LIST_FILE})

function(ww_embed_headers target)
  set(output ${CMAKE_CURRENT_BINARY_DIR}/embedded_headers.cpp)
  set(inputs)
  foreach(folder IN LISTS WW_EMBEDDED_FOLDERS)
    file(GLOB_RECURSE found CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/warpwright/${folder}/*.hpp)
    list(APPEND inputs ${found})
  endforeach()
  file(GLOB code CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/jit/*.?pp)
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DROOT=${PROJECT_SOURCE_DIR} -DOUTPUT=${output} -P ${WW_EMBED_SCRIPT}
    DEPENDS ${inputs} ${code} ${WW_EMBED_SCRIPT}
    COMMENT "Embedding kernel headers"
    VERBATIM)
  # The target is in another directory, whose build rules do not include this command.
  add_custom_target(${target}_embedded_headers DEPENDS ${output})
  add_dependencies(${target} ${target}_embedded_headers)
  target_sources(${target} PRIVATE ${output})
endfunction()

if(NOT CMAKE_SCRIPT_MODE_FILE)
  return()
endif()

# Compilers need only accept literals of 65536 bytes; adjacent ones are joined to one null-terminated text.
set(chunk_bytes 60000)
set(names)
foreach(folder IN LISTS WW_EMBEDDED_FOLDERS)
  file(GLOB_RECURSE found RELATIVE ${ROOT}/include ${ROOT}/include/warpwright/${folder}/*.hpp)
  list(SORT found)
  list(APPEND names ${found})
endforeach()

file(WRITE ${OUTPUT}.part "// SPDX-License-Identifier: Apache-2.0\n// Written by cmake/embed_headers.cmake.\n#include \"jit/embedded_headers.hpp\"\n\nnamespace ww::jit {\nnamespace {\nconstexpr EmbeddedHeader kHeaders[] = {\n")
foreach(name IN LISTS names)
  file(READ ${ROOT}/include/${name} text)
  string(FIND "${text}" ")WW_TEXT\"" clash)
  if(NOT clash EQUAL -1)
    message(FATAL_ERROR "${name} holds the raw-string delimiter of cmake/embed_headers.cmake")
  endif()
  string(LENGTH "${text}" length)
  file(APPEND ${OUTPUT}.part "{\"${name}\",\n")
  set(begin 0)
  while(begin LESS length OR begin EQUAL 0)
    string(SUBSTRING "${text}" ${begin} ${chunk_bytes} chunk)
    file(APPEND ${OUTPUT}.part "R\"WW_TEXT(${chunk})WW_TEXT\"\n")
    math(EXPR begin "${begin} + ${chunk_bytes}")
  endwhile()
  file(APPEND ${OUTPUT}.part "},\n")
endforeach()

file(GLOB code ${ROOT}/src/jit/*.?pp)
list(SORT code)
set(digests)
foreach(file IN LISTS code)
  file(SHA256 ${file} digest)
  string(APPEND digests ${digest})
endforeach()
string(SHA256 build_id "${digests}")

file(APPEND ${OUTPUT}.part "};\n}  // namespace\n\nstd::span<const EmbeddedHeader> embedded_headers() { return kHeaders; }\nstd::string_view library_build_id() { return \"${build_id}\"; }\n\n}  // namespace ww::jit\n")
file(RENAME ${OUTPUT}.part ${OUTPUT})
