# ONNX's C++ library, newer than Debian's and in a namespace of its own, so that a program may load
# another copy (onnxruntime, Debian's libonnx) beside it.
#
#   link      soapstone::onnx         (brings protobuf::libprotobuf)
#   include   "onnx/onnx_pb.h"        the protobuf messages
#             "onnx/checker.h", "onnx/shape_inference/implementation.h", "onnx/defs/schema.h"
#   use       namespace soapstone_onnx, or the macro ONNX_NAMESPACE that the target defines
#
# It is built once by cmake/build_onnx.sh and installed to a cache outside the build tree, which
# every build tree of this user shares. Set SOAPSTONE_ONNX_PREFIX to use an install of your own.

find_package(Protobuf REQUIRED)

if(NOT SOAPSTONE_CACHE_DIR)
  if(NOT "$ENV{XDG_CACHE_HOME}" STREQUAL "")
    set(SOAPSTONE_CACHE_DIR "$ENV{XDG_CACHE_HOME}/soapstone")
  elseif(NOT "$ENV{HOME}" STREQUAL "")
    set(SOAPSTONE_CACHE_DIR "$ENV{HOME}/.cache/soapstone")
  else()
    set(SOAPSTONE_CACHE_DIR "${CMAKE_BINARY_DIR}/cache")
  endif()
endif()

if(NOT SOAPSTONE_ONNX_PREFIX)
  # Another recipe, compiler or protobuf is another install.
  set(script "${CMAKE_CURRENT_LIST_DIR}/build_onnx.sh")
  file(SHA256 "${script}" recipe)
  string(SHA256 key "${recipe} ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION} ${CMAKE_SYSTEM_PROCESSOR} ${Protobuf_VERSION}")
  string(SUBSTRING "${key}" 0 12 key)
  set(SOAPSTONE_ONNX_PREFIX "${SOAPSTONE_CACHE_DIR}/onnx-1.22.0-${key}")

  if(NOT EXISTS "${SOAPSTONE_ONNX_PREFIX}/lib/libonnx.a")
    find_package(Python3 REQUIRED COMPONENTS Interpreter)
    execute_process(
      COMMAND
        "${CMAKE_COMMAND}" -E env "CXX=${CMAKE_CXX_COMPILER}" "CMAKE=${CMAKE_COMMAND}"
        "PYTHON=${Python3_EXECUTABLE}" "${script}" "${SOAPSTONE_CACHE_DIR}"
        "${SOAPSTONE_ONNX_PREFIX}"
      RESULT_VARIABLE status)
    if(NOT status EQUAL 0)
      message(FATAL_ERROR "ONNX is missing and could not be built; the message above says why.")
    endif()
  endif()
endif()

if(NOT EXISTS "${SOAPSTONE_ONNX_PREFIX}/lib/libonnx.a")
  message(FATAL_ERROR "SOAPSTONE_ONNX_PREFIX=${SOAPSTONE_ONNX_PREFIX} holds no lib/libonnx.a")
endif()

# libonnx.a holds libonnx_proto.a's objects too.
add_library(soapstone::onnx STATIC IMPORTED GLOBAL)
set_target_properties(
  soapstone::onnx
  PROPERTIES IMPORTED_LOCATION "${SOAPSTONE_ONNX_PREFIX}/lib/libonnx.a"
             INTERFACE_INCLUDE_DIRECTORIES "${SOAPSTONE_ONNX_PREFIX}/include"
             INTERFACE_COMPILE_DEFINITIONS "ONNX_NAMESPACE=soapstone_onnx;ONNX_ML=1"
             INTERFACE_LINK_LIBRARIES protobuf::libprotobuf)
