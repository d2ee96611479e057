# How each foreign library is found, by the name of the target that folders link.
# Installed with the package, whose configuration file uses it too.

# For libraries that come without CMake files.
function(soapstone_import target header library)
  string(MAKE_C_IDENTIFIER "${target}" id)
  find_path(${id}_INCLUDE_DIR ${header} REQUIRED)
  find_library(${id}_LIBRARY ${library} REQUIRED)
  mark_as_advanced(${id}_INCLUDE_DIR ${id}_LIBRARY)
  add_library(${target} UNKNOWN IMPORTED GLOBAL)
  set_target_properties(
    ${target} PROPERTIES IMPORTED_LOCATION "${${id}_LIBRARY}"
                         INTERFACE_INCLUDE_DIRECTORIES "${${id}_INCLUDE_DIR}")
endfunction()

# With SOAPSTONE_BARE: fmt by its headers alone, which `./dev headers` lays out for a machine without
# packages. The folders that are built then need no TBB but to be told so.
macro(soapstone_find_bare target)
  if("${target}" STREQUAL "fmt::fmt")
    find_path(SOAPSTONE_FMT_HEADERS fmt/format.h HINTS "${PROJECT_SOURCE_DIR}/build/headers"
              NO_CMAKE_SYSTEM_PATH)
    if(NOT SOAPSTONE_FMT_HEADERS)
      message(FATAL_ERROR "fmt's headers are missing: run ./dev headers where fmt is installed and copy "
                          "build/headers here, or set SOAPSTONE_FMT_HEADERS")
    endif()
    add_library(fmt::fmt INTERFACE IMPORTED GLOBAL)
    set_target_properties(
      fmt::fmt PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${SOAPSTONE_FMT_HEADERS}"
                          INTERFACE_COMPILE_DEFINITIONS FMT_HEADER_ONLY)
  elseif("${target}" STREQUAL "TBB::tbb")
    add_library(TBB::tbb INTERFACE IMPORTED GLOBAL)
  endif()
endmacro()

macro(soapstone_find_library target)
  if(SOAPSTONE_BARE AND NOT TARGET ${target})
    soapstone_find_bare(${target})
  endif()
  if(TARGET ${target})
    # Found before.
  elseif("${target}" STREQUAL "fmt::fmt")
    find_package(fmt 9 CONFIG REQUIRED)
  elseif("${target}" STREQUAL "xxHash::xxhash")
    soapstone_import(xxHash::xxhash xxhash.h xxhash)
  elseif("${target}" STREQUAL "soapstone::onnx")
    include(onnx)
  elseif("${target}" STREQUAL "protobuf::libprotobuf")
    find_package(Protobuf 3.21 REQUIRED)
  elseif("${target}" STREQUAL "libzip::zip")
    soapstone_import(libzip::zip zip.h zip) # Debian's CMake files for it ask for its command-line tools.
  elseif("${target}" STREQUAL "DNNL::dnnl")
    soapstone_import(DNNL::dnnl dnnl.hpp dnnl) # Debian's CMake files for it ask for OpenCL's headers.
  elseif("${target}" STREQUAL "OpenMP::OpenMP_CXX")
    find_package(OpenMP REQUIRED COMPONENTS CXX)
  elseif("${target}" STREQUAL "SQLite::SQLite3")
    find_package(SQLite3 REQUIRED)
  elseif("${target}" STREQUAL "TBB::tbb")
    find_package(TBB 2021 CONFIG REQUIRED)
  elseif("${target}" STREQUAL "CLI11::CLI11")
    find_package(CLI11 CONFIG REQUIRED)
  elseif("${target}" STREQUAL "nlohmann_json::nlohmann_json")
    find_package(nlohmann_json 3 CONFIG REQUIRED)
  elseif("${target}" STREQUAL "z3::z3")
    soapstone_import(z3::z3 z3++.h z3)
  elseif("${target}" STREQUAL "MPI::MPI_CXX")
    set(MPI_CXX_SKIP_MPICXX TRUE) # We use the C interface; the C++ bindings are deprecated.
    find_package(MPI 3 REQUIRED COMPONENTS CXX)
  elseif("${target}" STREQUAL "hwloc::hwloc")
    soapstone_import(hwloc::hwloc hwloc.h hwloc)
  elseif("${target}" MATCHES "^CUDA::")
    find_package(CUDAToolkit REQUIRED)
  else()
    message(FATAL_ERROR "cmake/dependencies.cmake does not say how to find ${target}")
  endif()
endmacro()
