// See resized_rule.h. The source is read off the graph; the target is built operator by operator,
// and each list of sizes in it is chosen so that it has a type.
#include "search/proofs/resized_rule.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <variant>

#include "ops/definition/registry.h"
#include "rules/checking/complete.h"
#include "rules/checking/counterexample.h"
#include "search/equivalence/double_precision.h"

namespace soapstone::search {
namespace {

using core::AttributeValue;
using core::Graph;
using core::GraphBuilder;
using core::NodeId;
using core::Polynomial;
using core::TensorId;
using rules::Rule;

using Sizes = std::vector<Polynomial>;

/// Ways that are tried for one list of sizes, for one target, and that are returned.
constexpr std::size_t kMostLists = 256, kMostTried = 3000, kMostRules = 4;
/// A try with numbers takes a second at most.
constexpr double kMostWork = 1e7;

/// Whether numbers with that role grow with the sizes of tensors.
bool is_size(core::AttributeRole role) {
  switch (role) {
  case core::AttributeRole::kShape:
  case core::AttributeRole::kStart:
  case core::AttributeRole::kExtent:
  case core::AttributeRole::kParts:
  case core::AttributeRole::kBorder:
    return true;
  default:
    return false;
  }
}

/// What sizes of the rule are at the other sizes. A number may be several.
class NewSizes {
 public:
  void note(const Polynomial& before, const Polynomial& now) {
    auto& known = all_[before];
    if (std::ranges::find(known, now) == known.end()) known.push_back(now);
  }
  void note(const Sizes& before, const Sizes& now) {
    for (std::size_t d = 0; d < std::min(before.size(), now.size()); ++d) note(before[d], now[d]);
  }

  /// The likeliest first: what it is somewhere, a product of such sizes, itself.
  Sizes of(const Polynomial& before) const {
    Sizes now;
    const auto add = [&](const Polynomial& size) {
      if (std::ranges::find(now, size) == now.end()) now.push_back(size);
    };
    if (const auto known = all_.find(before); known != all_.end())
      std::ranges::for_each(known->second, add);
    if (before.is_constant() && before.constant() > 1) add_products(before.constant(), add);
    if (before.is_constant()) add(before);
    return now;
  }

 private:
  template <class Add>
  void add_products(std::int64_t product, const Add& add) const {
    for (const auto& [one, its] : all_) {
      if (!one.is_constant() || one.constant() < 2 || product % one.constant() != 0) continue;
      const std::int64_t rest = product / one.constant();
      const auto other = all_.find(Polynomial(rest));
      for (const Polynomial& factor : its) {
        add(factor * Polynomial(rest));
        if (other == all_.end()) continue;
        for (const Polynomial& second : other->second) add(factor * second);
      }
    }
  }

  std::map<Polynomial, Sizes> all_;
};

/// The lists that these sizes may be, the likeliest first.
std::vector<Sizes> lists_of(const Sizes& before, const NewSizes& sizes) {
  std::vector<Sizes> lists{{}};
  for (const Polynomial& size : before) {
    std::vector<Sizes> longer;
    for (const Sizes& list : lists) {
      for (const Polynomial& now : sizes.of(size)) {
        if (longer.size() == kMostLists) break;
        longer.push_back(list);
        longer.back().push_back(now);
      }
    }
    lists = std::move(longer);
  }
  return lists;
}

/// Both sides at other sizes.
class Resizing {
 public:
  Resizing(const Rule& rule, const Graph& graph) : rule_(rule), graph_(graph) {}

  std::vector<Rule> run(std::span<const NodeId> nodes, std::span<const TensorId> inputs) {
    const Graph& source = rule_.source;
    if (nodes.size() != source.order().size() || inputs.size() != source.inputs().size() ||
        !rule_.parameters.empty())
      return {};
    std::vector<TensorId> mine(source.tensor_bound());
    for (std::size_t k = 0; k < inputs.size(); ++k)
      if (!take_input(source.inputs()[k], inputs[k], mine)) return {};
    for (std::size_t k = 0; k < nodes.size(); ++k)
      if (!take_node(source.order()[k], nodes[k], mine)) return {};
    std::vector<TensorId> outputs;
    for (const TensorId id : source.outputs()) outputs.push_back(mine[id.index()]);
    source_builder_.set_outputs(outputs);
    for (const TensorId id : outputs) wanted_.push_back(source_builder_.tensor(id).type);
    auto made = std::move(source_builder_).finish();
    if (!made) return {};
    source_ = *std::move(made);
    build_target();
    drop_wrong();
    return std::move(found_);
  }

 private:
  core::TensorType type_of(TensorId pattern, TensorId there) const {
    core::TensorType type = graph_.tensor(there).type;
    if (core::is_floating(type.data_type))
      type.data_type = rule_.source.tensor(pattern).type.data_type;
    return type;
  }

  bool take_input(TensorId pattern, TensorId there, std::vector<TensorId>& mine) {
    if (!there.valid() || !graph_.contains(there)) return false;
    const core::Tensor& before = rule_.source.tensor(pattern);
    const core::TensorType type = type_of(pattern, there);
    if (type.shape.size() != before.type.shape.size()) return false;
    mine[pattern.index()] = source_builder_.add_input(before.name, type);
    inputs_.push_back({before.name, type});
    sizes_.note(before.type.shape, type.shape);
    return true;
  }

  bool take_node(NodeId pattern, NodeId there, std::vector<TensorId>& mine) {
    if (!there.valid() || !graph_.contains(there)) return false;
    const core::Node &before = rule_.source.node(pattern), &now = graph_.node(there);
    if (before.op != now.op || now.op->is_opaque() || before.inputs.size() != now.inputs.size() ||
        !note_attributes(before, now))
      return false;
    std::vector<TensorId> operands;
    for (const TensorId id : before.inputs) {
      TensorId operand = id.valid() ? mine[id.index()] : id;
      if (id.valid() && !operand.valid())
        operand = source_builder_.add_constant(rule_.source.tensor(id).value);
      operands.push_back(operand);
    }
    auto results = append(source_builder_, *now.op, now.attributes, std::move(operands));
    if (!results || results->size() != before.outputs.size()) return false;
    for (std::size_t k = 0; k < results->size(); ++k) {
      mine[before.outputs[k].index()] = (*results)[k];
      sizes_.note(rule_.source.tensor(before.outputs[k]).type.shape,
                  source_builder_.tensor((*results)[k]).type.shape);
    }
    return true;
  }

  bool note_attributes(const core::Node& before, const core::Node& now) {
    for (const core::AttributeSchema& schema : before.op->attributes) {
      const auto* const was = std::get_if<Sizes>(before.attributes.find(schema.name));
      const auto* const is = std::get_if<Sizes>(now.attributes.find(schema.name));
      if (was == nullptr || is == nullptr) continue;
      if (was->size() != is->size()) return false;
      if (is_size(schema.role)) sizes_.note(*was, *is);
    }
    return true;
  }

  static std::optional<std::vector<TensorId>> append(GraphBuilder& builder,
                                                     const core::OpSchema& op,
                                                     const core::Attributes& attributes,
                                                     std::vector<TensorId> operands) {
    std::vector<core::TensorType> types;
    for (const TensorId id : operands)
      types.push_back(id.valid() ? builder.tensor(id).type
                                 : core::TensorType{core::DataType::kOther, {}, false});
    auto results = ops::infer_types(op, attributes, types);
    if (!results) return std::nullopt;
    return builder.add_node(op, attributes, std::move(operands), *std::move(results));
  }

  // --- The target ----------------------------------------------------------------------------

  void build_target() {
    GraphBuilder builder;
    std::vector<TensorId> mine(rule_.target.tensor_bound());
    for (std::size_t k = 0; k < inputs_.size(); ++k)
      mine[rule_.target.inputs()[k].index()] =
          builder.add_input(inputs_[k].first, inputs_[k].second);
    extend(builder, mine, 0);
  }

  bool is_done() const { return found_.size() == kMostRules || tried_ >= kMostTried; }

  /// Appends the target's nodes from number k on in all ways.
  void extend(const GraphBuilder& before, const std::vector<TensorId>& known, std::size_t k) {
    if (k == rule_.target.order().size()) return keep(before, known);
    const core::Node& node = rule_.target.node(rule_.target.order()[k]);
    for (const core::Attributes& attributes : ways(node)) {
      if (is_done()) return;
      ++tried_;
      GraphBuilder builder = before;
      std::vector<TensorId> mine = known;
      std::vector<TensorId> operands;
      for (const TensorId id : node.inputs) operands.push_back(own(id, builder, mine));
      const auto results = append(builder, *node.op, attributes, std::move(operands));
      if (!results || results->size() != node.outputs.size()) continue;
      for (std::size_t r = 0; r < results->size(); ++r)
        mine[node.outputs[r].index()] = (*results)[r];
      if (may_end(builder, mine)) extend(builder, mine, k + 1);
    }
  }

  TensorId own(TensorId id, GraphBuilder& builder, std::vector<TensorId>& mine) const {
    if (!id.valid()) return id;
    TensorId& known = mine[id.index()];
    if (!known.valid()) known = builder.add_constant(rule_.target.tensor(id).value);
    return known;
  }

  /// Attributes of the node with lists of sizes as they may be.
  std::vector<core::Attributes> ways(const core::Node& node) const {
    std::vector<core::Attributes> all{node.attributes};
    for (const core::AttributeSchema& schema : node.op->attributes) {
      const auto* const list = std::get_if<Sizes>(node.attributes.find(schema.name));
      if (list == nullptr || !is_size(schema.role)) continue;
      std::vector<core::Attributes> more;
      for (const core::Attributes& attributes : all) {
        for (Sizes& sizes : lists_of(*list, sizes_)) {
          if (more.size() == kMostLists) break;
          more.push_back(attributes);
          more.back().set(schema.name, AttributeValue(std::move(sizes)));
        }
      }
      all = std::move(more);
    }
    return all;
  }

  /// Whether the results that are there have the types of those of the source.
  bool may_end(const GraphBuilder& builder, const std::vector<TensorId>& mine) const {
    for (std::size_t k = 0; k < wanted_.size(); ++k) {
      const TensorId id = mine[rule_.target.outputs()[k].index()];
      if (id.valid() && builder.tensor(id).type != wanted_[k]) return false;
    }
    return true;
  }

  void keep(GraphBuilder builder, std::vector<TensorId> mine) {
    std::vector<TensorId> outputs;
    for (const TensorId id : rule_.target.outputs()) outputs.push_back(own(id, builder, mine));
    builder.set_outputs(std::move(outputs));
    auto target = std::move(builder).finish();
    if (!target) return;
    Rule rule;
    rule.name = rule.base_name = rule_.base_name;
    rule.description = rule_.description;
    rule.source = source_;
    rule.target = *std::move(target);
    rule.constant_inputs = rule_.constant_inputs;
    rule.floats = rule_.floats;
    rule.is_placed = true;
    auto whole = rules::complete(std::move(rule), nullptr, rules::Purpose::kProof);
    if (whole) found_.push_back(*std::move(whole));
  }

  /// Of several ways, those that numbers do not refute.
  void drop_wrong() {
    constexpr std::uint64_t kSeed = 1;
    if (found_.size() < 2 || reference_work(source_) > kMostWork) return;
    std::erase_if(found_, [](const Rule& rule) {
      const auto wrong = rules::find_counterexample(rule, 1, kSeed);
      return wrong && wrong->has_value();
    });
  }

  const Rule& rule_;
  const Graph& graph_;
  GraphBuilder source_builder_;
  Graph source_;
  std::vector<std::pair<std::string, core::TensorType>> inputs_;
  std::vector<core::TensorType> wanted_;  // the types of the results
  NewSizes sizes_;
  std::vector<Rule> found_;
  std::size_t tried_ = 0;
};

}  // namespace

std::vector<Rule> resized(const Rule& rule, const Graph& graph, std::span<const NodeId> nodes,
                          std::span<const TensorId> inputs) {
  return Resizing(rule, graph).run(nodes, inputs);
}

}  // namespace soapstone::search
