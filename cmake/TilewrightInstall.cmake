# The installed tree: libtilewright, its headers, and what find_package and pkg-config read.
include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/tilewright")
install(TARGETS tilewright EXPORT tilewrightTargets
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/tilewright" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(EXPORT tilewrightTargets NAMESPACE tilewright:: DESTINATION "${package_dir}")
if(TARGET tilewright_cli)
  install(TARGETS tilewright_cli RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
endif()

# A static libtilewright leaves LLVM for the consumer's link.
set(tilewright_needs_llvm OFF)
if(NOT BUILD_SHARED_LIBS)
  set(tilewright_needs_llvm ${TILEWRIGHT_HAS_LLVM})
endif()
get_property(tilewright_components GLOBAL PROPERTY TILEWRIGHT_COMPONENTS)
list(JOIN tilewright_components " " tilewright_components)
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/tilewrightConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/tilewrightConfig.cmake" INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/tilewrightConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/tilewrightConfig.cmake"
              "${PROJECT_BINARY_DIR}/tilewrightConfigVersion.cmake" DESTINATION "${package_dir}")

set(tilewright_private_libs "-ltbb -lpthread -ldl -lstdc++ -lm")
if(tilewright_needs_llvm)
  execute_process(
    COMMAND "${LLVM_TOOLS_BINARY_DIR}/llvm-config" --link-static --ldflags --libs --system-libs
            ${tilewright_llvm_components}
    OUTPUT_VARIABLE tilewright_llvm_flags OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX REPLACE "[\r\n]+" " " tilewright_llvm_flags "${tilewright_llvm_flags}")
  string(PREPEND tilewright_private_libs "${tilewright_llvm_flags} ")
endif()
# Relative, so that the tree may be moved (lib/ may be lib/x86_64-linux-gnu/).
file(RELATIVE_PATH tilewright_pc_to_prefix "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
configure_file("${PROJECT_SOURCE_DIR}/cmake/tilewright.pc.in" "${PROJECT_BINARY_DIR}/tilewright.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/tilewright.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
