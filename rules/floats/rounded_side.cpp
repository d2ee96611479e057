// See rounded_side.h.
#include "rules/floats/rounded_side.h"

#include <algorithm>
#include <cmath>

namespace soapstone::rules {

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
