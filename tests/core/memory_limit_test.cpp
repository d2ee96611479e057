// The limit on memory: asked, set, and what happens beyond it.
#include "core/base/memory_limit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <new>
#include <vector>

namespace soapstone::core {
namespace {

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

/// Whether a child with that limit gets that much memory: 0 yes, 1 std::bad_alloc.
int allocate_within(std::uint64_t limit_bytes, std::uint64_t bytes) {
  const pid_t child = fork();
  if (child == 0) {
    limit_memory(limit_bytes);
    try {
      const std::vector<char> block(bytes);
      _exit(block[bytes / 2]);
    } catch (const std::bad_alloc&) {
      _exit(1);
    }
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(MemoryLimit, WhatIsBeyondItIsNotGiven) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers do not work within a limit";
#endif
  EXPECT_EQ(allocate_within(kGiB, kGiB / 64), 0);
  EXPECT_EQ(allocate_within(kGiB, 2 * kGiB), 1);
}

TEST(MemoryLimit, IsPartOfTheMachine) {
  EXPECT_GT(default_memory_limit(), 0U);
  EXPECT_LE(default_memory_limit(), memory_limit());
}

TEST(MemoryLimit, SaysWhatDoesNotFit) {
  EXPECT_TRUE(check_fits_memory(1024, "a small tensor").ok());
  const auto large = check_fits_memory(std::uint64_t{1} << 60, "a large tensor");
  ASSERT_FALSE(large.ok());
  EXPECT_EQ(large.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(large.error().message, testing::HasSubstr("a large tensor needs 1073741824.0 GiB"));
  EXPECT_THAT(large.error().hint, testing::HasSubstr("--max-memory"));
}

TEST(MemoryLimit, SizesReadAsAPersonWritesThem) {
  EXPECT_EQ(memory_text(100), "1 KiB");
  EXPECT_EQ(memory_text(3 << 20), "3.0 MiB");
  EXPECT_EQ(memory_text(5 * kGiB / 2), "2.5 GiB");
}

}  // namespace
}  // namespace soapstone::core
