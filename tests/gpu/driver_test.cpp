// A device is found, or one message says why there is none, whichever call fails.
#include <gtest/gtest.h>

#include "tests/gpu/fake_driver.h"

namespace soapstone::gpu {
namespace {

using test::FakeDriver;

TEST(Driver, FindsADevice) {
  const test::FakeCompiler compiler;
  FakeDriver fake(compiler);
  const auto facts = find_device(fake.driver(), 0);
  ASSERT_TRUE(facts.ok()) << facts.error().to_string();
  EXPECT_EQ(facts->name, "Fake");
  EXPECT_EQ(facts->handle, 7);
  EXPECT_EQ(facts->driver_version, 13000);
  EXPECT_EQ(facts->memory_bytes, 1u << 20);
  EXPECT_NE(facts->major, facts->minor);
}

TEST(Driver, SaysWhichCallFails) {
  const test::FakeCompiler compiler;
  FakeDriver all(compiler);
  ASSERT_TRUE(find_device(all.driver(), 0).ok());
  for (int k = 0; k < all.calls(); ++k) {
    FakeDriver fake(compiler, k);
    const auto facts = find_device(fake.driver(), 0);
    ASSERT_FALSE(facts.ok()) << k;
    EXPECT_EQ(facts.error().code, core::ErrorCode::kUnavailable);
    EXPECT_EQ(facts.error().message.rfind("no CUDA device: cu", 0), 0u) << facts.error().message;
    EXPECT_NE(facts.error().message.find("999 (CUDA_ERROR_OF_A_TEST)"), std::string::npos);
    EXPECT_EQ(fake.calls(), k + 1);
  }
}

TEST(Driver, CountsDevices) {
  const test::FakeCompiler compiler;
  for (const int ordinal : {-1, 1}) {
    FakeDriver fake(compiler);
    const auto facts = find_device(fake.driver(), ordinal);
    ASSERT_FALSE(facts.ok());
    EXPECT_EQ(facts.error().code, core::ErrorCode::kUnavailable);
  }
}

TEST(Driver, IsNotThereOrFindsWhatItFinds) {
  const auto none = load_driver("libcuda_that_nobody_has.so");
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code, core::ErrorCode::kUnavailable);
  EXPECT_EQ(none.error().message.rfind("no CUDA device: ", 0), 0u) << none.error().message;
  const auto other = load_driver("libm.so.6");
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().code, core::ErrorCode::kUnavailable);
  const auto backend = make_gpu_backend();
  if (!backend) {
    EXPECT_EQ(backend.error().code, core::ErrorCode::kUnavailable);
    EXPECT_EQ(backend.error().message.rfind("no CUDA device: ", 0), 0u);
    GTEST_SKIP() << backend.error().to_string();
  }
  EXPECT_FALSE((*backend)->device().name.empty());
}

}  // namespace
}  // namespace soapstone::gpu
