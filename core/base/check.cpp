// Ends the process when an invariant of our own is broken. It writes with stdio alone, so that it
// also works while memory or iostreams are in a bad state.
#include "core/base/check.h"

#include <cstdio>
#include <cstdlib>

namespace soapstone::core {

void check_failed(const char* file, int line, std::string_view condition, std::string_view why) {
  std::fprintf(stderr, "%s:%d: broken invariant: %.*s%s%.*s\n", file, line,
               static_cast<int>(condition.size()), condition.data(), why.empty() ? "" : ": ",
               static_cast<int>(why.size()), why.data());
  std::fflush(stderr);
  std::_Exit(1);  // no destructors: they may rely on what is broken
}

}  // namespace soapstone::core
