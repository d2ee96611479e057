// Regions grow from seeds, the nearest nodes first. Nodes of equal neighborhoods become seeds
// together, so that the blocks of which a network is built are cut alike wherever they stand.
#include <algorithm>
#include <queue>
#include <span>
#include <tuple>
#include <unordered_map>

#include "core/base/hash.h"
#include "ops/definition/registry.h"
#include "search/equivalence/opaque.h"
#include "search/regions/region.h"

namespace soapstone::search {
namespace {

using core::Graph;
using core::NodeId;
using core::TensorId;

/// How far a node looks to see whether it is like another one.
constexpr int kLabelRounds = 3;
/// Looking for paths that leave a region and come back is given up at so many times its size.
constexpr std::size_t kPathFactor = 4;
/// From more siblings on they are searched together, with so many nodes for each, within a limit.
constexpr std::size_t kManySiblings = 4, kNodesForSibling = 12, kMostAroundSiblings = 320;

/// A set of ids that is emptied at once.
class Marks {
 public:
  explicit Marks(std::size_t bound) : epoch_of_(bound) {}
  void clear() { ++epoch_; }
  bool contains(NodeId id) const { return epoch_of_[id.index()] == epoch_; }
  void insert(NodeId id) { epoch_of_[id.index()] = epoch_; }

 private:
  std::vector<std::uint32_t> epoch_of_;
  std::uint32_t epoch_ = 1;
};

class Cover {
 public:
  Cover(const Graph& graph, std::size_t size, bool behind_opaque)
      : graph_(graph), size_(size), untouchable_(graph.node_bound()), position_(graph.node_bound()),
        members_(graph.node_bound()), queued_(graph.node_bound()), reached_(graph.node_bound()),
        leads_(graph.node_bound()) {
    if (!behind_opaque) untouchable_ = depends_on_opaque(graph);
    for (std::size_t k = 0; k < graph.order().size(); ++k) {
      const NodeId id = graph.order()[k];
      position_[id.index()] = k;
      if (ops::is_opaque(graph.node(id))) untouchable_[id.index()] = true;
      if (!graph.is_constant_expression(id) && !is_untouchable(id)) candidates_.push_back(id);
    }
  }

  std::vector<std::vector<NodeId>> run() {
    if (candidates_.empty()) return {};
    if (candidates_.size() <= size_ && is_whole()) return {candidates_};
    std::vector<std::vector<NodeId>> regions;
    std::vector<bool> covered(graph_.node_bound());
    const auto alike = alike_nodes();
    for (const NodeId first : candidates_) {
      if (covered[first.index()]) continue;
      for (const NodeId seed : alike.at(label_[first.index()])) {
        if (covered[seed.index()]) continue;
        grow(std::span(&seed, 1));
        // Nodes that joined the region first lie well inside it: they are covered.
        const std::size_t inside = region_.size() < size_ ? region_.size() : (size_ + 1) / 2;
        for (std::size_t k = 0; k < inside; ++k) covered[region_[k].index()] = true;
        regions.push_back(in_order());
      }
    }
    for (const auto& readers : readers_of_one_weight()) {
      grow(readers);
      regions.push_back(in_order());
    }
    const std::size_t size = size_;
    for (const auto& siblings : many_siblings()) {
      size_ = std::max(size, std::min(kMostAroundSiblings, kNodesForSibling * siblings.size()));
      if (size_ == size) continue;
      grow(siblings);
      regions.push_back(in_order());
    }
    size_ = size;
    return regions;
  }

 private:
  bool is_untouchable(NodeId id) const { return untouchable_[id.index()]; }

  /// Nothing opaque stands between the nodes.
  bool is_whole() const {
    return std::ranges::none_of(graph_.order(), [&](NodeId id) { return is_untouchable(id); });
  }

  template <class Use>
  void for_each_producer(NodeId id, Use use) const {
    for (const TensorId input : graph_.node(id).inputs) {
      if (!input.valid() || graph_.is_constant_expression(input)) continue;
      if (const NodeId producer = graph_.tensor(input).producer; producer.valid()) use(producer);
    }
  }
  template <class Use>
  void for_each_consumer(NodeId id, Use use) const {
    for (const TensorId output : graph_.node(id).outputs)
      for (const NodeId reader : graph_.consumers(output)) use(reader);
  }
  /// Calls `use` with the nodes that share an operand with this one.
  template <class Use>
  void for_each_sibling(NodeId id, Use use) const {
    for (const TensorId input : graph_.node(id).inputs) {
      if (!input.valid() || graph_.is_constant_expression(input)) continue;
      for (const NodeId reader : graph_.consumers(input)) use(reader);
    }
  }

  /// Groups of nodes that read one matrix or kernel. They may be far apart, like the steps of a
  /// recurrent network, and yet gain most from reading it once. A group leaves room in the region
  /// for the nodes around it.
  std::vector<std::vector<NodeId>> readers_of_one_weight() const {
    std::vector<TensorId> weights;  // in the order in which they are read
    std::unordered_map<std::size_t, std::vector<NodeId>> readers;
    for (const NodeId id : candidates_) {
      for (const TensorId input : graph_.node(id).inputs) {
        if (!input.valid() || !graph_.is_constant_expression(input)) continue;
        if (graph_.tensor(input).type.shape.size() < 2) continue;
        auto& nodes = readers[input.index()];
        if (nodes.empty()) weights.push_back(input);
        if (nodes.empty() || nodes.back() != id) nodes.push_back(id);
      }
    }
    const std::size_t most = std::max<std::size_t>(size_ / 2, 2);
    std::vector<std::vector<NodeId>> groups;
    for (const TensorId weight : weights) {
      const auto& nodes = readers.at(weight.index());
      for (std::size_t at = 0; at + 1 < nodes.size(); at += most) {
        const auto first = nodes.begin() + static_cast<std::ptrdiff_t>(at);
        groups.emplace_back(first,
                            first + static_cast<std::ptrdiff_t>(std::min(most, nodes.size() - at)));
      }
    }
    return groups;
  }

  /// Groups of many nodes that read one tensor, or parts of one: branches that gain most if all are
  /// stacked at once. They get a region of their own, which may be larger than others.
  std::vector<std::vector<NodeId>> many_siblings() const {
    std::vector<std::vector<NodeId>> groups;
    const auto add_readers = [&](std::span<const TensorId> tensors) {
      std::vector<NodeId> readers;
      for (const TensorId tensor : tensors)
        for (const NodeId reader : graph_.consumers(tensor))
          if (!is_untouchable(reader)) readers.push_back(reader);
      std::ranges::sort(readers, {}, [&](NodeId id) { return position_[id.index()]; });
      readers.erase(std::ranges::unique(readers).begin(), readers.end());
      if (readers.size() >= kManySiblings) groups.push_back(std::move(readers));
    };
    for (const TensorId& input : graph_.inputs()) add_readers(std::span(&input, 1));
    for (const NodeId id : candidates_) add_readers(graph_.node(id).outputs);
    return groups;
  }

  std::vector<NodeId> in_order() const {
    std::vector<NodeId> nodes = region_;
    std::ranges::sort(nodes, {}, [&](NodeId id) { return position_[id.index()]; });
    return nodes;
  }

  /// Nodes by what they and their neighbors are, names and weights aside.
  std::unordered_map<std::uint64_t, std::vector<NodeId>> alike_nodes() {
    label_.assign(graph_.node_bound(), 0);
    for (const NodeId id : candidates_) label_[id.index()] = graph_.node(id).local_hash;
    std::vector<std::uint64_t> next = label_;
    for (int round = 0; round < kLabelRounds; ++round) {
      for (const NodeId id : candidates_) {
        std::uint64_t hash = label_[id.index()], readers = 0;
        for_each_producer(id,
                          [&](NodeId p) { hash = core::hash_combine(hash, label_[p.index()]); });
        for_each_consumer(id, [&](NodeId c) { readers += core::hash_mix(label_[c.index()]); });
        next[id.index()] = core::hash_combine(hash, readers);
      }
      label_ = next;
    }
    std::unordered_map<std::uint64_t, std::vector<NodeId>> groups;
    for (const NodeId id : candidates_) groups[label_[id.index()]].push_back(id);
    return groups;
  }

  /// The seeds first, then what is near them.
  void grow(std::span<const NodeId> seeds) {
    members_.clear();
    queued_.clear();
    region_.clear();
    first_ = last_ = position_[seeds.front().index()];
    std::priority_queue<Wanted, std::vector<Wanted>, std::greater<>> wanted;
    const auto want = [&](NodeId id, int distance) {
      if (members_.contains(id) || queued_.contains(id)) return;
      queued_.insert(id);
      wanted.emplace(distance, position_[id.index()], id);
    };
    for (const NodeId seed : seeds) want(seed, 0);
    std::size_t refused = 0;
    while (!wanted.empty() && region_.size() < size_ && refused < size_) {
      const auto [distance, position, id] = wanted.top();
      wanted.pop();
      const std::size_t before = region_.size();
      if (!members_.contains(id) && !take_in(id)) ++refused;
      for (std::size_t k = before; k < region_.size(); ++k) {
        const auto next = [&, distance = distance](NodeId other) { want(other, distance + 1); };
        for_each_producer(region_[k], next);
        for_each_consumer(region_[k], next);
        for_each_sibling(region_[k], next);
      }
    }
  }

  /// Adds the node and all that lies on paths between it and the region, if there is room.
  bool take_in(NodeId id) {
    if (is_untouchable(id)) return false;
    added_.assign(1, id);
    const bool forward = add_between(
        id, [&](NodeId at, auto use) { for_each_consumer(at, use); },
        [&](NodeId at) { return position_[at.index()] <= last_; });
    const bool backward =
        forward && add_between(
                       id, [&](NodeId at, auto use) { for_each_producer(at, use); },
                       [&](NodeId at) { return position_[at.index()] >= first_; });
    if (!backward || region_.size() + added_.size() > size_) return false;
    for (const NodeId added : added_) {
      members_.insert(added);
      region_.push_back(added);
      first_ = std::min(first_, position_[added.index()]);
      last_ = std::max(last_, position_[added.index()]);
    }
    return true;
  }

  /// Finds what lies on ways from the node to the region in one direction. False: too much does.
  template <class Neighbors, class Near>
  bool add_between(NodeId from, Neighbors neighbors, Near near) {
    reached_.clear();
    found_.assign(1, from);
    reached_.insert(from);
    for (std::size_t k = 0; k < found_.size(); ++k) {
      if (found_.size() > kPathFactor * size_) return false;
      neighbors(found_[k], [&](NodeId next) {
        if (reached_.contains(next) || members_.contains(next) || !near(next)) return;
        reached_.insert(next);
        found_.push_back(next);
      });
    }
    // Nodes next to the region lead to it, then nodes next to those.
    leads_.clear();
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t k = found_.size(); k-- > 1;) {
        if (leads_.contains(found_[k])) continue;
        bool leads = false;
        neighbors(found_[k], [&](NodeId next) {
          leads = leads || members_.contains(next) || leads_.contains(next);
        });
        if (!leads) continue;
        if (is_untouchable(found_[k])) return false;
        leads_.insert(found_[k]);
        added_.push_back(found_[k]);
        changed = true;
      }
    }
    return true;
  }

  using Wanted = std::tuple<int, std::size_t, NodeId>;  // distance, position

  const Graph& graph_;
  std::size_t size_;
  std::vector<bool> untouchable_;      // by node
  std::vector<std::size_t> position_;  // by node, in order()
  std::vector<NodeId> candidates_;     // in order
  std::vector<std::uint64_t> label_;   // by node

  // State of the region that grows.
  std::vector<NodeId> region_, added_, found_;
  Marks members_, queued_, reached_, leads_;
  std::size_t first_ = 0, last_ = 0;  // positions
};

}  // namespace

std::vector<std::vector<NodeId>> cover(const Graph& graph, std::size_t size, bool behind_opaque) {
  return Cover(graph, size, behind_opaque).run();
}

}  // namespace soapstone::search
