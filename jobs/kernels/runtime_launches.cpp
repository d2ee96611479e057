// A kernel belongs to the node that its name mentions, or whose result it writes. A node without a
// kernel was fused into one next to it: into its producer's if that hands on something private, so
// that nothing says what it is, else into that of its readers.
#include "jobs/kernels/runtime_launches.h"

#include <algorithm>
#include <map>

#include "jobs/kernels/kernel_names.h"

namespace soapstone::jobs {
namespace {

using core::Graph;
using core::NodeId;
using core::TensorId;
using workers::RuntimeKernel;

constexpr std::size_t kNoLaunch = ~std::size_t{0};

class Matching {
 public:
  Matching(const Graph& graph, const WrittenNames& names, const workers::RuntimeProfile& profile)
      : graph_(graph), kernels_(profile.kernels), names_(graph, names, kernels_),
        launch_of_(graph.node_bound(), kNoLaunch), owners_(kernels_.size(), kNoLaunch),
        written_(graph.tensor_bound()) {
    for (const auto& [name, id] : names.tensors)
      written_[id.index()] = names_.writer(name).has_value();
  }

  ObservedGraph run() {
    for (std::size_t k = 0; k < kernels_.size(); ++k) give_owner(k);
    find_forms();
    absorb_behind();
    absorb_before();
    charge_conversions();
    for (const RuntimeKernel& kernel : kernels_) result_.kernels_us += kernel.us;
    result_.kernels = kernels_.size();
    collect();
    return std::move(result_);
  }

 private:
  bool varies(NodeId node) const { return !graph_.is_constant_expression(node); }

  void give_owner(std::size_t k) {
    const NodeId node = names_.owner(kernels_[k]);
    if (!node.valid() || !graph_.contains(node) || !varies(node)) return;
    std::size_t& launch = launch_of_[node.index()];
    if (launch == kNoLaunch) {
      launch = launches_.size();
      launches_.emplace_back();
      kernels_of_.emplace_back();
    }
    owners_[k] = launch;
    kernels_of_[launch].push_back(k);
    launches_[launch].us += kernels_[k].us;
    for (const std::string& origin : kernels_[k].origins) {
      const NodeId other = names_.origin_node(origin);
      if (other.valid() && varies(other) && launch_of_[other.index()] == kNoLaunch)
        launch_of_[other.index()] = owners_[k];
    }
    // A kernel may write results of several nodes.
    for (const std::string& output : kernels_[k].outputs) {
      const TensorId id = names_.ours(output);
      const NodeId other = id.valid() ? graph_.tensor(id).producer : NodeId::none();
      if (!other.valid() || other == node || launch_of_[other.index()] != kNoLaunch) continue;
      launch_of_[other.index()] = launch;
      result_.exported.push_back(other);
    }
  }

  void find_forms() {
    for (std::size_t k = 0; k < kernels_.size(); ++k) {
      if (owners_[k] == kNoLaunch) continue;
      ObservedLaunch& launch = launches_[owners_[k]];
      const auto own = [&](const std::string& input) {
        return owners_[*names_.writer(input)] == owners_[k];
      };
      for (const std::string& input : kernels_[k].inputs)
        launch.reads_private = launch.reads_private || (names_.is_private(input) && !own(input));
      launch.writes_private = std::ranges::all_of(
          kernels_[k].outputs, [&](const std::string& name) { return names_.is_private(name); });
    }
  }

  /// The launch of all readers of the node, if it is one.
  std::size_t launch_of_readers(NodeId id) const {
    std::size_t launch = kNoLaunch;
    for (const TensorId output : graph_.node(id).outputs) {
      if (written_[output.index()] || graph_.is_output(output)) return kNoLaunch;
      for (const NodeId reader : graph_.consumers(output)) {
        const std::size_t other = launch_of_[reader.index()];
        if (other == kNoLaunch || (launch != kNoLaunch && other != launch)) return kNoLaunch;
        launch = other;
      }
    }
    return launch;
  }

  /// Whether a kernel of the launch has the name of the node's operator, or reads its weights.
  bool shows(std::size_t launch, NodeId id) const {
    if (launch == kNoLaunch) return false;
    const core::Node& node = graph_.node(id);
    const auto reads = [&](const std::string& name) {
      const TensorId tensor = names_.mentioned(name);
      return tensor.valid() && graph_.is_constant_expression(tensor) &&
             std::ranges::find(node.inputs, tensor) != node.inputs.end();
    };
    return std::ranges::any_of(kernels_of_[launch], [&](std::size_t k) {
      return names_.is_called_alike(kernels_[k], id) ||
             std::ranges::any_of(kernels_[k].inputs, reads);
    });
  }

  /// Whether the tensor is nowhere but inside a kernel, if the node runs in the same one.
  bool is_hidden(TensorId id, NodeId node) const {
    const auto readers = graph_.consumers(id);
    return !written_[id.index()] && !graph_.is_output(id) && readers.size() == 1 &&
           readers.front() == node;
  }

  void absorb_behind() {
    for (const NodeId id : graph_.order()) {
      if (launch_of_[id.index()] != kNoLaunch || !varies(id) || is_repeated(id)) continue;
      if (shows(launch_of_readers(id), id)) continue;
      std::size_t latest = kNoLaunch;
      TensorId from;
      for (const TensorId input : graph_.node(id).inputs) {
        const NodeId producer = input.valid() ? graph_.tensor(input).producer : NodeId::none();
        const std::size_t launch = producer.valid() ? launch_of_[producer.index()] : kNoLaunch;
        if (launch == kNoLaunch || !launches_[launch].writes_private) continue;
        if (latest != kNoLaunch && launch < latest) continue;
        latest = launch;
        from = input;
      }
      if (latest != kNoLaunch && is_hidden(from, id)) launch_of_[id.index()] = latest;
    }
  }

  void absorb_before() {
    for (std::size_t i = graph_.order().size(); i-- > 0;) {
      const NodeId id = graph_.order()[i];
      if (launch_of_[id.index()] == kNoLaunch && varies(id) && !is_repeated(id))
        launch_of_[id.index()] = launch_of_readers(id);
    }
  }

  /// Another node computes the same, and the runtime kept that one.
  bool is_repeated(NodeId id) const {
    const core::Node& node = graph_.node(id);
    for (const TensorId input : node.inputs) {
      if (!input.valid()) continue;
      for (const NodeId other : graph_.consumers(input)) {
        if (other == id || launch_of_[other.index()] == kNoLaunch) continue;
        const core::Node& twin = graph_.node(other);
        if (twin.local_hash == node.local_hash && twin.inputs == node.inputs) return true;
      }
    }
    return false;
  }

  /// A kernel without a node brings its input into another form: for the launch that reads it if
  /// that is private, else for the one that wrote the input.
  void charge_conversions() {
    for (std::size_t k = 0; k < kernels_.size(); ++k) {
      if (owners_[k] != kNoLaunch) continue;
      if (names_.leaves(kernels_[k])) {
        if (ObservedLaunch* from = source(kernels_[k])) {
          from->leave_us += kernels_[k].us;
          continue;
        }
      }
      if (ObservedLaunch* to = reader(kernels_[k]))
        to->enter_us += kernels_[k].us;
      else
        result_.unassigned_us += kernels_[k].us;
    }
  }
  ObservedLaunch* source(const RuntimeKernel& kernel) {
    for (const std::string& input : kernel.inputs) {
      const auto writer = names_.writer(input);
      if (writer && owners_[*writer] != kNoLaunch) return &launches_[owners_[*writer]];
    }
    return nullptr;
  }
  ObservedLaunch* reader(const RuntimeKernel& kernel) {
    for (std::size_t k = 0; k < kernels_.size(); ++k) {
      if (owners_[k] == kNoLaunch) continue;
      for (const std::string& input : kernels_[k].inputs)
        if (std::ranges::find(kernel.outputs, input) != kernel.outputs.end())
          return &launches_[owners_[k]];
    }
    return nullptr;
  }

  /// Nodes of one kernel that do not lead to the same result share its time evenly: slices that one
  /// split makes, say.
  void collect() {
    std::map<std::size_t, std::vector<NodeId>> nodes;
    for (const NodeId id : graph_.order()) {
      if (!varies(id)) continue;
      if (launch_of_[id.index()] == kNoLaunch)
        result_.removed.push_back(id);
      else
        nodes[launch_of_[id.index()]].push_back(id);
    }
    for (auto& [number, members] : nodes) {
      const auto parts = split(members);
      for (const auto& part : parts) {
        ObservedLaunch launch = launches_[number];
        const auto share = static_cast<double>(parts.size());
        launch.us /= share;
        launch.enter_us /= share;
        launch.leave_us /= share;
        launch.nodes = part;
        result_.launches.push_back(std::move(launch));
      }
    }
  }

  /// By the last node that each leads to.
  std::vector<std::vector<NodeId>> split(const std::vector<NodeId>& members) const {
    std::map<NodeId, NodeId> end;
    std::map<NodeId, std::vector<NodeId>> parts;
    for (std::size_t i = members.size(); i-- > 0;) {
      const NodeId id = members[i];
      end[id] = id;
      for (const TensorId output : graph_.node(id).outputs)
        for (const NodeId reader : graph_.consumers(output))
          if (const auto at = end.find(reader); at != end.end()) end[id] = at->second;
      parts[end[id]].push_back(id);
    }
    std::vector<std::vector<NodeId>> result;
    for (auto& [last, part] : parts) {
      std::ranges::reverse(part);
      result.push_back(std::move(part));
    }
    return result;
  }

  const Graph& graph_;
  const std::vector<RuntimeKernel>& kernels_;
  const KernelNames names_;
  std::vector<std::size_t> launch_of_;  // by node
  std::vector<std::size_t> owners_;     // by kernel
  std::vector<bool> written_;           // by tensor
  std::vector<ObservedLaunch> launches_;
  std::vector<std::vector<std::size_t>> kernels_of_;  // by launch
  ObservedGraph result_;
};

}  // namespace

ObservedGraph match_kernels(const Graph& graph, const WrittenNames& names,
                            const workers::RuntimeProfile& profile) {
  ObservedGraph observed = Matching(graph, names, profile).run();
  observed.total_us = profile.total_us;
  return observed;
}

}  // namespace soapstone::jobs
