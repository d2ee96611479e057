# Language, warnings, sanitizers and the compiler cache, for everything below the top.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

# Sources are compiled in batches, as headers and templates cost more than our own code: half of
# the CPU time. The functions of a batch share one anonymous namespace, so names differ within a part.
option(SOAPSTONE_UNITY "Compile several sources at once" ON)
set(CMAKE_UNITY_BUILD ${SOAPSTONE_UNITY})
set(CMAKE_UNITY_BUILD_BATCH_SIZE 16)

find_program(CCACHE ccache)
mark_as_advanced(CCACHE)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CCACHE}")
endif()

add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic;-Wshadow;-Wnon-virtual-dtor;-Wold-style-cast>")
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # At -O3 it warns of `"text" + std::string` (GCC bug 105651) and of code inside fmt.
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict;-Wno-stringop-overflow>")
endif()
if(SOAPSTONE_WERROR)
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-Werror>")
endif()

# __FILE__ in messages is relative to the repository: the same in every clone.
add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-ffile-prefix-map=${PROJECT_SOURCE_DIR}/=>")

# Commands link all folders; they load only the libraries that they use.
add_link_options("LINKER:--as-needed")

if(SOAPSTONE_SANITIZE)
  set(sanitizer_flags -fsanitize=${SOAPSTONE_SANITIZE} -fno-sanitize-recover=all)
  # Instrumented code confuses GCC's analysis of what is initialized.
  add_compile_options(
    "$<$<COMPILE_LANGUAGE:CXX>:${sanitizer_flags};-fno-omit-frame-pointer;-Wno-maybe-uninitialized>")
  add_link_options(${sanitizer_flags})
endif()
