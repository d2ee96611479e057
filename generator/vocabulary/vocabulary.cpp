// Instances are all combinations of the values that an operator's schema proposes, less attributes
// that follow from types. Inputs follow from what the operators take.
#include "generator/vocabulary/vocabulary.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "ops/definition/registry.h"

namespace soapstone::generator {
namespace {

using core::AttributeValue;
using core::Polynomial;
using core::Result;
using Sizes = std::vector<Polynomial>;
using Names = std::span<const std::string>;

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::ranges::find(names, name) != names.end();
}

bool is_window(std::string_view op) { return is_one_of(op, {"conv", "max_pool", "average_pool"}); }

/// Derived from types when the operator is applied. Keep in step with complete_for().
bool follows_from_types(const core::OpSchema& op, std::string_view attribute) {
  return is_one_of(attribute, {"axis", "sizes", "starts", "steps", "perm", "shape", "pads"}) ||
         (op.name == "slice" && attribute == "axes");
}

/// They have no operand whose value could differ, or make no sense of floats.
bool is_enumerable(const core::OpSchema& op) {
  return !is_one_of(op.name, {"cast", "full", "eye", "opaque"});
}

std::vector<core::Attributes> combinations(const core::OpSchema& op, const OperatorUse& use) {
  std::vector<core::Attributes> result(1);
  for (const core::AttributeSchema& attribute : op.attributes) {
    if (follows_from_types(op, attribute.name)) continue;
    std::vector<AttributeValue> values = attribute.values_to_try;
    if (values.empty() && attribute.default_value) values.push_back(*attribute.default_value);
    for (const auto& [name, wanted] : use.only)
      if (name == attribute.name) values = wanted;
    std::vector<core::Attributes> longer;
    for (const core::Attributes& sofar : result)
      for (const AttributeValue& value : values) {
        longer.push_back(sofar);
        longer.back().set(attribute.name, value);
      }
    result = std::move(longer);
  }
  return result;
}

std::vector<std::size_t> arities(const core::OpSchema& op, std::size_t most) {
  std::vector<std::size_t> result;
  const std::size_t first = op.max_inputs == core::OpSchema::kAnyNumber ? 2 : op.min_inputs;
  for (std::size_t n = first; n <= std::max(std::min(op.max_inputs, most), op.min_inputs); ++n)
    result.push_back(n);
  return result;
}

bool any(Names operators, std::initializer_list<std::string_view> names) {
  return std::ranges::any_of(operators,
                             [&](const std::string& name) { return is_one_of(name, names); });
}

void derive_inputs(Names operators, std::span<const std::size_t> ranks, Vocabulary& vocabulary) {
  const bool has_conv = any(operators, {"conv"});
  vocabulary.has_images =
      any(operators, {"conv", "max_pool", "average_pool", "batch_norm", "global_average_pool"});
  vocabulary.has_vectors = any(operators, {"layer_norm", "rms_norm", "batch_norm"});
  vocabulary.has_indices = any(operators, {"gather"});
  if (has_conv || any(operators, {"enlarge"})) vocabulary.kernels = {{3, 3}, {1, 1}};
  vocabulary.has_images |= !vocabulary.kernels.empty();
  vocabulary.ranks.assign(ranks.begin(), ranks.end());
  if (ranks.empty() && (!vocabulary.has_images || any(operators, {"matmul"})))
    vocabulary.ranks = {2};
  if (any(operators, {"batch_norm"})) {
    vocabulary.counts.vectors = 4;
    vocabulary.most_variables = 5;
  }
  vocabulary.constants = {Constant::kZero, Constant::kOne};
  if (any(operators, {"matmul"})) vocabulary.constants.push_back(Constant::kIdentity);
  if (has_conv) vocabulary.constants.push_back(Constant::kDelta);
  if (has_conv && any(operators, {"average_pool"}))
    vocabulary.constants.push_back(Constant::kAveragePool);
}

}  // namespace

bool Vocabulary::has(std::string_view op) const {
  return std::ranges::any_of(operators,
                             [&](const OperatorInstance& i) { return i.op->name == op; });
}

std::vector<OperatorInstance> instances_of(const OperatorUse& use) {
  const core::OpSchema* op = ops::registry().find(use.op);
  CHECK(op != nullptr, "there is no such operator: " + std::string(use.op));
  std::vector<OperatorInstance> result;
  for (std::size_t arity : arities(*op, use.most_operands))
    for (core::Attributes& attributes : combinations(*op, use)) {
      if (is_window(op->name) && use.same != use.valid)
        attributes.set("pads", use.same ? Sizes{1, 1, 1, 1} : Sizes{0, 0, 0, 0});
      result.push_back({op, std::move(attributes), arity});
    }
  return result;
}

Result<Vocabulary> vocabulary_of(Names operators, std::span<const std::size_t> ranks) {
  Vocabulary result;
  derive_inputs(operators, ranks, result);
  for (const std::string& name : operators) {
    const core::OpSchema* op = ops::registry().find(name);
    if (op == nullptr)
      return core::Error{core::ErrorCode::kUsage,
                         fmt::format("there is no operator '{}'", name),
                         {},
                         "docs/operators.md lists all operators"};
    if (!is_enumerable(*op))
      return core::Error{core::ErrorCode::kUsage,
                         fmt::format("'{}' cannot be enumerated", name),
                         {},
                         "leave it out"};
    OperatorUse use{op->name};
    use.valid = true;
    // There are weights for one group alone.
    if (name == "conv") use.only = {{"group", {Polynomial(1)}}};
    for (OperatorInstance& instance : instances_of(use))
      result.operators.push_back(std::move(instance));
  }
  return result;
}

}  // namespace soapstone::generator
