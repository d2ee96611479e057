// A pattern is a list of numbers: for each node, the last one first, what it is, whether others may
// read it, and its operands. Writing it down and finding it again are the same walk.
#include "jobs/deployment/learned_fusion.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <optional>
#include <variant>

#include <fmt/format.h>

#include "core/base/check.h"
#include "core/base/hash.h"

namespace soapstone::jobs {
namespace {

using core::Graph;
using core::hash_combine;
using core::NodeId;
using core::TensorId;

/// Constants of more elements are weights, whose values decide nothing.
constexpr std::int64_t kMostNumbers = 16;
/// Words in front of the operands of a node, and words of an operand.
constexpr std::size_t kHead = 3, kOperand = 3;
/// Larger patterns are whole models in one kernel; they never occur again.
constexpr std::size_t kMostNodes = 64;

/// The first word of an operand; the others say which.
enum Operand : std::uint64_t { kLeftOut, kNumbers, kWeight, kInside, kOutside };

std::uint64_t hash_of(const core::AttributeValue& value) {
  struct Hasher {
    std::uint64_t operator()(const core::Polynomial& p) const { return p.hash(); }
    std::uint64_t operator()(double d) const { return std::bit_cast<std::uint64_t>(d); }
    std::uint64_t operator()(const std::string& text) const { return core::hash_text(text); }
    std::uint64_t operator()(const std::vector<core::Polynomial>& list) const {
      std::uint64_t hash = list.size();
      for (const core::Polynomial& p : list) hash = hash_combine(hash, p.hash());
      return hash;
    }
  };
  return std::visit(Hasher{}, value);
}

/// Attributes that depend on sizes. A runtime fuses whatever they are.
bool is_size(core::AttributeRole role) {
  using enum core::AttributeRole;
  return role == kShape || role == kStart || role == kExtent || role == kParts || role == kStride ||
         role == kDilation || role == kPad || role == kWindow || role == kGroup ||
         role == kBorder || role == kGap || role == kRatio;
}

/// What the node is, besides its sizes.
std::uint64_t kind_of(const Graph& graph, NodeId id) {
  const core::Node& node = graph.node(id);
  std::uint64_t hash = node.op->hash();
  for (const auto& [name, value] : node.attributes.values()) {
    const core::AttributeSchema* schema = node.op->find_attribute(name);
    if (schema == nullptr || !is_size(schema->role)) hash = hash_combine(hash, hash_of(value));
  }
  for (const TensorId output : node.outputs) {
    const core::TensorType& type = graph.tensor(output).type;
    hash = hash_combine(hash, static_cast<std::uint64_t>(type.data_type));
    hash = hash_combine(hash, type.shape.size());
  }
  return hash;
}

std::uint64_t type_hash(const core::TensorType& type) {
  std::uint64_t hash = static_cast<std::uint64_t>(type.data_type);
  for (const core::Size& size : type.shape) hash = hash_combine(hash, size.hash());
  return hash;
}

/// An operand from outside the kernel. `number`: of the tensor among those that vary.
std::array<std::uint64_t, kOperand> outside(const Graph& graph, TensorId id, std::uint64_t number) {
  const core::Tensor& tensor = graph.tensor(id);
  if (!graph.is_constant_expression(id)) return {kOutside, number, tensor.type.shape.size()};
  if (tensor.value && tensor.value->count() <= kMostNumbers)
    return {kNumbers, tensor.local_hash, 0};
  return {kWeight, tensor.type.shape.size(), 0};
}

/// Writes kernels down.
class Encoding {
 public:
  Encoding(const Graph& graph, std::span<const NodeId> nodes, const IsExported& is_exported)
      : graph_(graph), nodes_(nodes) {
    order_.push_back(nodes.back());
    for (std::size_t i = 0; i < order_.size(); ++i) {
      const core::Node& node = graph.node(order_[i]);
      const bool exported = i > 0 && is_exported && is_exported(order_[i]);
      code.insert(code.end(), {kind_of(graph, order_[i]), exported, node.inputs.size()});
      signature = hash_combine(signature, node.local_hash);
      for (const TensorId input : node.inputs) add(input);
    }
  }
  bool has_all() const { return order_.size() == nodes_.size(); }

  std::vector<std::uint64_t> code;
  std::uint64_t signature = 0;

 private:
  void add(TensorId id) {
    std::array<std::uint64_t, kOperand> words{kLeftOut, 0, 0};
    if (id.valid()) {
      const core::Tensor& tensor = graph_.tensor(id);
      if (std::ranges::find(nodes_, tensor.producer) != nodes_.end()) {
        words = {kInside, number_of(order_, tensor.producer), tensor.output_index};
      } else {
        const bool varies = !graph_.is_constant_expression(id);
        words = outside(graph_, id, varies ? number_of(outside_, id) : 0);
        signature = hash_combine(signature, type_hash(tensor.type));
      }
    }
    code.insert(code.end(), words.begin(), words.end());
    for (const std::uint64_t word : words) signature = hash_combine(signature, word);
  }

  template <class Id>
  static std::uint64_t number_of(std::vector<Id>& list, Id id) {
    const auto at = std::ranges::find(list, id);
    const auto number = static_cast<std::uint64_t>(at - list.begin());
    if (at == list.end()) list.push_back(id);
    return number;
  }

  const Graph& graph_;
  std::span<const NodeId> nodes_;
  std::vector<NodeId> order_;
  std::vector<TensorId> outside_;
};

/// Finds one pattern at one node.
class Match {
 public:
  Match(const Graph& graph, std::span<const std::uint64_t> code, const std::vector<bool>& taken)
      : graph_(graph), taken_(taken), code_(code) {}

  std::optional<std::vector<NodeId>> at(NodeId last) {
    nodes_.push_back(last);
    std::size_t read = 0;
    for (std::size_t i = 0; read < code_.size(); ++i) {
      if (i >= nodes_.size() || !node_fits(nodes_[i], read)) return std::nullopt;
    }
    if (!is_closed()) return std::nullopt;
    return nodes_;
  }

 private:
  bool node_fits(NodeId id, std::size_t& read) {
    const core::Node& node = graph_.node(id);
    if (code_[read] != kind_of(graph_, id) || code_[read + 2] != node.inputs.size()) return false;
    exported_.push_back(code_[read + 1] != 0);
    read += kHead;
    for (const TensorId input : node.inputs) {
      if (!operand_fits(input, code_.subspan(read, kOperand))) return false;
      read += kOperand;
    }
    return true;
  }

  bool operand_fits(TensorId id, std::span<const std::uint64_t> words) {
    if (!id.valid() || words[0] == kLeftOut) return !id.valid() && words[0] == kLeftOut;
    const core::Tensor& tensor = graph_.tensor(id);
    const bool varies = !graph_.is_constant_expression(id);
    if (words[0] == kInside) {
      if (!varies || !tensor.producer.valid() || tensor.output_index != words[2]) return false;
      return !taken_[tensor.producer.index()] && binds(nodes_, tensor.producer, words[1]);
    }
    if (varies && words[0] == kOutside && !binds(outside_, id, words[1])) return false;
    return std::ranges::equal(outside(graph_, id, words[1]), words);
  }

  template <class Id>
  static bool binds(std::vector<Id>& list, Id id, std::uint64_t number) {
    if (number < list.size()) return list[number] == id;
    if (number > list.size() || std::ranges::find(list, id) != list.end()) return false;
    list.push_back(id);
    return true;
  }

  /// Nobody else reads what is inside, unless the kernel hands it out.
  bool is_closed() const {
    for (std::size_t i = 1; i < nodes_.size(); ++i) {
      if (exported_[i]) continue;
      for (const TensorId output : graph_.node(nodes_[i]).outputs) {
        if (graph_.is_output(output)) return false;
        for (const NodeId reader : graph_.consumers(output))
          if (std::ranges::find(nodes_, reader) == nodes_.end()) return false;
      }
    }
    return true;
  }

  const Graph& graph_;
  const std::vector<bool>& taken_;
  std::span<const std::uint64_t> code_;
  std::vector<NodeId> nodes_;
  std::vector<bool> exported_;
  std::vector<TensorId> outside_;
};

/// False for texts that no pattern gives: each node's operands must be there, and all nodes.
bool is_code(std::span<const std::uint64_t> code) {
  std::size_t nodes = 0, known = 1, read = 0;
  for (; read < code.size(); ++nodes) {
    if (nodes >= known || code.size() - read < kHead) return false;
    const std::uint64_t operands = code[read + 2];
    read += kHead;
    if (operands > (code.size() - read) / kOperand) return false;
    for (std::uint64_t k = 0; k < operands; ++k, read += kOperand) {
      if (code[read] > kOutside || (code[read] == kInside && code[read + 1] > known)) return false;
      if (code[read] == kInside && code[read + 1] == known) ++known;
    }
  }
  return nodes == known && nodes > 1;
}

}  // namespace

std::uint64_t LearnedFusions::learn(const Graph& graph, std::span<const NodeId> nodes,
                                    const IsExported& is_exported) {
  CHECK(!nodes.empty(), "a kernel of no nodes");
  Encoding encoding(graph, nodes, is_exported);
  CHECK(encoding.has_all(), "nodes of a kernel that do not lead to the last one");
  if (nodes.size() > 1 && nodes.size() <= kMostNodes) add(std::move(encoding.code));
  return encoding.signature;
}

bool LearnedFusions::add(Code code) {
  std::vector<Code>& list = patterns_[code.front()];
  if (std::ranges::find(list, code) != list.end()) return false;
  const auto place =
      std::ranges::find_if(list, [&](const Code& other) { return other.size() < code.size(); });
  list.insert(place, std::move(code));
  ++count_;
  return true;
}

std::vector<KernelNodes> LearnedFusions::cover(const Graph& graph) const {
  std::vector<bool> taken(graph.node_bound());
  std::vector<std::size_t> place(graph.node_bound());
  for (std::size_t i = 0; i < graph.order().size(); ++i) place[graph.order()[i].index()] = i;
  std::vector<KernelNodes> kernels;
  for (std::size_t i = graph.order().size(); i-- > 0;) {
    const NodeId last = graph.order()[i];
    if (taken[last.index()] || graph.is_constant_expression(last)) continue;
    std::vector<NodeId> nodes{last};
    if (const auto known = patterns_.find(kind_of(graph, last)); known != patterns_.end()) {
      for (const Code& code : known->second) {
        if (auto found = Match(graph, code, taken).at(last)) {
          nodes = *std::move(found);
          break;
        }
      }
    }
    std::ranges::sort(nodes, {}, [&](NodeId id) { return place[id.index()]; });
    for (const NodeId id : nodes) taken[id.index()] = true;
    const std::uint64_t signature = Encoding(graph, nodes, {}).signature;
    kernels.push_back({std::move(nodes), signature});
  }
  std::ranges::reverse(kernels);
  return kernels;
}

std::vector<std::uint64_t> LearnedFusions::edges(const Graph& graph) {
  std::vector<std::uint64_t> kinds(graph.node_bound()), edges;
  for (const NodeId id : graph.order()) {
    if (graph.is_constant_expression(id)) continue;
    kinds[id.index()] = kind_of(graph, id);
    std::uint64_t fixed = 0;
    for (const TensorId input : graph.node(id).inputs)
      fixed = 2 * fixed + (input.valid() && graph.is_constant_expression(input) ? 1 : 0);
    for (const TensorId input : graph.node(id).inputs) {
      if (!input.valid() || graph.is_constant_expression(input)) continue;
      const NodeId producer = graph.tensor(input).producer;
      if (!producer.valid()) continue;
      const bool is_only = graph.consumers(input).size() == 1 && !graph.is_output(input);
      std::uint64_t hash = hash_combine(kinds[producer.index()], kinds[id.index()]);
      hash = hash_combine(hash, 2 * fixed + (is_only ? 1 : 0));
      edges.push_back(hash);
    }
  }
  return edges;
}

std::string LearnedFusions::to_text() const {
  std::vector<const Code*> all;
  for (const auto& [kind, list] : patterns_)
    for (const Code& code : list) all.push_back(&code);
  std::ranges::sort(all, [](const Code* a, const Code* b) { return *a < *b; });
  std::string text;
  for (const Code* code : all) text += fmt::format("{:x}\n", fmt::join(*code, " "));
  return text;
}

bool LearnedFusions::add_text(std::string_view text) {
  std::vector<Code> codes;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    Code code;
    for (const char *at = line.data(), *end = at + line.size(); at < end;) {
      const auto [next, error] = std::from_chars(at, end, code.emplace_back(), 16);
      if (error != std::errc() || (next < end && *next != ' ')) return false;
      at = next + 1;
    }
    if (!is_code(code)) return false;
    codes.push_back(std::move(code));
  }
  for (Code& code : codes) add(std::move(code));
  return true;
}

}  // namespace soapstone::jobs
