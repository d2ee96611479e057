// See rounded_side.h.
#include "rules/floats/rounded_side.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace soapstone::rules {
namespace {

/// True also of what rounds to another type, and of what moves numbers in a way of its own: between
/// them, for one.
bool may_compute(const core::Node& node) {
  using enum core::Movement;
  const core::Movement movement = node.op->movement;
  return movement == kNone || movement == kConvert || movement == kOther;
}

}  // namespace

bool rounds_once(const Graph& side) {
  std::set<TensorId> computed;
  for (const NodeId id : side.order()) {
    const core::Node& node = side.node(id);
    const bool reads_computed =
        std::ranges::any_of(node.inputs, [&](TensorId input) { return computed.contains(input); });
    const bool is_computed = may_compute(node) && !node.inputs.empty();
    if (is_computed && reads_computed) return false;
    if (is_computed || reads_computed) computed.insert(node.outputs.begin(), node.outputs.end());
  }
  return true;
}

std::optional<std::vector<Tensor>> RoundedSide::run(const std::vector<Tensor>& inputs,
                                                    std::optional<Rounding> rounding,
                                                    double& largest_met) const {
  return side_.run(inputs, [&](TensorId id, StepwiseSide::Origin, Tensor& tensor) {
    if (rounding) round(id, *rounding, tensor);
    for (const double value : tensor)
      if (std::isfinite(value)) largest_met = std::max(largest_met, std::fabs(value));
  });
}

void RoundedSide::round(TensorId id, const Rounding& rounding, Tensor& tensor) const {
  core::DataType type = side_.graph().tensor(id).type.data_type;
  if (!core::is_floating(type)) return;
  if (type == core::DataType::kFloat32) type = rounding.type;
  const core::FloatFormat format = core::format_of(type);
  for (double& value : tensor)
    value =
        rounding.limited ? core::rounded_to(format, value) : core::rounded_to_digits(format, value);
}

}  // namespace soapstone::rules
