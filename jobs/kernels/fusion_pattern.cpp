// See fusion_pattern.h. Writing a pattern down and finding it again are the same walk.
#include "jobs/kernels/fusion_pattern.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>
#include <variant>

#include "core/base/hash.h"

namespace soapstone::jobs {

using core::Graph;
using core::hash_combine;
using core::NodeId;
using core::TensorId;

namespace {

/// Constants of more elements are weights, whose values decide nothing.
constexpr std::int64_t kMostNumbers = 16;
/// Words in front of the operands of a node, and words of an operand.
constexpr std::size_t kHead = 3, kOperand = 3;
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

}  // namespace

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

EncodedKernel encode_kernel_nodes(const Graph& graph, std::span<const NodeId> nodes,
                                  const IsExported& is_exported) {
  Encoding encoding(graph, nodes, is_exported);
  return {std::move(encoding.code), encoding.signature, encoding.has_all()};
}

std::optional<std::vector<NodeId>> match_pattern(const Graph& graph,
                                                 std::span<const std::uint64_t> code,
                                                 const std::vector<bool>& taken, NodeId last) {
  return Match(graph, code, taken).at(last);
}

bool is_pattern(std::span<const std::uint64_t> code) {
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

}  // namespace soapstone::jobs
