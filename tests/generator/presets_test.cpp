// The contents of the presets, and the laws that each theme is there for.
#include "generator/vocabulary/presets.h"

#include <algorithm>
#include <set>

#include "generator/selection/reduce.h"
#include "generator_fixture.h"

namespace soapstone::generator {
namespace {

bool has_value(const Preset& all, std::string_view op, std::string_view attribute,
               const core::AttributeValue& value) {
  return std::ranges::any_of(all.themes, [&](const Theme& theme) {
    return std::ranges::any_of(theme.vocabulary.operators, [&](const OperatorInstance& i) {
      const core::AttributeValue* found = i.op->name == op ? i.attributes.find(attribute) : nullptr;
      return found != nullptr && *found == value;
    });
  });
}

TEST(Presets, AllCoversWhatGraphsAreMadeOf) {
  const auto all = preset("all");
  ASSERT_TRUE(all);
  for (const char* op :
       {"add",        "sub",         "mul",        "div",          "exp",
        "relu",       "sigmoid",     "tanh",       "gelu",         "clip",
        "matmul",     "conv",        "max_pool",   "average_pool", "global_average_pool",
        "reduce_sum", "reduce_mean", "reduce_max", "softmax",      "layer_norm",
        "rms_norm",   "batch_norm",  "transpose",  "reshape",      "concat",
        "split",      "slice",       "pad",        "enlarge",      "gather"})
    EXPECT_TRUE(std::ranges::any_of(all->themes, [&](const Theme& theme) {
      return std::ranges::any_of(theme.vocabulary.operators,
                                 [&](const OperatorInstance& i) { return i.op->name == op; });
    })) << op;
  using core::Polynomial;
  using Sizes = std::vector<Polynomial>;
  EXPECT_TRUE(has_value(*all, "conv", "strides", Sizes{2, 2}));
  EXPECT_TRUE(has_value(*all, "max_pool", "strides", Sizes{2, 2}));
  EXPECT_TRUE(has_value(*all, "conv", "group", Polynomial(2)));
  std::set<Constant> constants;
  std::set<std::pair<std::int64_t, std::int64_t>> kernels;
  for (const Theme& theme : all->themes) {
    constants.insert(theme.vocabulary.constants.begin(), theme.vocabulary.constants.end());
    for (const KernelSize& k : theme.vocabulary.kernels) kernels.emplace(k.height, k.width);
  }
  for (Constant c : {Constant::kZero, Constant::kOne, Constant::kIdentity, Constant::kDelta})
    EXPECT_TRUE(constants.contains(c));
  for (const auto& size : {std::pair{1, 1}, {1, 3}, {3, 1}, {3, 3}})
    EXPECT_TRUE(kernels.contains({size.first, size.second}));
}

TEST(Presets, EveryNameIsThereAndEveryThemeHasANameOfItsOwn) {
  for (std::string_view name : preset_names()) {
    const auto found = preset(name);
    ASSERT_TRUE(found) << name;
    std::set<std::string> names;
    for (const Theme& theme : found->themes) EXPECT_TRUE(names.insert(theme.name).second);
    EXPECT_FALSE(names.empty());
  }
  EXPECT_EQ(theme_of("algebra", "algebra").operators.size(), 20u);
}

TEST(Presets, LawsOfAnyMatricesComeBeforeAlgebra) {
  // Each use of a law on two matrices would be a law of its own: abs(x)(xw) = (abs(x)x)w.
  const auto found = preset("algebra");
  ASSERT_TRUE(found);
  Reducer reducer({2, nullptr, nullptr});
  std::vector<std::size_t> kept;
  for (const Theme& theme : found->themes) {
    reducer.add(enumerate_vocabulary(theme.vocabulary, theme.ops(3)));
    kept.push_back(reducer.statistics().kept);
  }
  ASSERT_EQ(kept.size(), 2u);
  EXPECT_GT(kept[0], 50u);
  Reducer alone({2, nullptr, nullptr});
  alone.add(enumerate_vocabulary(theme_of("algebra", "algebra"), 3));
  EXPECT_LT(kept[1], alone.statistics().kept * 2 / 3);
}

TEST(Presets, NothingIsBroadcastWithoutBroadcasts) {
  const Enumeration found = enumerate_vocabulary(theme_of("algebra", "algebra"), 3);
  const ApplicationTable& applications = found.terms.applications();
  std::size_t differences = 0;
  for (ApplicationId id = 0; id < applications.size(); ++id) {
    const Application& application = applications[id];
    if (application.op->name != "sub") continue;
    ++differences;
    EXPECT_EQ(application.operands[0], application.operands[1]);
  }
  EXPECT_GT(differences, 1u);  // of matrices and of rows
}

TEST(Presets, RichThemesAreSmaller) {
  const Theme rich{"rich", {}, 2};
  EXPECT_EQ(rich.ops(5), 3);
  EXPECT_EQ(rich.ops(1), 1);
}

struct Expected {
  const char* theme;
  int ops;
  std::vector<const char*> laws;
};

void PrintTo(const Expected& expected, std::ostream* out) { *out << expected.theme; }

class ThemeLaws : public testing::TestWithParam<Expected> {};

TEST_P(ThemeLaws, AreFound) {
  const Enumeration found = enumerate_theme(GetParam().theme, GetParam().ops);
  for (const char* law : GetParam().laws)
    EXPECT_TRUE(has_law(found, law)) << GetParam().theme << ": " << law;
}

INSTANTIATE_TEST_SUITE_P(
    All, ThemeLaws,
    testing::Values(
        Expected{"matrices",
                 3,
                 {"matmul(a0, identity) = a0",
                  "matmul(transpose(a0), transpose(a1)) = transpose(matmul(a1, a0))",
                  "add(matmul(a0, a1), matmul(a0, a2)) = matmul(a0, add(a1, a2))"}},
        Expected{"arithmetic",
                 3,
                 {"sub(a0, a0) = 0", "neg(neg(a0)) = a0", "mul(reciprocal(a0), a1) = div(a1, a0)"}},
        Expected{"functions",
                 3,
                 {"log(exp(a0)) = a0", "mul(exp(a0), exp(a1)) = exp(add(a0, a1))",
                  "abs(neg(a0)) = abs(a0)"}},
        Expected{
            "activations", 3, {"relu(clip(a0)) = clip(a0)", "relu(sigmoid(a0)) = sigmoid(a0)"}},
        Expected{"broadcasting",
                 3,
                 {"add(mul(s0, a0), mul(s0, a1)) = mul(s0, add(a0, a1))",
                  "matmul(mul(s0, a0), a1) = mul(s0, matmul(a0, a1))"}},
        Expected{"reductions",
                 2,
                 {"reduce_sum(mul(s0, a0)) = mul(reduce_sum(a0), s0)",
                  "reduce_max(relu(a0)) = relu(reduce_max(a0))"}},
        Expected{"softmax", 4, {"div(exp(a0), reduce_sum(exp(a0))) = softmax(a0)"}},
        Expected{"norms", 2, {"add(v1, layer_norm(a0, v0)) = layer_norm(a0, v0, v1)"}},
        Expected{"batched", 3, {"matmul(reshape(t0), a0) = reshape(matmul(t0, a0))"}},
        Expected{"layout", 2, {"transpose(transpose(a0)) = a0", "reshape(reshape(t0)) = t0"}},
        Expected{"joining",
                 3,
                 {"concat(concat(a0, a1), a2) = concat(a0, a1, a2)",
                  "split_2(concat(a0, a1, a2)) = a2"}},
        Expected{"lookups",
                 2,
                 {"gather(relu(a0), i0) = relu(gather(a0, i0))",
                  "gather(matmul(a0, a1), i0) = matmul(gather(a0, i0), a1)"}},
        Expected{"convolution",
                 2,
                 {"conv(x0, delta) = x0", "conv(x0, enlarge(w11_0)) = conv(x0, w11_0)"}},
        Expected{"strides", 2, {"conv(pad(x0), w33_0) = conv(x0, w33_0)"}},
        Expected{"groups",
                 3,
                 {"concat(conv(x0, w33_0), conv(x1, w33_1)) = conv(concat(x0, x1), concat(w33_0, "
                  "w33_1))"}},
        Expected{"depthwise",
                 3,
                 {"concat(conv(x0, g33_0), conv(x1, g33_1)) = conv(concat(x0, x1), concat(g33_0, "
                  "g33_1))"}},
        Expected{"pools",
                 2,
                 {"relu(max_pool(x0)) = max_pool(relu(x0))",
                  "mul(s0, average_pool(x0)) = average_pool(mul(s0, x0))"}},
        Expected{"scaling", 3, {"mul(k0, conv(x0, w33_0)) = conv(x0, mul(reshape(k0), w33_0))"}},
        Expected{"batch_norms",
                 3,
                 {"concat(batch_norm(x0, u0, u1, u2, u3), batch_norm(x1, u0, u1, u2, u3)) = "
                  "batch_norm(concat(x0, x1), u0, u1, u2, u3)"}}));

}  // namespace
}  // namespace soapstone::generator
