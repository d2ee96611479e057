// CHECK: an invariant of our own code. It stays on in every build; no user input may reach it.
#pragma once

#include <string>
#include <string_view>

namespace soapstone::core {

/// Prints where and why the invariant broke and ends the process with exit code 1.
[[noreturn]] void check_failed(const char* file, int line, std::string_view condition,
                               std::string_view why);

}  // namespace soapstone::core

#define CHECK(condition, ...)                                                                      \
  do {                                                                                             \
    if (!(condition)) [[unlikely]]                                                                 \
      ::soapstone::core::check_failed(__FILE__, __LINE__, #condition, ::std::string(__VA_ARGS__)); \
  } while (false)
