// What a tensor is in terms of the statistics of another one: a sum of products of its elements,
// their mean, the mean of their squares, roots of its variance, and constants.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "core/graph/graph.h"

namespace soapstone::transforms {

/// No dimension of the tensor: one of size 1.
inline constexpr std::size_t kNoAxis = static_cast<std::size_t>(-1);

struct Factor {
  enum class Kind : std::uint8_t { kElement, kMean, kMeanSquare, kRoot, kConstant };
  Kind kind = Kind::kElement;
  // Of kRoot: √(variance + epsilon), or √(mean of squares + epsilon).
  bool is_centred = false;
  double epsilon = 0;
  // Of kConstant: the axes of the tensor on which its dimensions lie, in order.
  core::TensorId constant = core::TensorId::none();
  std::vector<std::size_t> axes = {};
  auto operator<=>(const Factor&) const = default;
};

/// The power of each factor.
using Product = std::map<Factor, int>;
/// The number in front of each product.
using FactorSum = std::map<Product, double>;

/// A tensor that is (x − mean)·scale/√(variance + epsilon) + offset, or the same without means.
struct Norm {
  core::TensorId result;
  bool is_centred = true;
  double epsilon = 0;
  FactorSum scale = {}, offset = {};  ///< Of constants.
};

/// What cuts off negative numbers of a tensor that has none: a variance, or a mean of squares.
struct Clamp {
  core::TensorId before, after;
  bool is_centred = true;
};

/// Reads nodes one by one, operands first.
class Statistics {
 public:
  /// Of `x` over these axes of the view: its shape, or one with a dimension for each group of
  /// channels. Precondition: known sizes; a reshape makes the view of `x`.
  Statistics(const core::Graph& graph, core::TensorId x, core::Dims view,
             std::vector<std::size_t> axes);

  /// False: nothing is known of its result.
  bool add(const core::Node& node);
  /// None: it is no norm.
  std::optional<Norm> norm_at(core::TensorId id) const;
  const std::vector<Clamp>& clamps() const { return clamps_; }

 private:
  struct Value {
    FactorSum sum;
    std::vector<std::size_t> axes;  ///< By dimension: of the view, or several (merged()).
  };
  class Reader;

  std::optional<std::vector<std::size_t>> reshaped_axes(const std::vector<std::size_t>& axes,
                                                        const core::Shape& shape) const;

  const core::Graph& graph_;
  core::TensorId x_;
  core::Dims view_;
  std::vector<std::size_t> axes_;
  std::map<core::TensorId, Value> values_;
  std::vector<Clamp> clamps_;
};

}  // namespace soapstone::transforms
