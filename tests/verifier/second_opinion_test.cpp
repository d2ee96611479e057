#include "verifier/refutation/second_opinion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
class WrongBackend final : public runtime::Backend {
 public:
  const runtime::DeviceInfo& device() const override { return right_->device(); }
  const runtime::FusionRules& fusion(runtime::Fusion fusion) const override {
    return right_->fusion(fusion);
  }
  core::Result<std::unique_ptr<runtime::Kernel>>
  compile(const core::Graph& graph, const runtime::Launch& launch,
          const runtime::LaunchLayouts& layouts, const runtime::ConstantValue& constants,
          std::vector<std::string>* why_not) override {
    auto kernel = right_->compile(graph, launch, layouts, constants, why_not);
    if (!kernel) return kernel;
    return std::unique_ptr<runtime::Kernel>(std::make_unique<Half>(*std::move(kernel)));
  }
  core::Result<std::unique_ptr<runtime::Kernel>> compile_conversion(const core::TensorType& type,
                                                                    runtime::Layout from,
                                                                    runtime::Layout to) override {
    return right_->compile_conversion(type, from, to);
  }

 private:
  /// The first result element comes out as 0.5.
  class Half final : public runtime::Kernel {
   public:
    explicit Half(std::unique_ptr<runtime::Kernel> right) : right_(std::move(right)) {}
    core::Status run(std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs,
                     std::byte* scratch) override {
      const core::Status status = right_->run(inputs, outputs, scratch);
      *reinterpret_cast<float*>(outputs[0]) = 0.5F;
      return status;
    }
    std::string implementation() const override { return "wrong"; }

   private:
    std::unique_ptr<runtime::Kernel> right_;
  };
  std::unique_ptr<runtime::Backend> right_ = runtime::make_reference_backend();
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
