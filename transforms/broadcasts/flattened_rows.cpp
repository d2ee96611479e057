#include "transforms/broadcasts/flattened_rows.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "ops/definition/by_role.h"
#include "ops/definition/registry.h"
#include "transforms/views/contraction_labels.h"
#include "transforms/views/dimension_groups.h"
#include "transforms/views/side_text.h"

namespace soapstone::transforms {
namespace {

using core::AttributeRole;
using core::Graph;
using core::Movement;
using core::Node;
using core::NodeId;
using core::OperandRole;
using core::TensorId;

/// Operators between what repeats or chooses rows and the reshape.
constexpr int kFarthestRepetition = 4;
/// Operators behind the reshape.
constexpr std::size_t kMostRowSteps = 24;

constexpr std::string_view kRowsDescription =
    "What is done to each row of a reshaped tensor is done to the tensor itself.";

class FlattenedRows {
 public:
  explicit FlattenedRows(const Graph& graph) : graph_(graph) {}

  std::vector<RewriteSequence> run() {
    for (const NodeId id : graph_.order()) {
      const Node& node = graph_.node(id);
      if (node.op->movement != Movement::kReshape || graph_.is_constant_expression(id) ||
          !has_known_sizes(graph_, node) ||
          (reshapes_of(node.inputs[0]) < 2 && !has_repetition(node.inputs[0], kFarthestRepetition)))
        continue;
      from_ = shape(node.inputs[0]);
      to_ = shape(node.outputs[0]);
      if (from_.empty() || to_.empty() || from_.back() != to_.back()) continue;
      from_.pop_back();
      to_.pop_back();
      RewriteSequence plan;
      follow(node.outputs[0], plan);
      if (!plan.steps.empty()) found_.push_back(std::move(plan));
    }
    return std::move(found_);
  }

 private:
  Sizes shape(TensorId id) const { return known_sizes(graph_.tensor(id).type.shape); }

  bool has_repetition(TensorId id, int distance) const {
    const NodeId producer = graph_.tensor(id).producer;
    if (!producer.valid() || graph_.is_constant_expression(id)) return false;
    const Node& node = graph_.node(producer);
    if (node.op->is_opaque()) return false;
    if (node.op->movement == Movement::kRepeat || node.op->movement == Movement::kSelect)
      return true;
    const bool keeps_rows = node.op->movement == Movement::kJoin ||
                            ops::definition_of(node)->op_class == ops::OpClass::kElementwise;
    return distance > 0 && keeps_rows && std::ranges::any_of(node.inputs, [&](TensorId input) {
             return has_repetition(input, distance - 1);
           });
  }

  std::size_t reshapes_of(TensorId id) const {
    const auto readers = graph_.consumers(id);
    return static_cast<std::size_t>(std::ranges::count_if(readers, [&](NodeId reader) {
      return graph_.node(reader).op->movement == Movement::kReshape;
    }));
  }

  /// Steps for what reads the flat tensor alone, and so on.
  void follow(TensorId flat, RewriteSequence& plan) {
    if (graph_.is_output(flat) || graph_.consumers(flat).size() != 1 ||
        plan.steps.size() == kMostRowSteps)
      return;
    const Node& node = graph_.node(graph_.consumers(flat)[0]);
    if (!has_known_sizes(graph_, node)) return;
    if (node.op->movement == Movement::kReshape) return follow_reshape(node, flat, plan);
    if (node.op->find_role(AttributeRole::kKeepsRank) != nullptr)
      return end_in_reduction(node, flat, plan);
    if (!is_done_to_rows(node, flat)) return;
    add_step(node, texts(node, flat), plan);
    follow(node.outputs[0], plan);
  }

  void follow_reshape(const Node& node, TensorId flat, RewriteSequence& plan) {
    Sizes after = shape(node.outputs[0]);
    if (after.empty() || after.back() != shape(flat).back()) return;
    SideText source, target;
    const auto [head, reshaped] = begin(source, flat);
    const std::string y = source.line(call_of(graph_, node, {reshaped}));
    const std::string t = target.reshaped("x", names_of(whole(from_, flat)), names_of(after));
    add_step(node,
             {rule_text(fmt::format("{}{}", kRowsPrefix, node.op->name), head, source, {y}, target,
                        {t})},
             plan);
    after.pop_back();
    to_ = std::move(after);
    follow(node.outputs[0], plan);
  }

  /// Reductions over all of some of the dimensions that the reshape keeps or puts together.
  void end_in_reduction(const Node& node, TensorId flat, RewriteSequence& plan) const {
    if (node.inputs.size() != 1 || node.outputs.size() != 1) return;
    const auto& reduced = ops::sizes_by_role(node, AttributeRole::kAxes);
    std::vector<std::size_t> axes;
    std::size_t found = 0;
    for (const DimensionGroup& group : dimension_groups(from_, to_)) {
      const auto count =
          static_cast<std::size_t>(std::ranges::count_if(reduced, [&](const core::Polynomial& d) {
            return group.to.contains(static_cast<std::size_t>(d.constant()));
          }));
      if (count == 0) continue;
      if (count != group.to.count()) return;
      found += count;
      for (std::size_t d = group.from.first; d < group.from.end; ++d) axes.push_back(d);
    }
    if (found != reduced.size()) return;
    SideText source, target;
    const auto [head, reshaped] = begin(source, flat);
    const std::string y = source.line(call_of(graph_, node, {reshaped}));
    std::string t = "x";
    const auto name_of = [&](AttributeRole role) { return node.op->find_role(role)->name; };
    if (!axes.empty())
      t = target.line(fmt::format("{}(x; {}=[{}], {}=0)", node.op->name,
                                  name_of(AttributeRole::kAxes), fmt::join(axes, ", "),
                                  name_of(AttributeRole::kKeepsRank)));
    Sizes left;
    const Sizes all = whole(from_, flat);
    for (std::size_t d = 0; d < all.size(); ++d)
      if (std::ranges::find(axes, d) == axes.end()) left.push_back(all[d]);
    t = target.reshaped(t, names_of(left), names_of(shape(node.outputs[0])));
    add_step(node,
             {rule_text(fmt::format("{}{}", kRowsPrefix, node.op->name), head, source, {y}, target,
                        {t})},
             plan, FloatBehavior::kReassociates);
  }

  /// With the dimension that the reshape keeps.
  Sizes whole(Sizes rows, TensorId flat) const {
    rows.push_back(shape(flat).back());
    return rows;
  }
  /// The head of a rule, and the flat tensor in it.
  std::pair<std::string, std::string> begin(SideText& source, TensorId flat) const {
    const Names from = names_of(whole(from_, flat));
    return {fmt::format("  x: {}\n", declared(graph_.tensor(flat).type, from)),
            source.reshaped("x", from, names_of(whole(to_, flat)))};
  }
  static void add_step(const Node& node, std::vector<std::string> texts, RewriteSequence& plan,
                       FloatBehavior floats = FloatBehavior::kExact) {
    plan.steps.push_back({.results = node.outputs,
                          .texts = std::move(texts),
                          .description = kRowsDescription,
                          .floats = floats});
  }

  /// A product by a matrix, a function, or a combination with a row or a number.
  bool is_done_to_rows(const Node& node, TensorId flat) const {
    if (node.outputs.size() != 1 || std::ranges::count(node.inputs, flat) != 1) return false;
    const auto rank_of = [&](TensorId id) { return graph_.tensor(id).type.shape.size(); };
    if (node.op->operand_role(0) == OperandRole::kLeftMatrix)
      return node.inputs.size() == 2 && node.inputs[0] == flat && rank_of(node.inputs[1]) == 2 &&
             rank_of(flat) >= 2;
    if (ops::definition_of(node)->op_class != ops::OpClass::kElementwise ||
        shape(node.outputs[0]) != shape(flat))
      return false;
    return std::ranges::all_of(node.inputs,
                               [&](TensorId id) { return id == flat || rank_of(id) <= 1; });
  }

  /// For any sizes if the rows are said by symbols, and for those of the graph.
  std::vector<std::string> texts(const Node& node, TensorId flat) const {
    std::vector<std::string> all;
    if (const auto symbols = symbols_of(from_, to_))
      all.push_back(text(node, flat, *symbols, true));
    all.push_back(text(node, flat, {names_of(from_), names_of(to_)}, false));
    return all;
  }

  /// Of the dimensions before the reshape and behind it, if each dimension on one side is a product
  /// of dimensions on the other.
  static std::optional<std::pair<Names, Names>> symbols_of(const Sizes& from, const Sizes& to) {
    std::pair<Names, Names> names;
    std::size_t count = 0;
    for (const DimensionGroup& group : dimension_groups(from, to)) {
      const std::size_t before = group.from.count(), behind = group.to.count();
      if (std::min(before, behind) > 1) return std::nullopt;
      Names parts;
      const bool are_ones = std::min(before, behind) == 0;  // on one side only
      while (parts.size() < std::max(before, behind))
        parts.push_back(are_ones ? "1" : fmt::format("m{}", count++));
      const Names product{fmt::format("{}", fmt::join(parts, "*"))};
      const auto append = [&](Names& side, std::size_t dims) {
        const Names& its = dims == parts.size() ? parts : product;
        if (dims > 0) side.insert(side.end(), its.begin(), its.end());
      };
      append(names.first, before);
      append(names.second, behind);
    }
    return names;
  }

  /// `rows`: their dimensions before the reshape, and behind it.
  std::string text(const Node& node, TensorId flat, const std::pair<Names, Names>& rows,
                   bool any_columns) const {
    const auto size = [&](std::int64_t n) {
      return any_columns && n != 1 ? fmt::format("d{}", n) : fmt::format("{}", n);
    };
    const auto sizes = [&](TensorId id) {
      Names all;
      for (const std::int64_t n : shape(id)) all.push_back(size(n));
      return all;
    };
    const auto with = [&](Names dims, TensorId last) {
      dims.push_back(size(shape(last).back()));
      return dims;
    };
    const auto& [from, to] = rows;
    std::string head =
        fmt::format("  x: {}\n", declared(graph_.tensor(flat).type, with(from, flat)));
    SideText source, target;
    Names given, moved;
    for (const TensorId id : node.inputs) {
      if (id == flat) {
        given.push_back(source.reshaped("x", with(from, flat), with(to, flat)));
        moved.emplace_back("x");
        continue;
      }
      const std::string name = fmt::format("c{}", given.size());
      head += fmt::format("  {}: {}\n", name, declared(graph_.tensor(id).type, sizes(id)));
      given.push_back(name);
      moved.push_back(name);
    }
    const TensorId result = node.outputs[0];
    const std::string y = source.line(call_of(graph_, node, given));
    const std::string t = target.line(call_of(graph_, node, moved));
    return rule_text(fmt::format("{}{}", kRowsPrefix, node.op->name), head, source, {y}, target,
                     {target.reshaped(t, with(from, result), with(to, result))});
  }

  const Graph& graph_;
  Sizes from_, to_;  ///< Of all dimensions but the last, before the reshape and behind it.
  std::vector<RewriteSequence> found_;
};

}  // namespace

std::vector<RewriteSequence> find_flattened_rows(const Graph& graph) {
  return FlattenedRows(graph).run();
}

}  // namespace soapstone::transforms
