// The backend under test, made once for all tests.
#pragma once

#include "cpu/cpu_backend.h"
#include "tests/runtime/runtime_test.h"

namespace soapstone::cpu::test {

inline runtime::Backend& backend() {
  static const std::unique_ptr<runtime::Backend> made = [] {
    auto result = make_cpu_backend();
    EXPECT_TRUE(result.ok()) << (result ? "" : result.error().to_string());
    return *std::move(result);
  }();
  return *made;
}

}  // namespace soapstone::cpu::test
