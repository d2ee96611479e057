// No rule about integers, casts and gathers that is proved differs on numbers of its types. The
// seed of a failure is in its message; a find becomes a litmus file.
#include "tests/verifier/typed_laws.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "rules/floats/typed_check.h"
#include "rules/rule/rule.h"
#include "verifier/proof/verify.h"
#include "verifier/questions/z3_solver.h"
#include "verifier/refutation/typed_refutation.h"

namespace soapstone::verifier {
namespace {

TEST(TypedLaws, NoneThatIsProvedDiffersOnNumbersOfItsTypes) {
  const char* wanted = std::getenv("SOAPSTONE_TYPED_LAWS");
  const int count = wanted != nullptr ? std::atoi(wanted) : 1500;
  constexpr std::uint64_t kSeed = 20261122;
  TypedLaws laws(kSeed);
  int tried = 0, proved = 0, refuted = 0;
  for (int k = 0; k < count; ++k) {
    const std::string text = laws.next();
    const auto file = rules::parse_rules(text);
    if (!file || file->rules.empty() || !file->rules[0].parameters.empty()) continue;
    const rules::Rule& rule = file->rules[0];
    ++tried;
    const auto solver = make_z3_solver();
    VerifyOptions options;
    options.max_steps = 8'000;
    const bool is_proved = attempt_proof(rule, *solver, options).empty();
    const auto example = refute_by_types(rule, 6, kSeed + static_cast<std::uint64_t>(k));
    proved += is_proved ? 1 : 0;
    refuted += example ? 1 : 0;
    ASSERT_FALSE(is_proved && example) << "rule " << k << " of seed " << kSeed << ":\n"
                                       << text << example->text;
  }
  // The generator makes rules of both kinds, or the test says nothing.
  EXPECT_GT(tried, count / 4);
  EXPECT_GT(proved, tried / 10);
  EXPECT_GT(refuted, tried / 10);
}

}  // namespace
}  // namespace soapstone::verifier
