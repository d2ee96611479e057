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
                                                    Met& met) const {
  return side_.run(inputs, [&](TensorId id, StepwiseSide::Origin, Tensor& tensor) {
    if (rounding && core::is_floating(side_.graph().tensor(id).type.data_type))
      round(id, *rounding, tensor);
    else if (rounding)
      put_into_type(id, rounding->filling, tensor, met);
    for (const double value : tensor) {
      met.has_infinities = met.has_infinities || !std::isfinite(value);
      if (std::isfinite(value)) met.largest = std::max(met.largest, std::fabs(value));
    }
  });
}

void RoundedSide::round(TensorId id, const Rounding& rounding, Tensor& tensor) const {
  core::DataType type = side_.graph().tensor(id).type.data_type;
  if (type == core::DataType::kFloat32) type = rounding.type;
  const core::FloatFormat format = core::format_of(type);
  for (double& value : tensor)
    value =
        rounding.limited ? core::rounded_to(format, value) : core::rounded_to_digits(format, value);
}

/// Sums and products of integers wrap. A machine chooses what a cast makes of a number beyond the
/// range, and of NaN, and what a division by 0 is.
void RoundedSide::put_into_type(TensorId id, Filling filling, Tensor& tensor, Met& met) const {
  const core::Tensor& place = side_.graph().tensor(id);
  const core::DataType type = place.type.data_type;
  if (type == core::DataType::kBool) return;
  const ExactRange range = exact_range(type);
  const auto low = static_cast<double>(range.low), beyond = static_cast<double>(range.high) + 1;
  const bool is_cast = place.producer.valid() &&
                       side_.graph().node(place.producer).op->movement == core::Movement::kConvert;
  constexpr double kMostExact = 0x1p100;
  for (double& value : tensor) {
    if (value >= low && value < beyond) continue;
    const bool wraps = !is_cast && std::fabs(value) < kMostExact;
    if (!wraps) met.has_choices = true;
    value = static_cast<double>(wraps ? wrapped(static_cast<ExactInteger>(value), type)
                                      : stand_in(type, filling));
  }
}

}  // namespace soapstone::rules
