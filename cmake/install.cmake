# Installs bin/adjoin, include/adjoin, one archive lib/libadjoin.a of all rooms, and what find_package and pkg-config
# need. The rooms stay apart in the build tree, where the linker then checks who uses whom.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(archives)
set(archive_rooms)
foreach(room kernels engine ops plan ad sql)
  get_target_property(type adjoin_${room} TYPE)
  if(type STREQUAL STATIC_LIBRARY)
    list(APPEND archives $<TARGET_FILE:adjoin_${room}>)
    list(APPEND archive_rooms adjoin_${room})
  endif()
endforeach()
set(ADJOIN_ARCHIVE ${PROJECT_BINARY_DIR}/libadjoin.a)
add_custom_command(
  OUTPUT ${ADJOIN_ARCHIVE}
  COMMAND ${CMAKE_COMMAND} -DAR=${CMAKE_AR} -DOUT=${ADJOIN_ARCHIVE} "-DARCHIVES=${archives}"
          -P ${PROJECT_SOURCE_DIR}/cmake/merge_archives.cmake
  DEPENDS ${archive_rooms} ${PROJECT_SOURCE_DIR}/cmake/merge_archives.cmake
  COMMENT "Merging the rooms into libadjoin.a" VERBATIM)
add_custom_target(adjoin_archive ALL DEPENDS ${ADJOIN_ARCHIVE})

# The Abseil libraries that the rooms use, as targets and as pkg-config modules.
set(ADJOIN_ABSL ${ABSL})
string(REPLACE "absl::" "absl_" absl_modules "${ADJOIN_ABSL}")
string(REPLACE ";" " " ADJOIN_PC_REQUIRES "${absl_modules} tbb")

configure_package_config_file(cmake/adjoinConfig.cmake.in ${PROJECT_BINARY_DIR}/adjoinConfig.cmake
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/adjoin
                              PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/adjoinConfigVersion.cmake COMPATIBILITY SameMinorVersion)
# Relative, so that an installation may be moved and `cmake --install --prefix` may choose the place.
file(RELATIVE_PATH ADJOIN_PC_PREFIX /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
configure_file(cmake/adjoin.pc.in ${PROJECT_BINARY_DIR}/adjoin.pc @ONLY)

install(FILES ${ADJOIN_ARCHIVE} DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/adjoin DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(FILES ${PROJECT_BINARY_DIR}/adjoinConfig.cmake ${PROJECT_BINARY_DIR}/adjoinConfigVersion.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/adjoin)
install(FILES ${PROJECT_BINARY_DIR}/adjoin.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
if(TARGET adjoin)
  install(TARGETS adjoin RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
