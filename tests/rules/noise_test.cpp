// Differences that rounding explains, beside those that it does not.
#include "rules/floats/noise.h"

#include "tests/rules/rules_fixture.h"

namespace soapstone::rules {
namespace {

bool differ(std::string_view source, std::string_view target, const std::vector<double>& x) {
  const auto graph = [&](std::string_view body) {
    return graph_of("graph g\n x: f32[" + std::to_string(x.size()) + "]\n " + std::string(body) +
                    "\n return y");
  };
  const auto a = run_with_noise(graph(source), {x}, 1), b = run_with_noise(graph(target), {x}, 1);
  for (std::size_t k = 0; k < x.size(); ++k)
    if (differ_beyond_noise(a.outputs[0][k], b.outputs[0][k])) return true;
  return false;
}

TEST(Noise, ExplainsAStepThatIsJustMissed) {
  // 1/49 · 49 is less than 1 in doubles.
  EXPECT_FALSE(differ("t = div(x, x)\n y = floor(t)", "y = div(x, x)", {49, 98, 3}));
  EXPECT_TRUE(
      differ("t = div(x, x)\n y = floor(t)", "t = div(x, x)\n u = add(t, t)\n y = floor(u)", {3}));
}

TEST(Noise, DoesNotExplainStepsOfExactNumbers) {
  EXPECT_TRUE(differ("y = floor(x)", "y = ceil(x)", {0.5}));
  EXPECT_TRUE(differ("t = add(x, x)\n y = floor(t)", "t = add(x, x)\n y = ceil(t)", {0.75}));
}

TEST(Noise, ExplainsRootsOfWhatIsNearlyZero) {
  constexpr std::string_view kNearlyZero = "t = exp(x)\n u = log(t)\n v = sub(u, x)\n y = sqrt(v)";
  EXPECT_FALSE(differ(kNearlyZero, "v = sub(x, x)\n y = sqrt(v)", {0.3, 0.7, 1.1}));
}

TEST(Noise, DoesNotExplainAMissingValue) {
  EXPECT_TRUE(differ("y = abs(x)", "t = log(x)\n y = exp(t)", {-0.3}));
  EXPECT_TRUE(differ("y = neg(x)", "t = sub(x, x)\n u = div(x, t)\n y = add(u, x)", {0.7}));
}

}  // namespace
}  // namespace soapstone::rules
