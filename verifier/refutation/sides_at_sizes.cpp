// See sides_at_sizes.h.
#include "verifier/refutation/sides_at_sizes.h"

#include <algorithm>
#include <cmath>

#include "rules/floats/noise.h"
#include "rules/rule/constraints.h"
#include "rules/rule/typing.h"

namespace soapstone::verifier {

using core::Graph;

namespace {

constexpr std::int64_t kMostElementsOfSide = 1 << 14;

double draw_number(Draw kind, rules::Random& random) {
  constexpr double kHuge = 1e7;
  switch (kind) {
  case Draw::kIntegers: {
    const auto v = random.between(-3, 3);
    return static_cast<double>(v != 0 ? v : random.between(-1, 1));
  }
  case Draw::kReals:
    return 4 * random.unit() - 2;
  case Draw::kPositive:
    return 0.1 + 2 * random.unit();
  case Draw::kNegative:
    return -0.1 - 4 * random.unit();
  case Draw::kLarge:
    return kHuge * (2 * random.unit() - 1);
  }
  return 0;
}

double largest(const std::vector<double>& values) {
  double most = 0;
  for (double v : values)
    if (std::isfinite(v)) most = std::max(most, std::fabs(v));
  return most;
}

std::optional<Difference> first_difference(const std::vector<double>& a,
                                           const std::vector<double>& b, bool missing_counts) {
  constexpr double kTolerance = 1e-7, kSmallest = 1e-3;
  const double tolerance = kTolerance * std::max({largest(a), largest(b), kSmallest});
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || !std::isfinite(a[i])) continue;
    const bool differ = std::isfinite(b[i]) ? std::fabs(a[i] - b[i]) > tolerance : missing_counts;
    if (differ) return Difference{0, i, a[i], b[i]};
  }
  return std::nullopt;
}

}  // namespace

bool is_too_large(const Graph& side) {
  for (std::size_t k = 0; k < side.tensor_bound(); ++k) {
    if (!side.contains(core::TensorId(k))) continue;
    const auto dims = core::concrete(side.tensor(core::TensorId(k)).type.shape);
    const auto count = dims ? core::checked_element_count(*dims) : std::nullopt;
    if (!count || *count > kMostElementsOfSide) return true;
  }
  return false;
}

core::Result<SidesAtSizes> SidesAtSizes::make(const rules::Rule& rule,
                                              const rules::Bindings& values) {
  SOAPSTONE_ASSIGN_OR_RETURN(auto typed, rules::type_sides(rule.source, rule.target, values));
  if (rules::has_empty_tensor(typed.source))
    return core::invalid_input("a tensor of the source is empty");
  if (is_too_large(typed.source) || is_too_large(typed.target))
    return core::unsupported("the tensors would be too large to be of use");
  SOAPSTONE_ASSIGN_OR_RETURN(auto source, ops::GraphProgram<double>::compile(typed.source));
  SOAPSTONE_ASSIGN_OR_RETURN(auto target, ops::GraphProgram<double>::compile(typed.target));
  return SidesAtSizes(std::move(typed.source), std::move(typed.target), std::move(source),
                      std::move(target));
}

InputValues SidesAtSizes::draw(Draw kind, rules::Random& random) const {
  InputValues inputs;
  for (core::TensorId id : source_.inputs()) {
    const core::TensorType& type = source_.tensor(id).type;
    std::vector<double> values(
        static_cast<std::size_t>(core::element_count(*core::concrete(type.shape))));
    for (double& v : values) {
      if (type.data_type == core::DataType::kBool)
        v = static_cast<double>(random.between(0, 1));
      else if (core::is_floating(type.data_type))
        v = draw_number(kind, random);
      else
        v = kind == Draw::kLarge ? static_cast<double>(random.between(-9, 9))
                                 : draw_number(Draw::kIntegers, random);
    }
    inputs.push_back(std::move(values));
  }
  return inputs;
}

bool SidesAtSizes::is_certain(const InputValues& inputs, const Difference& difference) const {
  constexpr std::uint64_t kSeed = 1;
  const auto source = rules::run_with_noise(source_, inputs, kSeed),
             target = rules::run_with_noise(target_, inputs, kSeed);
  return rules::differ_beyond_noise(source.outputs[difference.output][difference.element],
                                    target.outputs[difference.output][difference.element]);
}

std::optional<Difference> SidesAtSizes::compare(const InputValues& inputs,
                                                bool missing_counts) const {
  const auto left = source_program_.run(inputs), right = target_program_.run(inputs);
  if (!left || !right) return std::nullopt;
  for (std::size_t k = 0; k < left->size(); ++k)
    if (auto found = first_difference((*left)[k], (*right)[k], missing_counts)) {
      found->output = k;
      return found;
    }
  return std::nullopt;
}

}  // namespace soapstone::verifier
