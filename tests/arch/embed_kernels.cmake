# SPDX-License-Identifier: Apache-2.0
# cmake -DFOLDER=<kernels> -DOUTPUT=<file.cpp> -P embed_kernels.cmake: the headers of a folder as one array of raw strings.
file(GLOB headers ${FOLDER}/*.hpp)
list(SORT headers)
set(entries)
foreach(header IN LISTS headers)
  get_filename_component(name ${header} NAME_WE)
  file(READ ${header} text)
  string(APPEND entries "    {\"${name}\", R\"WW_TEXT(${text})WW_TEXT\"},\n")
endforeach()
file(WRITE ${OUTPUT} "#include \"kernel_texts.hpp\"\n
namespace ww::arch_test {
namespace {
constexpr KernelText kTexts[] = {\n${entries}};
}
std::span<const KernelText> kernel_texts() { return kTexts; }
}  // namespace ww::arch_test\n")
