// See pairing.h. Opaque nodes are matched level by level: those of a level read results of lower
// ones alone, which have their new inputs by then, so that their operands can be computed.
#include "search/equivalence/pairing.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "core/base/hash.h"
#include "ops/definition/registry.h"
#include "runtime/execution/executor.h"
#include "search/equivalence/comparison.h"
#include "search/equivalence/sample_inputs.h"

namespace soapstone::search {
namespace {

using core::Graph;
using core::Node;
using core::NodeId;
using core::TensorId;

/// Operands of two nodes that are farther apart, as a share of their size, are not the same.
constexpr double kNear = 1e-3;

/// Opaque nodes, of either graph, that compute the same.
struct OpaqueClass {
  const Node* first = nullptr;
  std::vector<core::TensorType> types;  ///< Of the results.
  std::vector<std::uint64_t> made;      ///< How the operands are made.
  /// Values of the operands; nothing: not known.
  std::vector<std::optional<std::vector<double>>> values;
  std::array<std::vector<NodeId>, 2> members;  ///< By side.
};

/// One of the two graphs.
struct Side {
  explicit Side(const Graph& of)
      : graph(of), hangs(hang_on_unknown_shapes(of)), level(of.node_bound()),
        class_of(of.node_bound()), made(of.tensor_bound()) {
    for (const NodeId id : of.order()) {
      const Node& node = of.node(id);
      std::size_t height = 0;
      for (const TensorId input : node.inputs)
        if (input.valid() && of.tensor(input).producer.valid())
          height = std::max(height, level[of.tensor(input).producer.index()]);
      level[id.index()] = height + (ops::is_opaque(node) ? 1 : 0);
      levels = std::max(levels, level[id.index()]);
    }
  }

  bool is_at(NodeId id, std::size_t height) const {
    return ops::is_opaque(graph.node(id)) && level[id.index()] == height;
  }

  const Graph& graph;
  std::vector<bool> hangs;         ///< By tensor.
  std::vector<std::size_t> level;  ///< Of opaque nodes on the way, by node; it counts itself.
  std::size_t levels = 0;
  std::vector<std::size_t> class_of;  ///< By opaque node, once it is known.
  std::vector<std::uint64_t> made;    ///< By tensor: a hash of all that it is made of.
};

std::vector<core::TensorType> result_types(const Graph& graph, const Node& node) {
  std::vector<core::TensorType> types;
  for (const TensorId output : node.outputs) types.push_back(graph.tensor(output).type);
  return types;
}

/// The largest difference as a share of the size of the first.
double distance(const std::vector<double>& a, const std::vector<double>& b) {
  constexpr double kFar = std::numeric_limits<double>::infinity();
  if (a.size() != b.size()) return kFar;
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    if (!std::isfinite(a[i]) || !std::isfinite(b[i])) return kFar;
    most = std::max(most, std::abs(a[i] - b[i]));
  }
  const double size = size_of(a);
  return most == 0 ? 0 : size == 0 ? kFar : most / size;
}

class Pairing {
 public:
  Pairing(const Graph& a, const Graph& b, const OpaqueFacts& facts, runtime::Backend& backend,
          std::uint64_t seed)
      : facts_(facts), backend_(backend), seed_(seed), sides_{Side(a), Side(b)} {}

  core::Result<CutPair> run() {
    const std::size_t levels = std::max(sides_[0].levels, sides_[1].levels);
    for (std::size_t level = 1; level <= levels; ++level)
      SOAPSTONE_RETURN_IF_ERROR(match_level(level));
    for (Side& side : sides_) hash_up_to(side, levels);
    return cut();
  }

 private:
  /// Nodes of that level are known by their classes.
  void hash_up_to(Side& side, std::size_t level) const {
    const Graph& graph = side.graph;
    for (std::size_t k = 0; k < graph.inputs().size(); ++k)
      side.made[graph.inputs()[k].index()] = core::hash_combine(1, k);
    for (const NodeId id : graph.order()) {
      const Node& node = graph.node(id);
      if (side.level[id.index()] > level) continue;
      std::uint64_t hash = ops::is_opaque(node)
                               ? core::hash_combine(2, side.class_of[id.index()])
                               : core::hash_combine(node.op->hash(), node.attributes.hash());
      if (!ops::is_opaque(node))
        for (const TensorId input : node.inputs)
          hash = core::hash_combine(hash, made_of(side, input));
      for (std::size_t k = 0; k < node.outputs.size(); ++k)
        side.made[node.outputs[k].index()] = core::hash_combine(hash, k);
    }
  }

  static std::uint64_t made_of(const Side& side, TensorId id) {
    if (!id.valid()) return 3;
    const core::Tensor& tensor = side.graph.tensor(id);
    return tensor.value ? tensor.value->hash() : side.made[id.index()];
  }

  /// The new inputs of all classes, in the same order in both graphs.
  void add_surrogates(const Side& side, core::GraphBuilder& builder) const {
    std::vector<std::vector<TensorId>> inputs(classes_.size());
    for (std::size_t c = 0; c < classes_.size(); ++c) {
      for (const core::TensorType& type : classes_[c].types)
        inputs[c].push_back(
            type.shape_known
                ? builder.add_input(fmt::format("result of {}", classes_[c].first->name), type)
                : TensorId());
    }
    for (const NodeId id : side.graph.order()) {
      const Node& node = side.graph.node(id);
      if (!ops::is_opaque(node) || side.level[id.index()] > matched_) continue;
      const auto& results = inputs[side.class_of[id.index()]];
      for (std::size_t k = 0; k < node.outputs.size(); ++k)
        if (results[k].valid()) builder.replace_uses(node.outputs[k], results[k]);
    }
  }

  core::Result<Graph> graph_with(const Side& side, std::vector<TensorId> outputs) const {
    core::GraphBuilder builder(side.graph);
    builder.set_outputs(std::move(outputs));  // replace_uses redirects them, too
    add_surrogates(side, builder);
    return std::move(builder).finish();
  }

  /// The values of tensors on one input, the same one for both sides; empty: it cannot be run.
  std::vector<std::vector<double>> values_of_tensors(const Side& side,
                                                     const std::vector<TensorId>& tensors) {
    if (tensors.empty()) return {};
    const auto graph = graph_with(side, tensors);
    if (!graph) return {};
    auto executable = runtime::Executable::make(
        *graph, backend_, {.fusion = runtime::Fusion::kNone, .hold_shared_weights = false});
    if (!executable) return {};
    if (inputs_.empty()) inputs_ = sample_inputs(*graph, SampleKind::kNormal, seed_);
    for (int attempt = 0; attempt <= kPlainAttempts; ++attempt) {
      const auto results =
          executable->run(attempt == 0 ? inputs_ : with_plain_integers(*graph, inputs_, attempt));
      if (results) return to_doubles(*results);
    }
    return {};
  }

  core::Status match_level(std::size_t level) {
    inputs_.clear();
    const std::size_t first_new = classes_.size();
    matched_ = level - 1;
    // Classes of this level have no inputs while its operands are computed.
    std::vector<OpaqueClass> found;
    for (std::size_t s = 0; s < 2; ++s) {
      Side& side = sides_[s];
      hash_up_to(side, level - 1);
      std::vector<TensorId> tensors;
      for (const NodeId id : side.graph.order())
        if (side.is_at(id, level))
          for (const TensorId input : side.graph.node(id).inputs)
            if (is_comparable(side, input)) tensors.push_back(input);
      const auto values = values_of_tensors(side, tensors);
      std::size_t next = 0;
      for (const NodeId id : side.graph.order()) {
        if (!side.is_at(id, level)) continue;
        OpaqueClass single = class_of_one(side, id);
        for (const TensorId input : side.graph.node(id).inputs) {
          const bool is_known = is_comparable(side, input) && next < values.size();
          single.values.push_back(is_known ? std::optional(values[next]) : std::nullopt);
          next += is_comparable(side, input) ? 1 : 0;
        }
        side.class_of[id.index()] = first_new + join(found, std::move(single), s, id);
      }
    }
    for (OpaqueClass& one : found) classes_.push_back(std::move(one));
    matched_ = level;
    return core::Done{};
  }

  static bool is_comparable(const Side& side, TensorId id) {
    if (!id.valid() || side.hangs[id.index()]) return false;
    const core::TensorType& type = side.graph.tensor(id).type;
    return type.shape_known && core::size_bytes(type.data_type) > 0;
  }

  static OpaqueClass class_of_one(const Side& side, NodeId id) {
    const Node& node = side.graph.node(id);
    OpaqueClass one{&node, result_types(side.graph, node), {}, {}, {}};
    for (const TensorId input : node.inputs) one.made.push_back(made_of(side, input));
    return one;
  }

  /// How far the operands are apart, if the two may be one function at all.
  std::optional<double> distance_of(const OpaqueClass& known, const OpaqueClass& one,
                                    std::size_t side) const {
    if (!(known.first->attributes == one.first->attributes) || known.types != one.types ||
        known.made.size() != one.made.size() || !facts_.means_the_same(*one.first))
      return std::nullopt;
    if (!known.members[side].empty() && !facts_.is_repeatable(*one.first)) return std::nullopt;
    double most = 0;
    for (std::size_t k = 0; k < known.made.size(); ++k) {
      if (known.made[k] == one.made[k]) continue;
      if (!known.values[k] || !one.values[k]) return std::nullopt;
      most = std::max(most, distance(*known.values[k], *one.values[k]));
    }
    return most <= kNear ? std::optional(most) : std::nullopt;
  }

  /// The number of the nearest class, which the node joins, or of a new one.
  std::size_t join(std::vector<OpaqueClass>& found, OpaqueClass single, std::size_t side,
                   NodeId id) const {
    std::size_t nearest = found.size();
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t c = 0; c < found.size(); ++c) {
      const auto apart = distance_of(found[c], single, side);
      if (!apart || *apart >= least) continue;
      least = *apart;
      nearest = c;
    }
    if (nearest == found.size()) found.push_back(std::move(single));
    found[nearest].members[side].push_back(id);
    return nearest;
  }

  /// Outputs of both graphs that are to be compared.
  struct Compared {
    std::array<std::vector<TensorId>, 2> tensors;
    std::vector<std::string> names;
    int left_out = 0;

    void add(const Side& a, TensorId x, const Side& b, TensorId y, std::string name) {
      const bool is_same = made_of(a, x) == made_of(b, y);
      if (a.hangs[x.index()] || b.hangs[y.index()]) {
        left_out += is_same ? 0 : 1;
        return;
      }
      tensors[0].push_back(x);
      tensors[1].push_back(y);
      names.push_back(std::move(name));
    }
  };

  void add_operands(const OpaqueClass& one, Compared& compared) const {
    const auto& [in_a, in_b] = one.members;
    if (in_a.empty() || in_b.empty()) return;
    for (std::size_t k = 0; k < std::max(in_a.size(), in_b.size()); ++k) {
      const Node& x = sides_[0].graph.node(in_a[std::min(k, in_a.size() - 1)]);
      const Node& y = sides_[1].graph.node(in_b[std::min(k, in_b.size() - 1)]);
      for (std::size_t i = 0; i < x.inputs.size(); ++i) {
        // Operands that are made alike from the same inputs are the same.
        if (made_of(sides_[0], x.inputs[i]) == made_of(sides_[1], y.inputs[i])) continue;
        compared.add(sides_[0], x.inputs[i], sides_[1], y.inputs[i],
                     fmt::format("operand of {}", x.name));
      }
    }
  }

  static std::vector<bool> behind_surrogates(const Graph& cut, std::size_t own_inputs) {
    std::vector<bool> behind(cut.tensor_bound());
    for (std::size_t k = own_inputs; k < cut.inputs().size(); ++k)
      behind[cut.inputs()[k].index()] = true;
    for (const NodeId id : cut.order()) {
      const Node& node = cut.node(id);
      const bool is_behind = std::ranges::any_of(
          node.inputs, [&](TensorId input) { return input.valid() && behind[input.index()]; });
      for (const TensorId output : node.outputs) behind[output.index()] = is_behind;
    }
    return behind;
  }

  core::Result<CutPair> cut() {
    const auto a_outputs = sides_[0].graph.outputs(), b_outputs = sides_[1].graph.outputs();
    Compared compared;
    for (std::size_t k = 0; k < a_outputs.size(); ++k)
      compared.add(sides_[0], a_outputs[k], sides_[1], b_outputs[k],
                   sides_[0].graph.tensor(a_outputs[k]).name);
    const std::size_t plain = compared.names.size();
    for (const OpaqueClass& one : classes_) add_operands(one, compared);
    CutPair pair{{sides_[0].graph, compared.names, 0, compared.left_out},
                 {sides_[1].graph, compared.names, 0, compared.left_out},
                 {},
                 {},
                 {}};
    for (const OpaqueClass& one : classes_) {
      pair.a.cut_nodes += static_cast<int>(one.members[0].size());
      pair.b.cut_nodes += static_cast<int>(one.members[1].size());
      if (one.members[0].empty() || one.members[1].empty())
        pair.unmatched.push_back(fmt::format(
            "{} of node '{}'", one.first->attributes.get_text("op_type"), one.first->name));
    }
    SOAPSTONE_ASSIGN_OR_RETURN(pair.a.graph, graph_with(sides_[0], compared.tensors[0]));
    SOAPSTONE_ASSIGN_OR_RETURN(pair.b.graph, graph_with(sides_[1], compared.tensors[1]));
    const auto in_a = behind_surrogates(pair.a.graph, sides_[0].graph.inputs().size());
    const auto in_b = behind_surrogates(pair.b.graph, sides_[1].graph.inputs().size());
    for (std::size_t k = 0; k < compared.names.size(); ++k) {
      pair.is_operand.push_back(k >= plain);
      pair.is_behind.push_back(in_a[pair.a.graph.outputs()[k].index()] ||
                               in_b[pair.b.graph.outputs()[k].index()]);
    }
    return pair;
  }

  const OpaqueFacts& facts_;
  runtime::Backend& backend_;
  std::uint64_t seed_;
  std::array<Side, 2> sides_;
  std::vector<OpaqueClass> classes_;
  std::size_t matched_ = 0;            ///< Levels of which the classes are known.
  std::vector<core::Literal> inputs_;  ///< Of this level.
};

}  // namespace

core::Result<CutPair> cut_pair(const Graph& a, const Graph& b, const OpaqueFacts& facts,
                               runtime::Backend& backend, std::uint64_t seed) {
  return Pairing(a, b, facts, backend, seed).run();
}

}  // namespace soapstone::search
