# Writes the source that lists all operator families, so that adding one is adding its file.
#
#   soapstone_operator_families(OUTPUT NAME.cpp SOURCES file...)
#
# FILE.cpp among the sources defines the function FILE_ops(). OUTPUT defines operator_families(),
# which calls them all in the order of their names. It has to be a source of its own, outside all
# batches: then an executable's own definition takes its place.
function(soapstone_operator_families)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "OUTPUT" "SOURCES")
  set(declarations "")
  set(calls "")
  set(names "")
  foreach(source IN LISTS arg_SOURCES)
    cmake_path(GET source STEM name)
    list(APPEND names ${name})
  endforeach()
  list(SORT names)
  foreach(name IN LISTS names)
    string(APPEND declarations "std::vector<OpDefinition> ${name}_ops();\n")
    string(APPEND calls "      ${name}_ops(),\n")
  endforeach()
  file(CONFIGURE OUTPUT "${arg_OUTPUT}" @ONLY CONTENT
"// Written by cmake/operator_families.cmake.
#include \"ops/definition/registry.h\"

namespace soapstone::ops {

@declarations@
std::vector<std::vector<OpDefinition>> operator_families() {
  return {
@calls@  };
}

}  // namespace soapstone::ops
")
  set_source_files_properties("${arg_OUTPUT}" PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()
