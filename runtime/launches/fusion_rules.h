// The shape of the launches that libraries for devices offer: a contraction, or an einsum that is
// one batch of matrix products, with a bias, a scale, a function or gate and a residual behind it,
// or an elementwise operator with a function or gate. A backend derives from EpilogueRules and says
// which functions its own kernels have.
#pragma once

#include <optional>

#include "runtime/launches/launch_plan.h"

namespace soapstone::runtime {

class EpilogueRules : public FusionRules {
 public:
  explicit EpilogueRules(Fusion fusion) : fusion_(fusion) {}
  bool can_append(const core::Graph& graph, const Launch& so_far,
                  const EpilogueStep& step) const override;

 private:
  /// The lowest level at which the device computes this function of one argument as a step behind
  /// a head; none: at no level.
  virtual std::optional<Fusion> level_of(const core::Node& function) const = 0;
  /// True if the device computes functions behind this operator, which is no product.
  virtual bool is_binary_head(const core::Node& head) const = 0;
  /// True if the device computes x·f(x) behind this head.
  virtual bool can_gate(const core::Node& head, const core::Node& function) const;

  bool can_fuse(const core::Node& function) const;
  bool can_compute(const core::Graph& graph, const core::Node& head, const Launch& so_far,
                   const EpilogueStep& step) const;

  Fusion fusion_;
};

}  // namespace soapstone::runtime
