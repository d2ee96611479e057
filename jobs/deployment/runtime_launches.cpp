// A kernel belongs to the node that its name mentions, or whose result it writes. A node without a
// kernel was fused into one next to it: into its producer's if that hands on something private, so
// that nothing says what it is, else into that of its readers.
#include "jobs/deployment/runtime_launches.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "core/base/hash.h"

namespace soapstone::jobs {
namespace {

using core::Graph;
using core::NodeId;
using core::TensorId;
using workers::RuntimeKernel;

constexpr std::string_view kMark = "ss";
constexpr std::size_t kNoLaunch = ~std::size_t{0};

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// Letters and digits alone, in lower case: runtimes spell names of operators in their own way.
std::string plain_text(std::string_view name) {
  std::string text;
  for (const char c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      text += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

/// The first tensor of ours that the text mentions.
TensorId mentioned(std::string_view text, const WrittenNames& names) {
  for (std::size_t at = text.find(kMark); at != text.npos; at = text.find(kMark, at + 1)) {
    std::size_t end = at + kMark.size();
    while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end])) != 0) ++end;
    if (end == text.size() || text[end] != 't') continue;
    const auto known = names.tensors.find(std::string(text.substr(at, end + 1 - at)));
    if (known != names.tensors.end()) return known->second;
  }
  return TensorId::none();
}

/// The longest name of a node that stands in the text as a word.
NodeId node_in(std::string_view text, const WrittenNames& names) {
  NodeId found;
  std::size_t longest = 0;
  for (const auto& [name, node] : names.nodes) {
    const std::size_t at = name.size() > longest ? text.find(name) : text.npos;
    if (at == text.npos || (at > 0 && is_word(text[at - 1]))) continue;
    const std::size_t end = at + name.size();
    if (end < text.size() && is_word(text[end])) continue;
    found = node;
    longest = name.size();
  }
  return found;
}

class Matching {
 public:
  Matching(const Graph& graph, const WrittenNames& names, const workers::RuntimeProfile& profile)
      : graph_(graph), names_(names), kernels_(profile.kernels),
        launch_of_(graph.node_bound(), kNoLaunch), owners_(kernels_.size(), kNoLaunch),
        written_(graph.tensor_bound()) {
    for (std::size_t k = 0; k < kernels_.size(); ++k)
      for (const std::string& output : kernels_[k].outputs) writer_[output] = k;
    for (const auto& [name, id] : names.tensors) written_[id.index()] = writer_.contains(name);
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
  TensorId ours(const std::string& name) const {
    const auto at = names_.tensors.find(name);
    return at == names_.tensors.end() ? TensorId::none() : at->second;
  }
  /// Made by a kernel, but no tensor of the graph.
  bool is_private(const std::string& name) const {
    return !ours(name).valid() && writer_.contains(name);
  }
  bool varies(NodeId node) const { return !graph_.is_constant_expression(node); }

  /// Reads one private tensor and nothing else that varies: it brings it into ordinary form.
  bool leaves(const RuntimeKernel& kernel) const {
    std::size_t inputs = 0, privates = 0;
    for (const std::string& input : kernel.inputs) {
      const TensorId id = ours(input);
      if (is_private(input)) ++privates;
      if (writer_.contains(input) || (id.valid() && graph_.tensor(id).is_input())) ++inputs;
    }
    return inputs == 1 && privates == 1;
  }

  bool is_called_alike(const RuntimeKernel& kernel, NodeId id) const {
    return plain_text(kernel.op).ends_with(plain_text(graph_.node(id).op->name));
  }

  NodeId owner(const RuntimeKernel& kernel) const {
    if (const TensorId id = mentioned(kernel.name, names_); id.valid()) {
      const NodeId node = graph_.tensor(id).producer;
      if (node.valid()) return node;
    }
    for (const std::string& output : kernel.outputs) {
      const TensorId id = ours(output);
      const NodeId node = id.valid() ? graph_.tensor(id).producer : NodeId::none();
      if (node.valid() && (!leaves(kernel) || is_called_alike(kernel, node))) return node;
    }
    return node_in(kernel.name, names_);
  }

  void give_owner(std::size_t k) {
    const NodeId node = owner(kernels_[k]);
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
    // A kernel may write results of several nodes.
    for (const std::string& output : kernels_[k].outputs) {
      const TensorId id = ours(output);
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
        return owners_[writer_.at(input)] == owners_[k];
      };
      for (const std::string& input : kernels_[k].inputs)
        launch.reads_private = launch.reads_private || (is_private(input) && !own(input));
      launch.writes_private = std::ranges::all_of(
          kernels_[k].outputs, [&](const std::string& name) { return is_private(name); });
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
      const TensorId tensor = mentioned(name, names_);
      return tensor.valid() && graph_.is_constant_expression(tensor) &&
             std::ranges::find(node.inputs, tensor) != node.inputs.end();
    };
    return std::ranges::any_of(kernels_of_[launch], [&](std::size_t k) {
      return is_called_alike(kernels_[k], id) || std::ranges::any_of(kernels_[k].inputs, reads);
    });
  }

  void absorb_behind() {
    for (const NodeId id : graph_.order()) {
      if (launch_of_[id.index()] != kNoLaunch || !varies(id) || is_repeated(id)) continue;
      if (shows(launch_of_readers(id), id)) continue;
      std::size_t latest = kNoLaunch;
      bool hidden = true;
      for (const TensorId input : graph_.node(id).inputs) {
        if (!input.valid() || graph_.is_constant_expression(input)) continue;
        const NodeId producer = graph_.tensor(input).producer;
        const std::size_t launch = producer.valid() ? launch_of_[producer.index()] : kNoLaunch;
        if (launch == kNoLaunch || !launches_[launch].writes_private) continue;
        if (latest != kNoLaunch && launch < latest) continue;
        latest = launch;
        hidden = !written_[input.index()];
      }
      if (latest != kNoLaunch && hidden) launch_of_[id.index()] = latest;
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
      if (leaves(kernels_[k])) {
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
      const auto at = writer_.find(input);
      if (at != writer_.end() && owners_[at->second] != kNoLaunch)
        return &launches_[owners_[at->second]];
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
  const WrittenNames& names_;
  const std::vector<RuntimeKernel>& kernels_;
  std::vector<std::size_t> launch_of_;  // by node
  std::vector<std::size_t> owners_;     // by kernel
  std::vector<bool> written_;           // by tensor
  std::unordered_map<std::string, std::size_t> writer_;
  std::vector<ObservedLaunch> launches_;
  std::vector<std::vector<std::size_t>> kernels_of_;  // by launch
  ObservedGraph result_;
};

}  // namespace

std::string observed_name(TensorId id) { return fmt::format("{}{}t", kMark, id.index()); }

ObservedGraph match_kernels(const Graph& graph, const WrittenNames& names,
                            const workers::RuntimeProfile& profile) {
  ObservedGraph observed = Matching(graph, names, profile).run();
  observed.total_us = profile.total_us;
  return observed;
}

}  // namespace soapstone::jobs
