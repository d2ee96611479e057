// Which runtime is meant, and ONNX Runtime itself behind the client.
#include "workers/runtimes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

namespace soapstone::workers {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Runtimes, NamesAreRead) {
  EXPECT_EQ(parse_runtime("onnxruntime")->kind, RuntimeChoice::Kind::kOnnxRuntime);
  EXPECT_EQ(parse_runtime("openvino")->kind, RuntimeChoice::Kind::kOpenVino);
  const auto command = parse_runtime("command:my-worker  --device 'Pixel 9' \"\" a\"b c\"d");
  ASSERT_TRUE(command.ok()) << command.error().to_string();
  EXPECT_EQ(command->kind, RuntimeChoice::Kind::kCommand);
  EXPECT_THAT(command->command, ElementsAre("my-worker", "--device", "Pixel 9", "", "ab cd"));
}

TEST(Runtimes, OtherNamesAreErrors) {
  for (const char* text : {"", "tensorrt", "ONNXRuntime", "command:", "command:  ", "command"}) {
    const auto choice = parse_runtime(text);
    ASSERT_FALSE(choice.ok()) << text;
    EXPECT_EQ(choice.error().code, core::ErrorCode::kUsage);
    EXPECT_THAT(choice.error().hint, HasSubstr("openvino"));
  }
  EXPECT_THAT(parse_runtime("command:a 'b").error().message, HasSubstr("does not end"));
}

TEST(Runtimes, WhatIsNotInstalledNamesTheCommandThatInstallsIt) {
  for (const char* name : {"onnxruntime", "openvino"}) {
    RuntimeChoice choice = *parse_runtime(name);
    choice.python = "/bin/false";
    const auto worker = start_runtime_worker(choice);
    ASSERT_FALSE(worker.ok());
    EXPECT_EQ(worker.error().code, core::ErrorCode::kUnavailable);
    EXPECT_THAT(worker.error().hint, HasSubstr(std::string("/bin/false -m pip install ") + name));
  }
}

TEST(Runtimes, ACommandMustSpeakTheProtocol) {
  const auto worker = start_runtime_worker(*parse_runtime("command:sh -c 'read a; echo hello'"));
  ASSERT_FALSE(worker.ok());
  EXPECT_EQ(worker.error().code, core::ErrorCode::kUnavailable);
  EXPECT_THAT(worker.error().message, HasSubstr("no JSON object: hello"));
  EXPECT_THAT(worker.error().hint, HasSubstr("docs/workers.md"));
}

class OnnxRuntime : public ::testing::Test {
 protected:
  void SetUp() override {
    auto worker = start_runtime_worker({});
    if (!worker) GTEST_SKIP() << worker.error().to_string();
    worker_.emplace(*std::move(worker));
  }

  /// Two convolutions with relu, and one without, whose results are added.
  core::Result<std::size_t> load(const LoadOptions& options) {
    SOAPSTONE_ASSIGN_OR_RETURN(
        const std::size_t model,
        worker_->load(SOAPSTONE_SOURCE_DIR "/tests/data/taso_models/readme.onnx", options));
    const std::vector<float> zeros(std::size_t{128} * 56 * 56);
    const NamedTensor x{"x100", core::Literal::floats({1, 128, 56, 56}, zeros)};
    SOAPSTONE_RETURN_IF_ERROR(worker_->prepare(model, std::span(&x, 1)));
    return model;
  }

  std::optional<RuntimeWorker> worker_;
};

TEST_F(OnnxRuntime, TimesModelsInTurn) {
  LoadOptions options;
  const auto plain = load(options);
  options.optimizations = true;
  const auto optimized = load(options);
  ASSERT_TRUE(plain.ok()) << plain.error().to_string();
  ASSERT_TRUE(optimized.ok()) << optimized.error().to_string();
  const std::size_t models[] = {*plain, *optimized, *plain};
  const auto samples = worker_->time(models, 4, 1e9);
  ASSERT_TRUE(samples.ok()) << samples.error().to_string();
  ASSERT_EQ(samples->size(), 3U);
  for (const Samples& model : *samples) {
    EXPECT_EQ(model.wall_us.size(), 4U);
    EXPECT_GT(std::ranges::min(model.wall_us), 100);  // 500 million multiplications
    EXPECT_GT(std::ranges::min(model.cpu_us), 100);
  }
  EXPECT_EQ(worker_->time(models, 50, 1)->at(0).wall_us.size(), 3U) << "the budget is over";
}

TEST_F(OnnxRuntime, KernelsCoverTheModel) {
  LoadOptions options;
  options.optimizations = true;
  const auto model = load(options);
  ASSERT_TRUE(model.ok()) << model.error().to_string();
  // Kernels are timed by the wall, the model by its CPU: other work is a reason to measure again.
  bool is_sum = false;
  for (int attempt = 0; attempt < 5 && !is_sum; ++attempt) {
    const auto profile = worker_->profile(*model, 3);
    ASSERT_TRUE(profile.ok()) << profile.error().to_string();
    double sum_us = 0;
    bool reads_input = false, makes_output = false, has_convolution = false;
    for (const RuntimeKernel& kernel : profile->kernels) {
      sum_us += kernel.us;
      reads_input |= std::ranges::count(kernel.inputs, "x100") > 0;
      makes_output |= std::ranges::count(kernel.outputs, "t108") > 0;
      has_convolution |= kernel.op.ends_with("Conv");
    }
    EXPECT_TRUE(reads_input && makes_output && has_convolution);
    is_sum = sum_us > profile->total_cpu_us / 2 && sum_us < profile->total_cpu_us * 2;
  }
  EXPECT_TRUE(is_sum) << "kernels never took about what the model took";
}

TEST_F(OnnxRuntime, OptionsAreInItsOwnWords) {
  LoadOptions options;
  options.options = {{"session.disable_prepacking", "1"},
                     {"execution_mode", "ORT_PARALLEL"},
                     {"enable_cpu_mem_arena", "0"}};
  EXPECT_TRUE(load(options).ok());
  options.options = {{"no_such_option", "1"}};
  EXPECT_THAT(load(options).error().message, HasSubstr("no session option no_such_option"));
  options.options = {{"execution_mode", "FAST"}};
  EXPECT_THAT(load(options).error().message, HasSubstr("cannot be 'FAST'"));
  options = {};
  options.provider = "QuantumExecutionProvider";
  EXPECT_THAT(load(options).error().message, HasSubstr("has no QuantumExecutionProvider"));
}

}  // namespace
}  // namespace soapstone::workers
