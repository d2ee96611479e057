// See attention_groups.h.
#include "gpu/kernels/attention_groups.h"

#include <algorithm>
#include <map>
#include <set>

#include "gpu/forms/attention.h"
#include "runtime/generated/extent.h"

namespace soapstone::gpu {
namespace {

using core::NodeId;
using core::TensorId;
using runtime::generated::Group;
using runtime::generated::GroupExtent;

class AttentionJoiner {
 public:
  AttentionJoiner(const core::Graph& graph, std::vector<Group> groups, const LaunchFit& fits)
      : graph_(graph), fits_(fits), groups_(std::move(groups)) {
    for (std::size_t g = 0; g < groups_.size(); ++g)
      for (const NodeId node : groups_[g].nodes) group_of_[node] = g;
    for (std::size_t k = 0; k < graph_.order().size(); ++k) position_[graph_.order()[k]] = k;
  }

  std::vector<Group> run() {
    for (std::size_t context = 0; context < groups_.size(); ++context) {
      if (groups_[context].kind != Group::Kind::kContraction) continue;
      join_before(context);
    }
    std::erase_if(groups_, [](const Group& group) { return group.nodes.empty(); });
    return std::move(groups_);
  }

 private:
  /// Joins a softmax and its scores with the product that reads it.
  void join_before(std::size_t context) {
    for (const std::size_t softmax : groups_before(context, Group::Kind::kKernel))
      for (const std::size_t scores : groups_before(softmax, Group::Kind::kContraction))
        for (const bool reads_through : {true, false})
          if (join(scores, softmax, context, reads_through)) return;
  }

  std::set<std::size_t> groups_before(std::size_t group, Group::Kind kind) const {
    std::set<std::size_t> found;
    for (const auto* nodes : {&groups_[group].nodes, &groups_[group].through})
      for (const NodeId node : *nodes)
        for (const NodeId source : runtime::generated::sources_of(graph_, node, nullptr))
          if (const auto at = group_of_.find(source); at != group_of_.end())
            if (at->second != group && groups_[at->second].kind == kind) found.insert(at->second);
    return found;
  }

  bool join(std::size_t scores, std::size_t softmax, std::size_t context, bool reads_through) {
    Group whole{Group::Kind::kContraction, groups_[scores].nodes, groups_[scores].through};
    const std::vector<NodeId> between = behind(groups_[scores].nodes, groups_[softmax].nodes);
    for (const std::vector<NodeId>& nodes : {between, groups_[context].nodes})
      whole.nodes.insert(whole.nodes.end(), nodes.begin(), nodes.end());
    for (const std::size_t g : {softmax, context})
      whole.through.insert(whole.through.end(), groups_[g].through.begin(),
                           groups_[g].through.end());
    std::ranges::sort(whole.nodes, {}, [&](NodeId node) { return position_.at(node); });
    std::vector<NodeId> moved;
    if (reads_through) moved = transposes_before(whole);
    whole.through.insert(whole.through.end(), moved.begin(), moved.end());
    const GroupExtent extent = runtime::generated::extent_of(graph_, whole.nodes, whole.through);
    if (extent.outputs.size() != 1) return false;
    const auto region = runtime::generated::make_region(graph_, extent.nodes, extent.outputs);
    if (!region || !attention_of(graph_, *region) ||
        !fits_(graph_, runtime::generated::launch_of(graph_, whole)))
      return false;
    take_out(softmax, between);
    for (const NodeId node : moved) take_out(group_of_.at(node), {node});
    groups_[scores].nodes.clear();
    for (const NodeId node : whole.nodes) group_of_[node] = context;
    groups_[context] = std::move(whole);
    return true;
  }

  /// Those of `nodes` that read results of `first`, at first or second hand.
  std::vector<NodeId> behind(const std::vector<NodeId>& first,
                             const std::vector<NodeId>& nodes) const {
    std::set<NodeId> reached(first.begin(), first.end());
    std::vector<NodeId> found;
    for (const NodeId node : nodes) {
      const auto sources = runtime::generated::sources_of(graph_, node, nullptr);
      if (std::ranges::none_of(sources, [&](NodeId s) { return reached.contains(s); })) continue;
      reached.insert(node);
      found.push_back(node);
    }
    return found;
  }

  /// Transposes of other groups that nobody but this one reads.
  std::vector<NodeId> transposes_before(const Group& group) const {
    const std::set<NodeId> inside(group.nodes.begin(), group.nodes.end());
    std::vector<NodeId> found;
    for (const NodeId node : group.nodes)
      for (const NodeId source : runtime::generated::sources_of(graph_, node, nullptr)) {
        const auto at = group_of_.find(source);
        if (at == group_of_.end() || inside.contains(source) ||
            groups_[at->second].kind != Group::Kind::kKernel ||
            graph_.node(source).op->movement != core::Movement::kPermute ||
            !is_read_only_by(source, inside) || std::ranges::find(found, source) != found.end())
          continue;
        found.push_back(source);
      }
    return found;
  }

  bool is_read_only_by(NodeId node, const std::set<NodeId>& readers) const {
    return std::ranges::all_of(graph_.node(node).outputs, [&](TensorId t) {
      return !graph_.is_output(t) && std::ranges::all_of(graph_.consumers(t), [&](NodeId reader) {
        return readers.contains(reader) || (runtime::generated::is_kernel_view(graph_, reader) &&
                                            is_read_only_by(reader, readers));
      });
    });
  }

  void take_out(std::size_t group, const std::vector<NodeId>& nodes) {
    for (const NodeId node : nodes) {
      std::erase(groups_[group].nodes, node);
      group_of_.erase(node);
    }
  }

  const core::Graph& graph_;
  const LaunchFit& fits_;
  std::vector<Group> groups_;
  std::map<NodeId, std::size_t> group_of_;  // nodes that are read through have none
  std::map<NodeId, std::size_t> position_;
};

}  // namespace

std::vector<Group> join_attention(const core::Graph& graph, std::vector<Group> groups,
                                  const LaunchFit& fits) {
  return AttentionJoiner(graph, std::move(groups), fits).run();
}

}  // namespace soapstone::gpu
