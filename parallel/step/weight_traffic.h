// The exchanges for weights of a piece of a stage beside its passes: buckets of gradients are
// summed while the backward pass goes on, and weights that are cut are gathered one unit ahead of
// the nodes that read them. Exchanges wait for each other, and a pass waits for what it reads.
// After S. Li et al., "PyTorch Distributed" (2020), and Y. Zhao et al., "PyTorch FSDP" (2023).
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "parallel/sharding/mesh.h"
#include "parallel/sharding/sharding.h"

namespace soapstone::parallel {

/// A node's part of the passes of one microbatch.
struct PassNode {
  double forward_us = 0, backward_us = 0;
  /// Not empty on an uneven mesh: the same for each kind of device there.
  std::vector<PartTime> by_position = {};
  /// Before the one and behind the other; all devices wait for each other there.
  double forward_exchange_us = 0, backward_exchange_us = 0;
};

/// The backward pass has the forward pass before it `again` times. Nodes of a stage are all as
/// slow.
PassNode pass_node(const NodeCost& cost, double again, double slowness);

/// The exchanges of one node; the vector outlives what is made of it.
using ExchangesOfNode = std::vector<const WeightExchange*>;

/// Exchanges of equal bytes and kinds take equally long, alone and together with others: they
/// differ in the numbers of digits alone.
std::pair<Layout, Layout> kind_of(const WeightExchange& exchange);

struct TrafficOptions {
  bool is_training = false;
  bool gathers_once = false;  ///< What is gathered forward is kept for the backward pass.
  bool overlaps = true;       ///< Units are gathered and scattered beside passes.
};

class WeightTraffic {
 public:
  /// The nodes of a piece in their order, and what each exchanges. Buckets and units are closed as
  /// soon as they have `bucket_bytes` on a device.
  WeightTraffic(const Mesh& mesh, double bucket_bytes, std::vector<PassNode> nodes,
                std::span<const ExchangesOfNode> exchanges, const TrafficOptions& options);

  double forward_us() const { return forward_us_; }
  /// With the scattering of gradients, but without their sums.
  double backward_us() const { return backward_us_; }
  /// By node: how much longer the passes are than without it, exchanges and waits left out.
  const std::vector<double>& forward_work() const { return forward_work_; }
  const std::vector<double>& backward_work() const { return backward_work_; }
  /// By node: how long the pass waits for gathered weights before it; the first node's backward
  /// pass also, for the last gradients to be scattered.
  const std::vector<double>& forward_waits() const { return forward_waits_; }
  const std::vector<double>& backward_waits() const { return backward_waits_; }
  /// By node: the sum of the bucket that is full once its backward pass has ended.
  const std::vector<double>& sums() const { return sums_; }
  /// By node: when its backward pass has ended, from the begin of the pass; none in inference.
  const std::vector<double>& backward_ends() const { return backward_ends_; }
  /// When all gradients are summed, if the last backward pass begins at `begin_us` and other sums
  /// take until `busy_us`.
  double summed_us(double begin_us, double busy_us) const;
  /// Bytes on a device of the largest two units of gathered weights, one after the other, with the
  /// gradients of one, or of all units where they are kept; and of two buckets.
  double buffer_bytes() const { return buffer_bytes_; }

 private:
  /// Nodes whose weights are gathered together.
  struct Unit {
    std::size_t begin = 0, end = 0;
    double gather_us = 0, scatter_us = 0, bytes = 0;
  };

  void cut_units(std::span<const ExchangesOfNode> exchanges, double bucket_bytes);
  void fill_buckets(std::span<const ExchangesOfNode> exchanges, double bucket_bytes);
  void run_forward();
  void run_backward();

  const Mesh& mesh_;
  const TrafficOptions options_;
  const std::vector<PassNode> nodes_;
  std::vector<Unit> units_;
  std::vector<double> sums_;  ///< By node, 0 where no bucket is closed.
  std::vector<double> forward_work_, backward_work_, forward_waits_, backward_waits_;
  std::vector<double> backward_ends_;  ///< By node, from the begin of the pass.
  double forward_us_ = 0, backward_us_ = 0, buffer_bytes_ = 0;
};

}  // namespace soapstone::parallel
