// How weights are updated.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace soapstone::parallel {

enum class Optimizer : std::uint8_t {
  kSgd,
  kMomentum,
  kAdam,
  kAdamW,  ///< Adam with decoupled weight decay (I. Loshchilov and F. Hutter, 2019, algorithm 2).
};

/// Names of optimizers, by their numbers.
inline constexpr std::array<std::string_view, 4> kOptimizerNames = {"sgd", "momentum", "adam",
                                                                    "adamw"};

inline std::string_view to_string(Optimizer optimizer) {
  return kOptimizerNames[static_cast<std::size_t>(optimizer)];
}

/// An optimizer's states of each weight, in the order of its update operator.
inline std::vector<std::string_view> state_names(Optimizer optimizer) {
  if (optimizer == Optimizer::kSgd) return {};
  if (optimizer == Optimizer::kMomentum) return {"momentum"};
  return {"first_moment", "second_moment"};
}

}  // namespace soapstone::parallel
