// See axioms.h. `reason` is why the inequality holds.
#include "verifier/orders/axioms.h"

namespace soapstone::verifier {
namespace {

using ops::Function;

std::vector<Axiom> table() {
  constexpr auto kAll = Where::kEverywhere;
  constexpr auto kUp = Where::kNonNegative;
  constexpr auto kDown = Where::kNonPositive;
  const Fraction half(1, 2), quarter(1, 4), e(27, 10), slope(8, 7);
  const auto within_one = [](Function function, std::string_view reason) {
    return std::vector<Axiom>{{function, kAll, {{1}, {-1, 0, 1}}, reason},
                              {function, kAll, {{1}, {1, 0, 1}}, reason}};
  };
  // f(x) ≤ c·x above 0, and f is odd.
  const auto below_line = [](Function function, Fraction c, std::string_view reason) {
    return std::vector<Axiom>{{function, kUp, {{c, 1}, {-1, 0, 1}}, reason},
                              {function, kDown, {{-c, 1}, {1, 0, 1}}, reason}};
  };
  std::vector<Axiom> all = {
      {Function::kExp, kAll, {{1, 0, 1}, {-1}, {-1, 1}}, "convex: above its tangent at 0, 1 + x"},
      {Function::kExp, kAll, {{1, 0, 1}, {-e, 1}}, "tangent at 1, e·x; e > 2.7 and exp(x) > 0"},
      {Function::kExp, kUp, {{1, 0, 1}, {-1}, {-1, 1}, {-half, 2}}, "its series has no minus"},
      {Function::kExp, kDown, {{1}, {-1, 0, 1}}, "never falls, and is 1 at 0"},
      {Function::kLog, kUp, {{1, 1}, {-1}, {-1, 0, 1}}, "concave: below its tangent at 1, x − 1"},
      {Function::kSqrt, kUp, {{1, 0, 2}, {-1, 1}}, "√x·√x = x"},
      {Function::kSqrt, kUp, {{-1, 0, 2}, {1, 1}}, "√x·√x = x"},
      {Function::kSqrt, kUp, {{half}, {half, 1}, {-1, 0, 1}}, "concave: below its tangent at 1"},
      {Function::kSigmoid, kAll, {{1}, {-1, 0, 1}}, "1/(1 + exp(−x)) < 1"},
      {Function::kSigmoid, kUp, {{1, 0, 1}, {-half}}, "never falls, and is 1/2 at 0"},
      {Function::kSigmoid, kDown, {{half}, {-1, 0, 1}}, "never falls, and is 1/2 at 0"},
      {Function::kSigmoid, kUp, {{half}, {quarter, 1}, {-1, 0, 1}}, "concave above 0, slope 1/4"},
      {Function::kSigmoid, kDown, {{-half}, {-quarter, 1}, {1, 0, 1}}, "convex below 0, slope 1/4"},
      {Function::kSigmoid, kAll, {{1, 0, 1}, {1, 0, 1, 1}, {-1, 0, 0, 1}}, "σ·(1 + exp x) = exp x"},
      {Function::kSigmoid,
       kAll,
       {{-1, 0, 1}, {-1, 0, 1, 1}, {1, 0, 0, 1}},
       "σ·(1 + exp x) = exp x"},
      {Function::kFloor, kAll, {{1, 1}, {-1, 0, 1}}, "⌊x⌋ ≤ x"},
      {Function::kFloor, kAll, {{1, 0, 1}, {1}, {-1, 1}}, "x < ⌊x⌋ + 1"},
      {Function::kRound, kAll, {{half}, {1, 1}, {-1, 0, 1}}, "at most 1/2 away"},
      {Function::kRound, kAll, {{half}, {-1, 1}, {1, 0, 1}}, "at most 1/2 away"},
      {Function::kTruncate, kUp, {{1, 1}, {-1, 0, 1}}, "toward 0"},
      {Function::kTruncate, kDown, {{-1, 1}, {1, 0, 1}}, "toward 0"},
  };
  const auto add = [&](std::vector<Axiom> more) {
    all.insert(all.end(), more.begin(), more.end());
  };
  add(within_one(Function::kTanh, "|tanh| < 1"));
  add(within_one(Function::kErf, "|erf| < 1"));
  add(within_one(Function::kSin, "|sin| ≤ 1"));
  add(within_one(Function::kCos, "|cos| ≤ 1"));
  add(below_line(Function::kTanh, 1, "concave above 0, slope 1 at 0"));
  add(below_line(Function::kErf, slope, "concave above 0, slope 2/√π < 8/7 at 0"));
  add(below_line(Function::kSin, 1, "its slope is at most 1"));
  return all;
}

}  // namespace

std::span<const Axiom> axioms() {
  static const std::vector<Axiom> all = table();
  return all;
}

}  // namespace soapstone::verifier
