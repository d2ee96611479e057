// Shape questions on numbers (decided at once, with the label in the message) and on symbols
// (recorded, each derived size once).
#include "ops/definition/infer_context.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace soapstone::ops {
namespace {

using ::testing::HasSubstr;

class InferContextTest : public ::testing::Test {
 protected:
  core::Attributes attributes_;
  std::vector<TensorType> inputs_{{core::DataType::kFloat32, {Polynomial(4), Polynomial(6)}, true},
                                  {core::DataType::kOther, {}, false}};
  InferContext context_{attributes_, inputs_, "conv"};
  core::SymbolTable names_;
  Polynomial n_ = names_.intern("n"), m_ = names_.intern("m");
};

TEST_F(InferContextTest, NumbersAreDecidedAtOnce) {
  EXPECT_TRUE(context_.require_equal(6, 6, "conv.channels"));
  EXPECT_TRUE(context_.require_at_least(6, 6, "conv.channels"));
  EXPECT_TRUE(context_.constraints().empty());
  EXPECT_FALSE(context_.require_equal(6, 8, "conv.channels"));
  EXPECT_TRUE(context_.failed());
  EXPECT_EQ(context_.error().code, core::ErrorCode::kInvalidInput);
  EXPECT_EQ(context_.error().message, "conv: sizes must be equal but are 6 and 8 [conv.channels]");
}

TEST_F(InferContextTest, TheFirstFailureWins) {
  context_.require_rank(0, 3, "conv.rank");
  context_.require(false, "conv.other", "something else");
  EXPECT_EQ(context_.error().message, "conv: input 0 must have 3 dimensions but has 2 [conv.rank]");
  EXPECT_FALSE(context_.require(true, "conv.fine", ""));
}

TEST_F(InferContextTest, LeftOutInputs) {
  EXPECT_TRUE(context_.has_input(0));
  EXPECT_FALSE(context_.has_input(1));
  EXPECT_FALSE(context_.has_input(2));
  EXPECT_FALSE(context_.require_rank(1, 0, "conv.rank"));
}

TEST_F(InferContextTest, SymbolsAreRecorded) {
  EXPECT_TRUE(context_.require_equal(n_, n_, "same"));
  EXPECT_TRUE(context_.constraints().empty());
  EXPECT_TRUE(context_.require_equal(n_ + m_, n_ + n_, "conv.channels"));
  EXPECT_TRUE(context_.require_at_least(n_, 3, "conv.kernel"));
  ASSERT_EQ(context_.constraints().size(), 2u);
  EXPECT_EQ(context_.constraints()[0].expression, m_ - n_);
  EXPECT_EQ(context_.constraints()[0].kind, SizeConstraint::Kind::kZero);
  EXPECT_EQ(context_.constraints()[1].expression, n_ - Polynomial(3));
  EXPECT_EQ(context_.constraints()[1].label, "conv.kernel");
}

TEST_F(InferContextTest, SymbolsThatCanNeverAgreeFail) {
  EXPECT_FALSE(context_.require_equal(n_ + Polynomial(1), n_, "conv.channels"));
  EXPECT_THAT(context_.error().message, HasSubstr("[conv.channels]"));
}

TEST_F(InferContextTest, DivisionOfNumbers) {
  EXPECT_EQ(context_.floor_div(7, 2), Polynomial(3));
  EXPECT_EQ(context_.floor_div(-7, 2), Polynomial(-4));
  EXPECT_EQ(context_.ceil_div(7, 2), Polynomial(4));
  EXPECT_EQ(context_.ceil_div(-7, 2), Polynomial(-3));
  EXPECT_EQ(context_.max_zero(-7), Polynomial(0));
  EXPECT_TRUE(context_.derived().empty());
}

TEST_F(InferContextTest, DivisionOfSymbols) {
  context_.set_first_derived(core::Symbol{100});
  EXPECT_EQ(context_.floor_div(n_ * Polynomial(4) + Polynomial(3), 2),
            n_ * Polynomial(2) + Polynomial(1));
  EXPECT_TRUE(context_.derived().empty());
  const Polynomial half = context_.floor_div(n_ - Polynomial(1), 2);
  EXPECT_EQ(context_.floor_div(n_ + Polynomial(3), 2), half + Polynomial(2));  // the same question
  EXPECT_EQ(context_.ceil_div(n_, 2), half + Polynomial(1));
  ASSERT_EQ(context_.derived().size(), 1u);
  EXPECT_EQ(context_.derived()[0].symbol, core::Symbol{100});
  EXPECT_EQ(context_.derived()[0].numerator, n_ + Polynomial(1));
  EXPECT_EQ(context_.max_zero(n_ - m_), context_.max_zero(n_ - m_));
  EXPECT_EQ(context_.derived().size(), 2u);
}

TEST_F(InferContextTest, Broadcasting) {
  const Polynomial one(1);
  EXPECT_EQ(context_.broadcast({n_, one, Polynomial(4)}, {Polynomial(5), one}, "add.shape"),
            (Shape{n_, Polynomial(5), Polynomial(4)}));
  EXPECT_TRUE(context_.constraints().empty());
  EXPECT_EQ(context_.broadcast({n_}, {m_}, "add.shape"), Shape{n_});
  EXPECT_EQ(context_.constraints().size(), 1u);
  context_.broadcast({Polynomial(2)}, {Polynomial(3)}, "add.shape");
  EXPECT_TRUE(context_.failed());
}

}  // namespace
}  // namespace soapstone::ops
