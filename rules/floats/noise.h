// Is a difference between two results one of the functions, or only of rounding? `floor(x / x)` is
// 0 in doubles where x · (1/x) is a little less than 1. Runs a side again with every inexact result
// moved by more than its rounding error, and sees how far the outputs move.
#pragma once

#include <vector>

#include "ops/evaluation/evaluate.h"
#include "rules/rule/rule.h"

namespace soapstone::rules {

/// The elements of the outputs in several runs, row-major.
struct NoisyOutputs {
  struct Element {
    double least = 0, most = 0;  ///< The bounds of the finite values.
    bool finite = true;          ///< In every run.
    bool missing = true;         ///< Finite in no run.
  };
  std::vector<std::vector<Element>> outputs;
};

/// Whether the side has exp, tanh or the like, whose values at different numbers doubles may round
/// to one.
bool saturates(const Graph& side);

/// In which precision the results were computed whose difference is looked at.
enum class NoisePrecision : std::uint8_t { kDouble, kSingle };

/// Precondition: all sizes are numbers; no opaque node. Inputs are exact, so are results that have
/// few digits; constants with many digits are taken for what they are in fp32.
NoisyOutputs run_with_noise(const Graph& side, const std::vector<std::vector<double>>& inputs,
                            std::uint64_t seed, NoisePrecision precision = NoisePrecision::kDouble);

/// Whether the sides differ there by more than noise explains: both are numbers that stay apart,
/// or the source has a value in every run and the target in none. Where the source has none,
/// nothing is promised of the target.
bool differ_beyond_noise(const NoisyOutputs::Element& source, const NoisyOutputs::Element& target);

/// Whether the element has a value in every run, and noise moves it by much less than that.
bool is_steady(const NoisyOutputs::Element& element, double difference);

}  // namespace soapstone::rules
