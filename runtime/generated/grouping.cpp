// See grouping.h.
#include "runtime/generated/grouping.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <set>

#include "runtime/generated/extent.h"

namespace soapstone::runtime::generated {
namespace {

using core::NodeId;
using core::TensorId;

constexpr std::size_t kMostArguments = 32, kMostNodes = 48;
// How often one element may be computed: loading it would take as long as a few operations do.
constexpr double kOften = 4;

/// True if nothing that costs much is computed again. A small tensor may be computed for every
/// element of a large one, if it takes a few operations.
bool is_cheap(const Region& region, const KernelPlan& plan) {
  double largest = 1;
  for (const RegionStage& stage : region.stages)
    largest = std::max(largest, static_cast<double>(region.tensors[stage.tensor].elements));
  for (std::size_t s = 0; s < region.stages.size(); ++s) {
    const RegionStage& stage = region.stages[s];
    const auto elements = static_cast<double>(region.tensors[stage.tensor].elements);
    const bool is_costly = stage.longest_loop > 1 || stage.has_costly_functions;
    const double most = is_costly ? elements : kOften * largest;
    if (stage.work > 0 && plan.computed[s] * elements > most) return false;
  }
  return true;
}

class Fuser {
 public:
  Fuser(const core::Graph& graph, const GroupingOptions& options)
      : graph_(graph), options_(options), group_(graph.node_bound(), kNone),
        position_(graph.node_bound()), given_(graph.node_bound(), kNone) {}

  std::vector<Group> run() {
    for (std::size_t g = 0; g < options_.given.size(); ++g)
      for (const NodeId node : options_.given[g]) given_[node.index()] = g;
    std::size_t next = 0;
    for (NodeId id : graph_.order()) {
      position_[id.index()] = next++;
      if (given_[id.index()] != kNone)
        add_given(id);
      else if (!graph_.is_constant_expression(id))
        add(id);
    }
    if (options_.fuses) {
      read_through_movements();
      join_siblings();
    }
    return ordered();
  }

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  void add(NodeId id) {
    group_[id.index()] = groups_.size();
    groups_.push_back({kind_of(id), {id}});
    if (groups_.back().kind != Group::Kind::kKernel || !options_.fuses) return;
    if (join_contraction(id) || leads_to_contractions(id)) return;
    // Groups that are read, nearest first; those that they read come when they are taken in.
    std::set<std::size_t> refused;
    while (const auto source = nearest_source(groups_.size() - 1, refused))
      if (!merge(*source, groups_.size() - 1)) refused.insert(*source);
  }

  void add_given(NodeId id) {
    const std::vector<NodeId>& nodes = options_.given[given_[id.index()]];
    if (id != nodes.front()) return;
    for (const NodeId node : nodes) group_[node.index()] = groups_.size();
    groups_.push_back({Group::Kind::kGiven, nodes});
  }

  Group::Kind kind_of(NodeId id) const {
    if (given_[id.index()] != kNone) return Group::Kind::kGiven;
    if (is_kernel_view(graph_, id)) return Group::Kind::kView;
    const auto region = region_of(graph_, std::span(&id, 1));
    if (!region) return Group::Kind::kOther;
    const bool is_contraction =
        std::any_of(region->stages.begin(), region->stages.end(),
                    [](const RegionStage& stage) { return stage.is_contraction; });
    return is_contraction ? Group::Kind::kContraction : Group::Kind::kKernel;
  }

  /// Puts a new node into the group of a contraction that it reads, if libraries compute both as
  /// one.
  bool join_contraction(NodeId id) {
    const std::size_t own = groups_.size() - 1;
    std::vector<NodeId> sources = sources_of(graph_, id, nullptr);
    std::ranges::sort(sources, std::greater(), [&](NodeId n) { return position_[n.index()]; });
    for (const NodeId source : sources) {
      const std::size_t g = group_[source.index()];
      if (groups_[g].kind != Group::Kind::kContraction || closes_cycle(g, own)) continue;
      std::vector<NodeId> nodes = groups_[g].nodes;
      nodes.push_back(id);
      const GroupExtent extent = extent_of(graph_, nodes);
      if (!fits(extent)) continue;
      for (NodeId node : groups_[g].nodes) group_[node.index()] = own;
      groups_[g].nodes.clear();
      groups_[own] = {Group::Kind::kContraction, std::move(nodes)};
      return true;
    }
    return false;
  }

  /// Transposes and cuts that only contractions read take no kernel, if these can read in that
  /// order.
  void read_through_movements() {
    const auto order = graph_.order();
    for (auto id = order.rbegin(); id != order.rend(); ++id) {
      const std::size_t own = group_[id->index()];
      if (own == kNone || groups_[own].kind != Group::Kind::kKernel ||
          groups_[own].nodes.size() != 1 || !is_reordering(graph_.node(*id)))
        continue;
      const auto readers = contractions_behind(*id);
      if (!readers ||
          !std::ranges::all_of(*readers, [&](std::size_t g) { return can_read(g, *id); }))
        continue;
      for (const std::size_t g : *readers) groups_[g].through.push_back(*id);
      groups_[own].nodes.clear();
      group_[id->index()] = kNone;
      readers_through_[*id] = *readers;
    }
  }

  /// True for nodes that contractions may be able to read through: they stay alone until then.
  bool leads_to_contractions(NodeId id) const {
    if (!is_reordering(graph_.node(id)) && !is_kernel_view(graph_, id)) return false;
    const auto& results = graph_.node(id).outputs;
    return std::ranges::all_of(results, [&](TensorId t) {
      return !graph_.is_output(t) && std::ranges::all_of(graph_.consumers(t), [&](NodeId reader) {
        return leads_to_contractions(reader) || kind_of(reader) == Group::Kind::kContraction;
      });
    });
  }

  static bool is_reordering(const core::Node& node) {
    return node.op->movement == core::Movement::kPermute ||
           node.op->movement == core::Movement::kCut || node.op->movement == core::Movement::kSplit;
  }

  /// The groups that read the node's results, also through views; none: others than contractions
  /// do.
  std::optional<std::set<std::size_t>> contractions_behind(NodeId id) const {
    std::set<std::size_t> found;
    for (TensorId t : graph_.node(id).outputs) {
      if (graph_.is_output(t)) return std::nullopt;
      for (NodeId reader : graph_.consumers(t)) {
        std::optional<std::set<std::size_t>> behind;
        if (const auto through = readers_through_.find(reader); through != readers_through_.end())
          behind = through->second;
        else if (is_kernel_view(graph_, reader))
          behind = contractions_behind(reader);
        else if (groups_[group_[reader.index()]].kind == Group::Kind::kContraction)
          behind = std::set{group_[reader.index()]};
        if (!behind) return std::nullopt;
        found.insert(behind->begin(), behind->end());
      }
    }
    return found;
  }

  bool can_read(std::size_t group, NodeId id) const {
    std::vector<NodeId> through = groups_[group].through;
    through.push_back(id);
    const GroupExtent extent = extent_of(graph_, groups_[group].nodes, through);
    return fits(extent);
  }

  bool fits(const GroupExtent& extent) const {
    return options_.contractions && options_.contractions(graph_, extent.nodes, extent.outputs);
  }

  std::optional<std::size_t> nearest_source(std::size_t group,
                                            const std::set<std::size_t>& refused) const {
    std::optional<NodeId> nearest;
    for (NodeId node : groups_[group].nodes)
      for (NodeId source : sources_of(graph_, node, nullptr)) {
        const std::size_t g = group_[source.index()];
        if (g == group || refused.contains(g) || groups_[g].kind != Group::Kind::kKernel) continue;
        if (!nearest || position_[nearest->index()] < position_[source.index()]) nearest = source;
      }
    if (!nearest) return std::nullopt;
    return group_[nearest->index()];
  }

  /// Puts the nodes of `from` into `into`, if one kernel computes both well.
  bool merge(std::size_t from, std::size_t into) {
    std::vector<NodeId> nodes = groups_[from].nodes;
    nodes.insert(nodes.end(), groups_[into].nodes.begin(), groups_[into].nodes.end());
    if (nodes.size() > kMostNodes || closes_cycle(from, into)) return false;
    std::sort(nodes.begin(), nodes.end(),
              [&](NodeId a, NodeId b) { return position_[a.index()] < position_[b.index()]; });
    const auto region = region_of(graph_, nodes);
    if (!region || region->inputs.size() + region->outputs.size() > kMostArguments) return false;
    const auto plan = plan_kernel(*region, options_.kernel);
    if (!plan || !is_cheap(*region, *plan)) return false;
    if (options_.joins && !options_.joins(*region, *plan)) return false;
    if (options_.apart && options_.apart(*region, *plan, groups_[from].nodes, groups_[into].nodes))
      return false;
    for (NodeId node : groups_[from].nodes) group_[node.index()] = into;
    groups_[from].nodes.clear();
    groups_[into].nodes = std::move(nodes);
    return true;
  }

  /// True if a path leads from one of both through others to one of both. Views by themselves are
  /// no others: a kernel reads through them.
  bool closes_cycle(std::size_t a, std::size_t b) const {
    struct Step {
      std::size_t group;
      bool is_outside;
    };
    std::vector<std::array<bool, 2>> seen(groups_.size());
    std::vector<Step> open{{a, false}, {b, false}};
    while (!open.empty()) {
      const Step from = open.back();
      open.pop_back();
      for (const std::size_t next : readers_of(from.group)) {
        const bool is_one = next == a || next == b;
        if (is_one && from.is_outside) return true;
        const bool is_outside = from.is_outside || groups_[next].kind != Group::Kind::kView;
        if (is_one || std::exchange(seen[next][is_outside], true)) continue;
        open.push_back({next, is_outside});
      }
    }
    return false;
  }

  std::set<std::size_t> readers_of(std::size_t group) const {
    std::set<std::size_t> readers;
    for (NodeId node : groups_[group].nodes)
      for (TensorId t : graph_.node(node).outputs)
        for (NodeId reader : graph_.consumers(t)) {
          if (group_[reader.index()] != kNone) readers.insert(group_[reader.index()]);
          if (const auto through = readers_through_.find(reader); through != readers_through_.end())
            readers.insert(through->second.begin(), through->second.end());
        }
    return readers;
  }

  /// Kernels of equally many elements that do not read each other are one launch.
  void join_siblings() {
    constexpr std::size_t kNear = 12;
    for (std::size_t a = 0; a < groups_.size(); ++a) {
      std::size_t tried = 0;
      for (std::size_t b = a + 1; b < groups_.size() && tried < kNear; ++b) {
        if (groups_[b].nodes.empty()) continue;
        ++tried;
        if (groups_[a].nodes.empty() || groups_[a].kind != Group::Kind::kKernel ||
            groups_[b].kind != Group::Kind::kKernel || elements_of(a) != elements_of(b))
          continue;
        merge(a, b);
      }
    }
  }

  std::int64_t elements_of(std::size_t group) const {
    const core::Node& last = graph_.node(groups_[group].nodes.back());
    return core::element_count(*core::concrete(graph_.tensor(last.outputs[0]).type.shape));
  }

  /// A group comes when all that it reads has come. A kernel may read through views of what it
  /// computes itself.
  std::vector<Group> ordered() {
    std::vector<Group> result;
    std::vector<char> seen(groups_.size(), false);
    const auto visit = [&](const auto& self, std::size_t g) -> void {
      if (std::exchange(seen[g], char{true})) return;
      std::vector<NodeId> nodes = groups_[g].nodes;
      nodes.insert(nodes.end(), groups_[g].through.begin(), groups_[g].through.end());
      for (NodeId node : nodes)
        for (NodeId source : groups_[g].kind == Group::Kind::kView
                                 ? producers_of(node)
                                 : sources_of(graph_, node, nullptr))
          if (group_[source.index()] != kNone) self(self, group_[source.index()]);
      if (!groups_[g].nodes.empty()) result.push_back(groups_[g]);
    };
    for (std::size_t g = 0; g < groups_.size(); ++g) visit(visit, g);
    return result;
  }

  std::vector<NodeId> producers_of(NodeId node) const {
    std::vector<NodeId> producers;
    for (TensorId t : graph_.node(node).inputs) {
      const NodeId producer = t.valid() ? graph_.tensor(t).producer : NodeId::none();
      if (producer.valid() && group_[producer.index()] != kNone) producers.push_back(producer);
    }
    return producers;
  }

  const core::Graph& graph_;
  const GroupingOptions& options_;
  std::vector<Group> groups_;
  std::vector<std::size_t> group_;     // by node
  std::vector<std::size_t> position_;  // by node, in the order of the graph
  std::vector<std::size_t> given_;     // by node, number of the given group
  /// Of nodes that contractions read through: those groups.
  std::map<NodeId, std::set<std::size_t>> readers_through_;
};

}  // namespace

std::vector<Group> group_nodes(const core::Graph& graph, const GroupingOptions& options) {
  return Fuser(graph, options).run();
}

runtime::Launch launch_of(const core::Graph& graph, const Group& group) {
  const GroupExtent extent = extent_of(graph, group.nodes, group.through);
  runtime::Launch launch;
  launch.head = extent.nodes[0];
  launch.others.assign(extent.nodes.begin() + 1, extent.nodes.end());
  launch.outputs = extent.outputs;
  std::set<TensorId> seen;
  for (const NodeId node : extent.nodes) {
    for (const TensorId input : graph.node(node).inputs)
      if (input.valid() && seen.insert(input).second) launch.inputs.push_back(input);
    for (const TensorId output : graph.node(node).outputs) seen.insert(output);
  }
  return launch;
}

}  // namespace soapstone::runtime::generated
