// See typed_refutation.h.
#include "verifier/refutation/typed_refutation.h"

#include <fmt/format.h>

#include <array>

#include "rules/floats/typed_check.h"
#include "rules/sampling/sample_sizes.h"
#include "verifier/refutation/replay.h"

namespace soapstone::verifier {
namespace {

using core::Symbol;
using rules::Bindings;
using rules::TypedDifference;
using rules::TypedValues;

constexpr int kTypedAttemptsPerSize = 60;
constexpr int kTrials = 16;

struct Example {
  Bindings sizes;
  rules::Rule sides;
  TypedDifference difference;
};

std::optional<Example> find(const rules::Rule& rule, int size_count, std::uint64_t seed) {
  const rules::SizeSampler sampler(rule);
  rules::Random random(seed);
  int tried = 0;
  for (int attempt = 0; tried < size_count && attempt < kTypedAttemptsPerSize * (tried + 4);
       ++attempt) {
    const Bindings sizes = sampler.draw(random, 1 + attempt % 4);
    if (!sampler.admits(sizes)) continue;
    auto sides = rules::specialize(rule, sizes);
    if (!sides) continue;
    ++tried;
    auto found = rules::find_typed_difference(*sides, random, kTrials);
    if (found && *found) return Example{sizes, *std::move(sides), **std::move(found)};
  }
  return std::nullopt;
}

/// Whether the sides differ with this element; then it stays so.
bool try_element(Example& example, std::size_t input, std::size_t element, int value) {
  std::vector<TypedValues> inputs = example.difference.inputs;
  TypedValues& values = inputs[input];
  if (core::is_floating(values.type))
    values.reals[element] = value;
  else
    values.integers[element] = value;
  const auto found = rules::compare_typed(example.sides, std::move(inputs));
  if (!found || !*found) return false;
  example.difference = **found;
  return true;
}

/// Makes as many elements as possible 0, or else 1 or −1.
void simplify(Example& example) {
  constexpr std::size_t kMostSimplified = 64;
  for (std::size_t k = 0; k < example.difference.inputs.size(); ++k) {
    const TypedValues& values = example.difference.inputs[k];
    const std::size_t count = std::max(values.reals.size(), values.integers.size());
    const bool is_signed =
        core::is_floating(values.type) || rules::exact_range(values.type).low < 0;
    for (std::size_t i = 0; i < std::min(count, kMostSimplified); ++i)
      for (const int simpler : {0, 1, -1})
        if ((is_signed || simpler >= 0) && try_element(example, k, i, simpler)) break;
  }
}

std::string values_text(const TypedValues& values) {
  std::string text;
  const std::size_t count = std::max(values.reals.size(), values.integers.size());
  for (std::size_t i = 0; i < count; ++i)
    text += (i == 0 ? "" : ", ") + rules::element_text(values, i);
  return text;
}

Refutation refutation_of(const rules::Rule& rule, const Example& example) {
  Refutation result;
  for (std::size_t s = 0; s < example.sizes.size(); ++s)
    if (example.sizes[s])
      result.sizes.emplace_back(rule.source.symbols().name(Symbol{static_cast<std::uint32_t>(s)}),
                                *example.sizes[s]);
  const TypedDifference& difference = example.difference;
  const core::Graph& source = example.sides.source;
  result.text = sizes_text(result.sizes);
  for (std::size_t k = 0; k < difference.inputs.size(); ++k) {
    const core::Tensor& input = source.tensor(source.inputs()[k]);
    const core::Dims dims = *core::concrete(input.type.shape);
    result.inputs.emplace_back(input.name, std::make_shared<const core::Literal>(
                                               rules::to_literal(difference.inputs[k], dims)));
    result.text += fmt::format("{}: {}{} = {}\n", input.name, core::to_string(input.type.data_type),
                               core::to_string(dims), values_text(difference.inputs[k]));
  }
  result.output = difference.output;
  result.element = difference.element;
  result.source = difference.source_number;
  result.target = difference.target_number;
  const core::Tensor& output = source.tensor(source.outputs()[difference.output]);
  result.text += fmt::format("element {} of {} is {} in the source but {} in the target",
                             difference.element, output.name, difference.source, difference.target);
  return result;
}

}  // namespace

std::optional<Refutation> refute_by_types(const rules::Rule& rule, int size_count,
                                          std::uint64_t seed) {
  auto example = find(rule, size_count, seed);
  if (!example) return std::nullopt;
  simplify(*example);
  return refutation_of(rule, *example);
}

bool is_refuted_by_types(const rules::Rule& rule, int size_count, std::uint64_t seed) {
  return find(rule, size_count, seed).has_value();
}

}  // namespace soapstone::verifier
