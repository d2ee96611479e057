// How a weight may lie on a mesh, and what it takes there: its memory, with its gradient and the
// states of the optimizer, and its update.
#pragma once

#include <set>
#include <vector>

#include "parallel/sharding/mesh.h"
#include "parallel/sharding/sharding.h"
#include "parallel/work/origins.h"

namespace soapstone::parallel {

/// How often an update passes over a weight with its gradient, and over the optimizer's states.
inline constexpr double kPassesOverWeights = 3, kPassesOverStates = 2;

class WeightLayouts {
 public:
  /// All must outlive this.
  WeightLayouts(const Mesh& mesh, const ComputeRates& rates, const Digits& digits,
                const ShardingOptions& options)
      : mesh_(mesh), rates_(rates), digits_(digits), options_(options) {}

  /// Whole, cut as readers want it, or along a dimension that all devices could share; if weights
  /// are always cut, those of most pieces. `wanted`: by axis, the digits that readers cut.
  std::vector<Layout> all(const core::Dims& dims,
                          const std::vector<std::set<std::int8_t>>& wanted) const;

  /// The bytes of a weight on each device. In an update, which a weight without a gradient does
  /// not have, the optimizer reads and writes weights and states and reads gradients once a step.
  HeldWeight held(core::TensorId id, const TensorWork& weight, const Layout& layout) const;
  /// Its share in the cost of a step.
  double cost(const TensorWork& weight, const Layout& layout) const;

 private:
  void extend(const core::Dims& dims, const std::vector<std::set<std::int8_t>>& wanted,
              std::size_t axis, Layout& now, std::vector<Layout>& layouts) const;
  double copies(const Layout& layout) const;
  double update_us(const HeldWeight& held, const Layout& layout) const;
  /// Whether each dimension has at least as many elements as pieces.
  bool has_elements(const core::Dims& dims, const Layout& layout) const;
  /// Whether an axis may cut so many elements, which an uneven one may if its grains divide them.
  bool has_grains(std::size_t axis, std::int64_t size) const;

  const Mesh& mesh_;
  const ComputeRates& rates_;
  const Digits& digits_;
  const ShardingOptions& options_;
};

}  // namespace soapstone::parallel
