// Levels at which a step of training computes results again for its gradients, in place of keeping
// them.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace soapstone::parallel {

/// Each computes more again than the one before it, and mostly keeps less.
enum class Recompute : std::uint8_t {
  kNothing,
  kAttention,  ///< Scores of attention (V. Korthikanti et al., 2022, section 5).
  kCheap,      ///< And what takes a few operations an element: activations, norms, softmax.
  kHalf,       ///< And every second contraction of a block with a weight, as TorchTitan sets it.
  kAll,        ///< The whole forward pass, block by block: what a block reads is kept.
};

/// Names of the levels, by their numbers.
inline constexpr std::array<std::string_view, 5> kRecomputeNames = {"nothing", "attention", "cheap",
                                                                    "half", "all"};

inline std::string_view to_string(Recompute recompute) {
  return kRecomputeNames[static_cast<std::size_t>(recompute)];
}

}  // namespace soapstone::parallel
