# SPDX-License-Identifier: Apache-2.0
# Install and export: library, headers, program, emulator modules, and the package for find_package(warpwright CONFIG).
# All headers are installed, because the host compiler needs them to build emulator modules on demand.
include(CMakePackageConfigHelpers)

# Header-only dependencies are compiled into the library; a consumer need not have them.
get_target_property(libraries warpwright INTERFACE_LINK_LIBRARIES)
list(REMOVE_ITEM libraries "$<LINK_ONLY:warpwright_fmt>" "$<LINK_ONLY:fmt::fmt-header-only>"
     "$<LINK_ONLY:nlohmann_json::nlohmann_json>" "$<LINK_ONLY:CLI11::CLI11>" "$<LINK_ONLY:Boost::headers>")
set_target_properties(warpwright PROPERTIES INTERFACE_LINK_LIBRARIES "${libraries}")

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/warpwright)
install(TARGETS warpwright EXPORT warpwright-targets)
install(DIRECTORY include/warpwright TYPE INCLUDE FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h")
install(TARGETS warpwright_check_worker RUNTIME DESTINATION ${WARPWRIGHT_LIBEXEC_INSTALL_DIR})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
if(WARPWRIGHT_BUILD_CLI)
  install(TARGETS warpwright_cli)
endif()
install(DIRECTORY ${WARPWRIGHT_MODULE_DIR}/ DESTINATION ${WARPWRIGHT_MODULE_INSTALL_DIR} OPTIONAL
        FILES_MATCHING PATTERN "*.so" PATTERN "*.json")
install(DIRECTORY ${WARPWRIGHT_PACK_DIR}/ DESTINATION ${WARPWRIGHT_PACK_INSTALL_DIR} OPTIONAL
        FILES_MATCHING PATTERN "*.wwpack")

# The C interface is a package of its own inside this one, because its users need none of the dependencies.
if(TARGET warpwright_c)
  install(TARGETS warpwright_c EXPORT warpwright-c-targets)
  install(EXPORT warpwright-c-targets NAMESPACE warpwright:: DESTINATION ${package_dir})
endif()
install(EXPORT warpwright-targets NAMESPACE warpwright:: DESTINATION ${package_dir})
configure_package_config_file(cmake/warpwright-config.cmake.in ${PROJECT_BINARY_DIR}/warpwright-config.cmake
                              INSTALL_DESTINATION ${package_dir} PATH_VARS WARPWRIGHT_MODULE_INSTALL_DIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/warpwright-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/warpwright-config.cmake ${PROJECT_BINARY_DIR}/warpwright-config-version.cmake
        DESTINATION ${package_dir})
