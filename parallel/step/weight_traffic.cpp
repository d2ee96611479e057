#include "parallel/step/weight_traffic.h"

#include <algorithm>
#include <map>
#include <utility>

namespace soapstone::parallel {
namespace {

/// Weights that are exchanged together.
class Bucket {
 public:
  void add(const WeightExchange& exchange, double bytes_on_device) {
    bytes_of_[kind_of(exchange)] += exchange.bytes;
    bytes_ += bytes_on_device;
  }
  double bytes() const { return bytes_; }
  bool is_empty() const { return bytes_of_.empty(); }
  double gather_us(const Mesh& mesh) const {
    double us = 0;
    for (const auto& [kind, bytes] : bytes_of_)
      us += convert(mesh, bytes, kind.first, kind.second).us;
    return us;
  }
  double sum_us(const Mesh& mesh) const {
    double us = 0;
    for (const auto& [kind, bytes] : bytes_of_)
      us += convert_gradient(mesh, bytes, kind.first, kind.second).us;
    return us;
  }

 private:
  std::map<std::pair<Layout, Layout>, double> bytes_of_;
  double bytes_ = 0;
};

/// When each kind of device has ended what it did so far.
class Clocks {
 public:
  explicit Clocks(const std::vector<PassNode>& nodes) : us_(1, 0) {
    for (const PassNode& node : nodes) us_.resize(std::max(us_.size(), node.by_position.size()), 0);
  }
  double latest() const { return *std::ranges::max_element(us_); }
  void meet(double exchange_us) {
    if (exchange_us > 0) us_.assign(us_.size(), latest() + exchange_us);
  }
  /// Returns how long all waited.
  double wait_until(double us) {
    const double waited_us = std::max(0.0, us - latest());
    for (double& now : us_) now = std::max(now, us);
    return waited_us;
  }
  /// Returns how much later the last one ends.
  double work(const PassNode& node, double PassNode::*all, double PartTime::*here) {
    const double before_us = latest();
    for (std::size_t p = 0; p < us_.size(); ++p)
      us_[p] += node.by_position.empty() ? node.*all : node.by_position[p].*here;
    return latest() - before_us;
  }

 private:
  std::vector<double> us_;
};

}  // namespace

PassNode pass_node(const NodeCost& cost, double again, double slowness) {
  PassNode node;
  node.forward_us = slowness * cost.forward_us;
  node.backward_us = slowness * (again * cost.forward_us + cost.backward_us);
  node.by_position = cost.by_position;
  for (PartTime& time : node.by_position) time.backward_us += again * time.forward_us;
  node.forward_exchange_us = cost.forward_conversion_us;
  node.backward_exchange_us = again * cost.forward_conversion_us + cost.backward_conversion_us;
  return node;
}

std::pair<Layout, Layout> kind_of(const WeightExchange& exchange) {
  std::pair<Layout, Layout> kind{exchange.from, exchange.to};
  for (std::size_t a = 0; a < kMostAxes; ++a) {
    std::int8_t& from = kind.first.axes[a];
    std::int8_t& to = kind.second.axes[a];
    if (to >= 0) to = from >= 0 && from != to ? 1 : 0;
    if (from >= 0) from = 0;
  }
  return kind;
}

WeightTraffic::WeightTraffic(const Mesh& mesh, double bucket_bytes, std::vector<PassNode> nodes,
                             std::span<const ExchangesOfNode> exchanges,
                             const TrafficOptions& options)
    : mesh_(mesh), options_(options), nodes_(std::move(nodes)) {
  cut_units(exchanges, bucket_bytes);
  fill_buckets(exchanges, bucket_bytes);
  run_forward();
  if (options.is_training) run_backward();
}

void WeightTraffic::cut_units(std::span<const ExchangesOfNode> exchanges, double bucket_bytes) {
  Bucket bucket;
  std::size_t begin = 0;
  double largest = 0, before = 0, all = 0;
  const auto close = [&](std::size_t end) {
    Unit unit{begin, end, bucket.gather_us(mesh_), 0, bucket.bytes()};
    if (options_.is_training) unit.scatter_us = bucket.sum_us(mesh_);
    const double gradients = options_.is_training ? unit.bytes : 0;
    largest = std::max(largest, before + unit.bytes + gradients);
    before = unit.bytes;
    all += unit.bytes;
    units_.push_back(unit);
    bucket = {};
    begin = end;
  };
  for (std::size_t k = 0; k < nodes_.size(); ++k) {
    for (const WeightExchange* exchange : exchanges[k])
      if (exchange->is_gathered)
        bucket.add(*exchange, exchange->bytes * mesh_.largest_piece(exchange->to));
    if (!bucket.is_empty() && bucket.bytes() >= bucket_bytes) close(k + 1);
  }
  if (begin < nodes_.size()) close(nodes_.size());
  buffer_bytes_ += options_.gathers_once ? std::max(all, largest) : largest;
}

void WeightTraffic::fill_buckets(std::span<const ExchangesOfNode> exchanges, double bucket_bytes) {
  sums_.assign(nodes_.size(), 0);
  if (!options_.is_training) return;
  Bucket bucket;
  double largest = 0;
  const auto close = [&](std::size_t k) {
    sums_[k] = bucket.sum_us(mesh_);
    largest = std::max(largest, bucket.bytes());
    bucket = {};
  };
  std::size_t last = 0;
  for (std::size_t k = nodes_.size(); k-- > 0;) {
    for (const WeightExchange* exchange : exchanges[k]) {
      if (exchange->is_gathered) continue;
      bucket.add(*exchange, exchange->bytes * mesh_.largest_piece(exchange->from));
      last = k;
    }
    if (!bucket.is_empty() && bucket.bytes() >= bucket_bytes) close(k);
  }
  if (!bucket.is_empty()) close(last);
  // Larger gradients are summed in place.
  buffer_bytes_ += 2 * std::min(largest, bucket_bytes);
}

void WeightTraffic::run_forward() {
  forward_waits_.assign(nodes_.size(), 0);
  forward_work_.assign(nodes_.size(), 0);
  Clocks clocks(nodes_);
  double gathered_us = 0, unit_before_us = 0;
  for (const Unit& unit : units_) {
    if (unit.gather_us > 0) {
      const double begin_us = options_.overlaps ? unit_before_us : clocks.latest();
      gathered_us = std::max(gathered_us, begin_us) + unit.gather_us;
      forward_waits_[unit.begin] = clocks.wait_until(gathered_us);
    }
    unit_before_us = clocks.latest();
    for (std::size_t k = unit.begin; k < unit.end; ++k) {
      clocks.meet(nodes_[k].forward_exchange_us);
      forward_work_[k] = clocks.work(nodes_[k], &PassNode::forward_us, &PartTime::forward_us);
    }
  }
  forward_us_ = clocks.latest();
}

void WeightTraffic::run_backward() {
  backward_waits_.assign(nodes_.size(), 0);
  backward_work_.assign(nodes_.size(), 0);
  backward_ends_.assign(nodes_.size(), 0);
  Clocks clocks(nodes_);
  double exchanged_us = 0, unit_before_us = 0, scatter_us = 0;
  for (std::size_t u = units_.size(); u-- > 0;) {
    const Unit& unit = units_[u];
    const double ready_us = clocks.latest();  // the gradients of the unit behind are complete
    if (unit.gather_us > 0 && !options_.gathers_once) {
      const double begin_us = options_.overlaps ? unit_before_us : clocks.latest();
      exchanged_us = std::max(exchanged_us, begin_us) + unit.gather_us;
      backward_waits_[unit.end - 1] = clocks.wait_until(exchanged_us);
    }
    if (scatter_us > 0 && options_.overlaps)
      exchanged_us = std::max(exchanged_us, ready_us) + scatter_us;
    unit_before_us = clocks.latest();
    for (std::size_t k = unit.end; k-- > unit.begin;) {
      backward_work_[k] = clocks.work(nodes_[k], &PassNode::backward_us, &PartTime::backward_us);
      clocks.meet(nodes_[k].backward_exchange_us);
      backward_ends_[k] = clocks.latest();
    }
    scatter_us = unit.scatter_us;
    if (options_.overlaps || scatter_us == 0) continue;
    backward_waits_[unit.begin] += clocks.wait_until(clocks.latest() + scatter_us);
    scatter_us = 0;
  }
  if (scatter_us > 0) exchanged_us = std::max(exchanged_us, clocks.latest()) + scatter_us;
  if (!nodes_.empty()) backward_waits_.front() += clocks.wait_until(exchanged_us);
  backward_us_ = clocks.latest();
}

double WeightTraffic::summed_us(double begin_us, double busy_us) const {
  for (std::size_t k = nodes_.size(); k-- > 0;)
    if (sums_[k] > 0) busy_us = std::max(busy_us, begin_us + backward_ends_[k]) + sums_[k];
  return busy_us;
}

}  // namespace soapstone::parallel
