// Instances are all combinations of the values that an operator's schema proposes, less attributes
// that follow from types. Inputs follow from what the operators take.
#include "generator/vocabulary/vocabulary.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "ops/definition/registry.h"

namespace soapstone::generator {
namespace {

using core::AttributeRole;
using core::AttributeValue;
using core::OperandRole;
using core::Polynomial;
using core::Result;
using Sizes = std::vector<Polynomial>;
using Names = std::span<const std::string>;

bool has_window(const core::OpSchema& op) { return op.find_role(AttributeRole::kPad) != nullptr; }

/// Whether the attribute is derived from types when the operator is applied, by complete_for().
bool follows_from_types(const core::OpSchema& op, AttributeRole role) {
  using enum core::AttributeRole;
  constexpr std::array kDerived = {kAxis, kParts,       kExtent, kStart, kStep,
                                   kPad,  kPermutation, kShape,  kBorder};
  return std::ranges::find(kDerived, role) != kDerived.end() ||
         (role == kAxes && op.find_role(kStart) != nullptr);
}

/// Whether operands have values that could differ, and floats make sense as their elements.
bool is_enumerable(const core::OpSchema& op) {
  return op.max_inputs > 0 && op.movement != core::Movement::kConvert && !op.is_opaque();
}

std::vector<core::Attributes> combinations(const core::OpSchema& op, const OperatorUse& use) {
  std::vector<core::Attributes> result(1);
  for (const core::AttributeSchema& attribute : op.attributes) {
    if (follows_from_types(op, attribute.role)) continue;
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

/// How many operands the operator cannot do without are of that role.
std::size_t required_operands(const core::OpSchema& op, OperandRole role) {
  std::size_t count = 0;
  for (std::size_t k = 0; k < op.min_inputs; ++k) count += op.operand_role(k) == role ? 1 : 0;
  return count;
}

/// Inputs and constants that the operators take.
void derive_inputs(std::span<const core::OpSchema* const> operators,
                   std::span<const std::size_t> ranks, Vocabulary& vocabulary) {
  bool convolves = false, multiplies = false, averages_windows = false;
  for (const core::OpSchema* op : operators) {
    const bool on_images = op->has_operand(OperandRole::kImage);
    const bool has_kernel = op->has_operand(OperandRole::kKernel);
    convolves |= on_images && has_kernel;
    multiplies |= op->has_operand(OperandRole::kLeftMatrix);
    averages_windows |= op->averages && has_window(*op);
    vocabulary.has_images |= on_images || has_kernel;
    if (has_kernel) vocabulary.kernels = {{3, 3}, {1, 1}};
    const std::size_t vectors = required_operands(*op, OperandRole::kChannels) +
                                required_operands(*op, OperandRole::kFeatures);
    vocabulary.has_vectors |= vectors > 0;
    vocabulary.counts.vectors =
        std::max(vocabulary.counts.vectors, static_cast<std::uint8_t>(vectors));
    vocabulary.most_variables =
        std::max(vocabulary.most_variables, static_cast<unsigned>(op->min_inputs));
    vocabulary.has_indices |= required_operands(*op, OperandRole::kIndices) > 0;
  }
  vocabulary.ranks.assign(ranks.begin(), ranks.end());
  if (ranks.empty() && (!vocabulary.has_images || multiplies)) vocabulary.ranks = {2};
  vocabulary.constants = {Constant::kZero, Constant::kOne};
  if (multiplies) vocabulary.constants.push_back(Constant::kIdentity);
  if (convolves) vocabulary.constants.push_back(Constant::kDelta);
  if (convolves && averages_windows) vocabulary.constants.push_back(Constant::kAveragePool);
}

}  // namespace

std::vector<OperatorInstance> instances_of(const OperatorUse& use) {
  const core::OpSchema* op = ops::registry().find(use.op);
  CHECK(op != nullptr, "there is no such operator: " + std::string(use.op));
  std::vector<OperatorInstance> result;
  for (std::size_t arity : arities(*op, use.most_operands))
    for (core::Attributes& attributes : combinations(*op, use)) {
      if (has_window(*op) && use.same != use.valid)
        attributes.set(op->find_role(AttributeRole::kPad)->name,
                       use.same ? Sizes{1, 1, 1, 1} : Sizes{0, 0, 0, 0});
      result.push_back({op, std::move(attributes), arity});
    }
  return result;
}

Result<Vocabulary> vocabulary_of(Names operators, std::span<const std::size_t> ranks) {
  Vocabulary result;
  std::vector<const core::OpSchema*> schemas;
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
    if (const core::AttributeSchema* group = op->find_role(AttributeRole::kGroup))
      use.only = {{group->name, {Polynomial(1)}}};
    schemas.push_back(op);
    for (OperatorInstance& instance : instances_of(use))
      result.operators.push_back(std::move(instance));
  }
  derive_inputs(schemas, ranks, result);
  return result;
}

}  // namespace soapstone::generator
