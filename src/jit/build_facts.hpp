// SPDX-License-Identifier: Apache-2.0
// Facts that only the build knows: version, compiler and folders of this library. CMake fills them in
// (build_facts.cpp.in).
#pragma once

namespace ww::jit {

const char* library_version();
const char* build_compiler();            // the C++ compiler this library was built with
const char* build_module_directory();    // where the build puts shipped emulator modules
const char* installed_module_folder();   // "lib/warpwright/modules", relative to the install prefix
const char* build_libexec_directory();   // where the build puts the programs that the library starts
const char* installed_libexec_folder();  // "libexec/warpwright", relative to the install prefix

}  // namespace ww::jit
