#include "parallel/planning/step_bound.h"

#include <algorithm>
#include <limits>

namespace soapstone::parallel {
namespace {

/// What one kernel takes at least.
struct LeastTime {
  double launch_us = 0, arithmetic_us = 0, traffic_us = 0;
  double us() const { return launch_us + std::max(arithmetic_us, traffic_us); }
};

class BoundMaker {
 public:
  explicit BoundMaker(const StepBoundInput& input) : input_(input) {
    for (const BoundedKind& kind : input.kinds) devices_ += kind.devices;
  }

  StepBound bound() {
    for (const core::NodeId id : input_.graph.order())
      if (!input_.graph.is_constant_expression(id)) add(id);
    add_updates();
    StepBound in_turn = bound_;
    in_turn.us = bound_.launches_us + bound_.arithmetic_us + bound_.traffic_us;
    const double at_once_us = contractions_us();
    return in_turn.us >= at_once_us ? in_turn : StepBound{at_once_us, 0, at_once_us, 0};
  }

  PassesBound passes() {
    for (const core::NodeId id : input_.graph.order())
      if (!input_.graph.is_constant_expression(id)) add(id);
    return {forward_us_,
            bound_.launches_us + bound_.arithmetic_us + bound_.traffic_us - forward_us_};
  }

 private:
  /// The share of the time of kernels that somebody measured, at least.
  double scale_of(core::NodeId id) const {
    const bool is_measured = input_.part_times && input_.works[0]->nodes[id.index()].starts_launch;
    return is_measured ? input_.part_times->least_scale(id) : 1;
  }

  void add(core::NodeId id) {
    const double scale = scale_of(id);
    const std::vector<LeastTime> kernels = fewest(id);
    if (!kernels.empty()) forward_us_ += scale * kernels.front().us();
    for (const LeastTime& kernel : kernels) {
      bound_.launches_us += scale * kernel.launch_us;
      const bool is_arithmetic = kernel.arithmetic_us > kernel.traffic_us;
      (is_arithmetic ? bound_.arithmetic_us : bound_.traffic_us) +=
          scale * std::max(kernel.arithmetic_us, kernel.traffic_us);
    }
  }

  /// The kernels of a node on the kind of device, and in the step, where they take the least.
  std::vector<LeastTime> fewest(core::NodeId id) const {
    std::vector<LeastTime> best;
    double least = std::numeric_limits<double>::infinity();
    const auto attempt = [&](const StepWork& work, const BoundedKind& kind, double slowness) {
      std::vector<LeastTime> kernels = kernels_of(id, work, kind.rates);
      double us = 0;
      for (LeastTime& kernel : kernels) {
        kernel.launch_us *= slowness;
        kernel.arithmetic_us *= slowness;
        kernel.traffic_us *= slowness;
        us += kernel.us();
      }
      if (us >= least) return;
      least = us;
      best = std::move(kernels);
    };
    for (const StepWork* work : input_.works)
      for (const BoundedKind& kind : input_.kinds) {
        attempt(*work, kind, 1);                              // on an uneven mesh
        attempt(*work, input_.kinds.front(), kind.slowness);  // in a stage
      }
    return best;
  }

  /// Forward and backward, each of all devices' share.
  std::vector<LeastTime> kernels_of(core::NodeId id, const StepWork& work,
                                    const ComputeRates& rates) const {
    const NodeWork& own = work.nodes[id.index()];
    if (own.is_free) return {};
    const core::Node& node = input_.graph.node(id);
    double read = 0, kept = 0, gradients = 0, written = 0, arriving = 0;
    int sought = 0;
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      if (!node.inputs[k].valid()) continue;
      const TensorWork& input = work.tensors[node.inputs[k].index()];
      if (input.is_stored) read += input.bytes;
      if (k < own.gradient_reads.size() && own.gradient_reads[k]) kept += input.bytes;
      if (!input.has_gradient) continue;
      gradients += input.bytes;
      ++sought;
    }
    for (const core::TensorId tensor : node.outputs) {
      const TensorWork& output = work.tensors[tensor.index()];
      if (output.is_stored) written += output.bytes;
      if (output.has_gradient) arriving += output.bytes;
      if (own.gradient_reads_result) kept += output.bytes;
    }
    const auto kernel = [&](double flops, double bytes) {
      return LeastTime{own.starts_launch ? rates.launch_us : 0,
                       rates.us(own.data_type, flops / devices_, 0, own.is_contraction),
                       rates.us(own.data_type, 0, bytes / devices_, false)};
    };
    std::vector<LeastTime> kernels{kernel(own.flops, read + written)};
    if (arriving == 0 || sought == 0) return kernels;
    if (own.is_contraction)
      kernels.insert(kernels.end(), static_cast<std::size_t>(sought),
                     kernel(own.flops, read + arriving));
    else
      kernels.push_back(kernel(0, kept + arriving + gradients));
    return kernels;
  }

  void add_updates() {
    if (!input_.updated_bytes) return;
    double fastest = 0, bytes = 0;
    for (const BoundedKind& kind : input_.kinds)
      fastest = std::max(fastest, kind.rates.bytes_per_s * kind.rates.streaming_efficiency);
    const StepWork& work = *input_.works[0];
    for (std::size_t t = 0; t < work.tensors.size(); ++t)
      if (work.tensors[t].is_weight && work.tensors[t].has_gradient && is_read(core::TensorId(t)))
        bytes += work.tensors[t].bytes;
    bound_.traffic_us += bytes * *input_.updated_bytes / devices_ / fastest * 1e6;
  }

  bool is_read(core::TensorId id) const {
    return std::ranges::any_of(input_.graph.consumers(id), [&](core::NodeId reader) {
      return !input_.graph.is_constant_expression(reader);
    });
  }

  double contractions_us() const {
    double steps_per_us = 0;
    for (const BoundedKind& kind : input_.kinds) {
      const double us = contractions_us(kind.rates);
      if (us == 0) return 0;
      steps_per_us += kind.devices / us;
    }
    return 1 / steps_per_us;
  }

  /// The whole step's, on one device.
  double contractions_us(ComputeRates rates) const {
    rates.tail_us = 0;
    double us = 0;
    for (const core::NodeId id : input_.graph.order()) {
      const NodeWork& node = input_.works[0]->nodes[id.index()];
      if (input_.graph.is_constant_expression(id) || !node.is_contraction) continue;
      double times = 1;
      for (const core::TensorId input : input_.graph.node(id).inputs)
        times += input.valid() && input_.works[0]->tensors[input.index()].has_gradient ? 1 : 0;
      us += times * scale_of(id) * rates.us(node.data_type, node.flops, 0, true);
    }
    return us;
  }

  const StepBoundInput& input_;
  double devices_ = 0;
  StepBound bound_;
  double forward_us_ = 0;
};

}  // namespace

std::string_view StepBound::binding() const {
  if (exchanges_us > std::max({launches_us, arithmetic_us, traffic_us})) return "exchanges";
  if (launches_us > std::max(arithmetic_us, traffic_us)) return "launches";
  return arithmetic_us >= traffic_us ? "arithmetic" : "traffic";
}

StepBound step_bound(const StepBoundInput& input) { return BoundMaker(input).bound(); }

PassesBound passes_bound(const StepBoundInput& input) { return BoundMaker(input).passes(); }

}  // namespace soapstone::parallel
