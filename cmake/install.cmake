# What `cmake --install` puts where, and the package that find_package(Soapstone) finds.

include(CMakePackageConfigHelpers)

get_property(libraries GLOBAL PROPERTY SOAPSTONE_LIBRARIES)
get_property(executables GLOBAL PROPERTY SOAPSTONE_EXECUTABLES)
get_property(SOAPSTONE_FOREIGN GLOBAL PROPERTY SOAPSTONE_FOREIGN)
list(REMOVE_DUPLICATES SOAPSTONE_FOREIGN)
set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/Soapstone")

if(executables)
  install(TARGETS ${executables})
endif()
if(libraries)
  install(TARGETS ${libraries} EXPORT SoapstoneTargets)
  install(EXPORT SoapstoneTargets NAMESPACE soapstone:: DESTINATION "${package_dir}")
endif()
foreach(folder IN LISTS all_folders)
  if(TARGET soapstone_${folder})
    install(DIRECTORY "${PROJECT_SOURCE_DIR}/${folder}"
            DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/soapstone"
            FILES_MATCHING PATTERN "*.h")
  endif()
endforeach()
install(DIRECTORY rules/ DESTINATION "${CMAKE_INSTALL_DATADIR}/soapstone/rules"
        FILES_MATCHING PATTERN "*.rules")
install(DIRECTORY workers/ DESTINATION "${CMAKE_INSTALL_DATADIR}/soapstone/workers"
        FILES_MATCHING PATTERN "*.py")

configure_package_config_file(
  cmake/SoapstoneConfig.cmake.in "${PROJECT_BINARY_DIR}/SoapstoneConfig.cmake"
  INSTALL_DESTINATION "${package_dir}" PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_DATADIR NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(
  "${PROJECT_BINARY_DIR}/SoapstoneConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(
  FILES "${PROJECT_BINARY_DIR}/SoapstoneConfig.cmake"
        "${PROJECT_BINARY_DIR}/SoapstoneConfigVersion.cmake"
        cmake/dependencies.cmake cmake/rules_location.cpp
  DESTINATION "${package_dir}")

# No system has this build of ONNX, so it comes along.
if(TARGET soapstone::onnx)
  install(FILES "$<TARGET_FILE:soapstone::onnx>" DESTINATION "${CMAKE_INSTALL_LIBDIR}"
          RENAME libsoapstone_onnx.a)
endif()
