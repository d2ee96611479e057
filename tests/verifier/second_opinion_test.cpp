#include "verifier/refutation/second_opinion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/launches/host_backend.h"
#include "tests/support/rules.h"

namespace soapstone::verifier {
namespace {

using testing::HasSubstr;

rules::Rule associative() {
  return rule_of("x: [m, k]  a: [k, n]  b: [n, p]", "t = matmul(x, a)\n    y = matmul(t, b)",
                 "u = matmul(a, b)\n    y = matmul(x, u)");
}

TEST(SecondOpinion, AgreesWithARightRule) {
  const auto backend = runtime::make_reference_backend();
  const auto opinion = second_opinion(associative(), *backend);
  ASSERT_TRUE(opinion.ok()) << opinion.error().to_string();
  EXPECT_TRUE(opinion->agrees()) << opinion->disagreement;
  EXPECT_EQ(opinion->field_sizes, 20);
  EXPECT_EQ(opinion->float_sizes, 50);
  EXPECT_GT(opinion->largest_relative_error, 0);
  EXPECT_LT(opinion->largest_relative_error, 1e-4);
}

TEST(SecondOpinion, DisagreesWithAWrongRule) {
  const auto backend = runtime::make_reference_backend();
  const auto rule = rule_of("x: [n, n]  a: [n, n]", "y = matmul(x, a)", "y = matmul(a, x)");
  const auto opinion = second_opinion(rule, *backend);
  ASSERT_TRUE(opinion.ok());
  EXPECT_FALSE(opinion->agrees());
  EXPECT_THAT(opinion->disagreement, HasSubstr("n = 2, y["));
}

TEST(SecondOpinion, SaysThatNoSizesFit) {
  const auto backend = runtime::make_reference_backend();
  const auto rule = rule_of("x: [n]\n  where n >= 100000", "t = neg(x)\n    y = neg(t)", "y = x");
  const auto opinion = second_opinion(rule, *backend);
  ASSERT_FALSE(opinion.ok());
  EXPECT_EQ(opinion.error().code, core::ErrorCode::kUnsupported);
}

/// A backend with a fault that only a run can show.
class WrongBackend final : public runtime::HostBackend {
 public:
  const runtime::DeviceInfo& device() const override { return device_; }
  const runtime::FusionRules& fusion(runtime::Fusion fusion) const override {
    return runtime::generic_fusion(fusion);
  }

 private:
  /// The first result element comes out as 0.5.
  class Half final : public runtime::HostKernel {
   public:
    explicit Half(std::unique_ptr<runtime::HostKernel> right) : right_(std::move(right)) {}
    core::Status run(runtime::HostInputs inputs, runtime::HostOutputs outputs,
                     std::byte* scratch) override {
      core::Status status = right_->run(inputs, outputs, scratch);
      *reinterpret_cast<float*>(outputs[0]) = 0.5F;
      return status;
    }
    std::string implementation() const override { return "wrong"; }

   private:
    std::unique_ptr<runtime::HostKernel> right_;
  };

  core::Result<std::unique_ptr<runtime::HostKernel>>
  make_kernel(const core::Graph& graph, const runtime::Launch& launch,
              const runtime::LaunchLayouts& layouts, const runtime::ConstantValue& constants,
              std::vector<std::string>*) override {
    SOAPSTONE_ASSIGN_OR_RETURN(auto kernel,
                               runtime::compile_reference(graph, launch, layouts, constants));
    return std::unique_ptr<runtime::HostKernel>(std::make_unique<Half>(std::move(kernel)));
  }
  core::Result<std::unique_ptr<runtime::HostKernel>>
  make_conversion(const core::TensorType& type, runtime::Layout from, runtime::Layout to) override {
    return runtime::compile_reference_conversion(type, from, to);
  }

  runtime::DeviceInfo device_{"wrong", "reference kernels with a fault", 1};
};

TEST(SecondOpinion, RunsTheKernelsOfTheBackend) {
  WrongBackend backend;
  const auto opinion = second_opinion(associative(), backend);
  ASSERT_TRUE(opinion.ok());
  EXPECT_FALSE(opinion->agrees());
  EXPECT_THAT(opinion->disagreement, HasSubstr("y: element "));
}

}  // namespace
}  // namespace soapstone::verifier
