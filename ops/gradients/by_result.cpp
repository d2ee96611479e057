#include "ops/gradients/by_result.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace soapstone::ops {

/// With y the result: y > 0, y·(1 − y), 1 − y², y, 1/(2y), −y², and for the last two y·(d − Σ d·y)
/// and d − exp(y)·Σ d.
bool gradient_reads_result(const core::Node& node) {
  static constexpr std::array<std::string_view, 8> kNames = {
      "relu", "sigmoid", "tanh", "exp", "sqrt", "reciprocal", "softmax", "log_softmax"};
  return std::ranges::find(kNames, node.op->name) != kNames.end();
}

}  // namespace soapstone::ops
