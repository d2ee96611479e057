# Writes the C++ source that knows the shipped rule files by their digests. Run by the build
# whenever one of them has changed:
#
#   cmake -Dfiles=a.rules;b.rules -Doutput=shipped_digests.cpp -P shipped_digests.cmake
set(digests "")
foreach(rules IN LISTS files)
  file(SHA256 "${rules}" digest)
  cmake_path(GET rules FILENAME name)
  string(APPEND digests "    \"${digest}\", // ${name}\n")
endforeach()
file(WRITE "${output}" "// Made by cmake/shipped_digests.cmake.
#include \"jobs/rules/shipped_rules.h\"

#include <array>

namespace soapstone::jobs {

std::span<const std::string_view> shipped_digests() {
  static constexpr auto kDigests = std::to_array<std::string_view>({
${digests}  });
  return kDigests;
}

}  // namespace soapstone::jobs
")
