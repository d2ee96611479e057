// See witness_search.h. Sizes are drawn until the guard holds, without solving its equations. Field
// and doubles complement each other: the field rounds nothing but orders fractions strangely;
// doubles know all functions, but a step (floor, less, …) makes a large error of a small one.
#include "verifier/mutation/witness_search.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "ops/analysis/ingredients.h"
#include "ops/definition/registry.h"
#include "ops/evaluation/evaluate.h"
#include "rules/floats/typed_check.h"
#include "rules/rule/constraints.h"
#include "rules/rule/substitute.h"
#include "rules/sampling/sample.h"

namespace soapstone::verifier {
namespace {

using Field = ops::Field::Value;
template <class T>
using Values = std::vector<std::vector<T>>;

constexpr int kAttemptsPerSize = 40;
constexpr std::int64_t kSmallest = 2, kLargest = 9;
constexpr std::int64_t kMostElements = 1 << 11;

bool fits(const core::Graph& side) {
  const auto fits_tensor = [&](core::TensorId id) {
    const auto dims = core::concrete(side.tensor(id).type.shape);
    const auto count = dims ? core::checked_element_count(*dims) : std::nullopt;
    return count && *count <= kMostElements;
  };
  return std::ranges::all_of(side.inputs(), fits_tensor) &&
         std::ranges::all_of(side.order(), [&](core::NodeId id) {
           return std::ranges::all_of(side.node(id).outputs, fits_tensor);
         });
}

/// Whether an operator of either side has such a meaning.
template <class Is>
bool has_any(const rules::Rule& sides, Is is) {
  return std::ranges::any_of(std::array{&sides.source, &sides.target}, [&](const auto* side) {
    return std::ranges::any_of(side->order(), [&](core::NodeId id) { return is(*side, id); });
  });
}

bool has_steps(const rules::Rule& sides) {
  return has_any(sides, [](const core::Graph& side, core::NodeId id) {
    return ops::has_steps(ops::semantics_of(side, id));
  });
}

/// Whether an operator compares with fractions, on which the order of the field means nothing.
bool has_ordered_fractions(const rules::Rule& sides) {
  return has_any(sides, [](const core::Graph& side, core::NodeId id) {
    const ops::OpDefinition* definition = ops::definition_of(side.node(id));
    return definition != nullptr && definition->op_class == ops::OpClass::kElementwise &&
           ops::names_numbers(ops::semantics_of(side, id));
  });
}

enum class Draw : std::uint8_t { kFewIntegers, kIntegers, kReals, kPositiveReals };

/// The same numbers for the field and for doubles; the field takes any element for a real.
void draw_inputs(const core::Graph& side, Draw draw, rules::Random& random, Values<Field>& field,
                 Values<double>& real) {
  for (core::TensorId id : side.inputs()) {
    const core::TensorType& type = side.tensor(id).type;
    const auto count = static_cast<std::size_t>(core::element_count(*core::concrete(type.shape)));
    const bool floating = core::is_floating(type.data_type);
    const std::int64_t reach = draw == Draw::kIntegers ? 9 : 2;
    const std::int64_t low = type.data_type == core::DataType::kBool ? 0 : -reach;
    const std::int64_t high = type.data_type == core::DataType::kBool ? 1 : reach;
    field.emplace_back();
    real.emplace_back();
    for (std::size_t k = 0; k < count; ++k) {
      const std::int64_t number = random.between(low, high);
      const double unit = random.unit();
      const bool exact = !floating || draw == Draw::kFewIntegers || draw == Draw::kIntegers;
      const Field magnitude = static_cast<Field>(std::abs(number));
      field.back().push_back(!exact       ? random.next() % ops::Field::kPrime
                             : number < 0 ? ops::Field::kPrime - magnitude
                                          : magnitude);
      real.back().push_back(exact                          ? static_cast<double>(number)
                            : draw == Draw::kPositiveReals ? 0.1 + unit
                                                           : 4 * unit - 2);
    }
  }
}

/// Whether results differ. If a side has no finite value, the other may have any.
bool differ(const Values<double>& a, const Values<double>& b) {
  constexpr double kTolerance = 1e-6;
  for (std::size_t k = 0; k < a.size(); ++k) {
    double scale = 1;
    for (const auto* values : {&a[k], &b[k]})
      for (double v : *values)
        if (std::isfinite(v)) scale = std::max(scale, std::abs(v));
    for (std::size_t i = 0; i < a[k].size(); ++i)
      if (std::isfinite(a[k][i]) && std::isfinite(b[k][i]) &&
          std::abs(a[k][i] - b[k][i]) > kTolerance * scale)
        return true;
  }
  return false;
}

bool differ(const rules::Rule& sides, Draw draw, rules::Random& random) {
  Values<Field> field;
  Values<double> real;
  draw_inputs(sides.source, draw, random, field, real);
  const auto a = ops::evaluate_graph<double>(sides.source, real);
  const auto b = ops::evaluate_graph<double>(sides.target, real);
  if (!a || !b || !differ(*a, *b)) return false;
  if (!has_steps(sides)) return true;
  // Random reals practically never hit a discontinuity, so a difference found with them is no
  // rounding error.
  const bool exact = draw == Draw::kFewIntegers || draw == Draw::kIntegers;
  if (!exact && has_ordered_fractions(sides)) return true;
  const std::uint64_t key = random.next();
  const auto c = ops::evaluate_graph<Field>(sides.source, field, key);
  const auto d = ops::evaluate_graph<Field>(sides.target, field, key);
  return c && d && *c != *d;
}

/// Symbols that stand in attributes alone.
std::vector<core::Symbol> integers_in_attributes(const rules::Rule& rule) {
  std::vector<core::Symbol> symbols = rules::attribute_symbols(rule.source);
  for (core::TensorId id : rule.source.inputs())
    for (const core::Size& size : rule.source.tensor(id).type.shape)
      std::erase_if(symbols, [&](core::Symbol s) { return size.mentions(s); });
  return symbols;
}

/// `tried`: how many sizes were found that satisfy the guard.
bool differs_at_some_sizes(const rules::Rule& rule, int size_count, std::uint64_t seed,
                           int& tried) {
  const rules::Sampler sampler(rule);
  rules::Random random(seed);
  const std::vector<core::Symbol> free = integers_in_attributes(rule);
  for (int attempt = 0; attempt < kAttemptsPerSize * size_count && tried < size_count; ++attempt) {
    auto values = sampler.all(random, kSmallest + attempt % (kLargest - kSmallest + 1));
    // A pad may be negative, which crops; whether it may be here the shape rules decide.
    constexpr std::uint64_t kNegativeOneIn = 3;
    if (!free.empty() && random.next() % kNegativeOneIn == 0)
      values[free[random.next() % free.size()].id] = -random.between(1, 2);
    std::vector<std::int64_t> sizes(rule.source.symbols().size());
    for (std::size_t s = 0; s < values.size(); ++s) sizes[s] = values[s].value_or(0);
    if (!rules::guard_holds(rule, sizes)) continue;
    const auto sides = rules::specialize(rule, values);
    if (!sides || !fits(sides->source) || !fits(sides->target)) continue;
    ++tried;
    for (Draw draw : {Draw::kFewIntegers, Draw::kIntegers, Draw::kReals, Draw::kPositiveReals})
      if (differ(*sides, draw, random)) return true;
  }
  return false;
}

}  // namespace

bool has_witness(const rules::Rule& rule, int size_count, std::uint64_t seed) {
  // A guard that hardly any sizes satisfy would cost thousands of draws for each of them.
  constexpr int kFirstLook = 2;
  const auto first = rules::check(rule, kFirstLook, seed);
  if (!first) return false;
  if (first->counterexample) return true;
  if (rules::needs_types(rule)) {
    const auto report = rules::check(rule, size_count, seed + 1);
    return report && report->counterexample;
  }
  int tried = 0;
  if (differs_at_some_sizes(rule, size_count, seed, tried)) return true;
  constexpr int kLastLook = 5;
  const auto report = rules::check(rule, tried == size_count ? size_count : kLastLook, seed + 1);
  return report && report->counterexample;
}

}  // namespace soapstone::verifier
