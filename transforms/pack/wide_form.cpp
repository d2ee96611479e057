// Which form an operator has for blocks: read off its comprehension (kept_axis) and the roles of
// its operands.
#include <algorithm>

#include "ops/definition/by_role.h"
#include "ops/definition/op_definition.h"
#include "ops/definition/registry.h"
#include "transforms/affine/linearity.h"
#include "transforms/pack/wide_operator.h"

namespace soapstone::transforms {
namespace {

using core::AttributeRole;
using core::Graph;
using core::Node;
using core::OperandRole;
using core::Polynomial;
using core::Shape;
using Kind = WideOperand::Kind;
using Tensors = std::vector<core::TensorId>;
using Places = std::vector<std::optional<std::size_t>>;

/// Of a weight that is mostly zeros.
constexpr std::int64_t kMostBlockElements = 1 << 22;

/// Equal in all but the sizes along that axis.
bool are_alike(const Graph& graph, const Tensors& tensors, std::optional<std::size_t> axis) {
  const core::TensorType& first = graph.tensor(tensors[0]).type;
  return std::ranges::all_of(tensors, [&](core::TensorId id) {
    const core::TensorType& type = graph.tensor(id).type;
    if (type.data_type != first.data_type || type.shape.size() != first.shape.size()) return false;
    for (std::size_t d = 0; d < type.shape.size(); ++d)
      if (d != axis && type.shape[d] != first.shape[d]) return false;
    return true;
  });
}

class FormFinder {
 public:
  FormFinder(const Graph& graph, const Row& results, const Row* split)
      : graph_(graph), results_(results), split_(split) {}

  std::optional<WideForm> find() {
    if (auto form = summed()) return form;
    if (count() == 1) return std::nullopt;
    return first().op->movement == core::Movement::kReshape ? reshaped() : side_by_side();
  }

 private:
  const Node& sibling(std::size_t i) const {
    return graph_.node(graph_.tensor(results_.tensors[i]).producer);
  }
  const Node& first() const { return sibling(0); }
  std::size_t count() const { return results_.tensors.size(); }
  const Shape& shape(core::TensorId id) const { return graph_.tensor(id).type.shape; }

  Tensors operands(std::size_t k) const {
    Tensors all;
    for (std::size_t i = 0; i < count(); ++i) all.push_back(sibling(i).inputs[k]);
    return all;
  }
  static bool is_one(const Tensors& tensors) {
    return std::ranges::count(tensors, tensors[0]) == std::ssize(tensors);
  }
  bool are_constants(const Tensors& tensors) const {
    return std::ranges::all_of(
        tensors, [&](core::TensorId id) { return graph_.is_constant_expression(id); });
  }
  std::int64_t groups(std::size_t i) const {
    const core::AttributeSchema* const group = first().op->find_role(AttributeRole::kGroup);
    return group == nullptr ? 1 : sibling(i).attributes.get_int(group->name);
  }
  bool have_groups() const {
    for (std::size_t i = 0; i < count(); ++i)
      if (groups(i) != 1) return true;
    return false;
  }

  std::optional<std::size_t> operand_with(OperandRole role) const {
    for (std::size_t k = 0; k < first().inputs.size(); ++k)
      if (first().inputs[k].valid() && first().op->operand_role(k) == role) return k;
    return std::nullopt;
  }

  /// The axis of the result at which a node has that axis of that operand alone.
  bool leads_to_axis(const Places& places) const {
    const auto found = kept_axis(graph_, first(), places);
    return found && found->size() == 1 && found->front() == results_.axis;
  }

  /// Data that each sibling multiplies with a weight of its own, and sums: the sums become one over
  /// all blocks of data.
  std::optional<WideForm> summed() const {
    using enum OperandRole;
    const bool is_product = first().op->has_operand(kLeftMatrix);
    const auto data = operand_with(is_product ? kLeftMatrix : kImage);
    const auto weight = operand_with(is_product ? kRightMatrix : kKernel);
    if (!data || !weight || !are_constants(operands(*weight))) return std::nullopt;
    const std::size_t axis = is_product ? shape(first().inputs[*data]).size() - 1 : 1;
    const bool is_one_part = count() == 1 && !split_with(first().inputs[*data], axis).empty();
    if (is_one(operands(*data)) && !is_one_part) return std::nullopt;
    const Shape& kernel = shape(first().inputs[*weight]);
    if (is_product && kernel.size() != 2) return std::nullopt;
    if (have_groups()) return count() > 1 ? in_groups(*data, *weight) : std::nullopt;
    Places places(first().inputs.size());
    std::size_t result = 2;  // the axis of the weight that becomes that of the result
    for (const std::size_t d : {std::size_t{0}, std::size_t{1}}) {
      places[*weight] = d;
      for (std::size_t k = 0; k < places.size(); ++k)
        if (is_bias(k)) places[k] = 0;
      if (result == 2 && leads_to_axis(places)) result = d;
    }
    if (result == 2) return std::nullopt;
    WideForm form;
    for (std::size_t k = 0; k < first().inputs.size(); ++k) {
      WideOperand operand;
      if (k == *data) {
        operand = summed_blocks(operands(k), axis);
      } else if (k == *weight) {
        operand = {.kind = Kind::kWeights,
                   .row = {operands(k), result, results_.groups},
                   .summed_axis = 1 - result};
      } else if (is_bias(k)) {
        operand = {.kind = Kind::kRow, .row = {operands(k), 0, results_.groups}};
      } else if (first().inputs[k].valid()) {
        return std::nullopt;
      }
      form.operands.push_back(std::move(operand));
    }
    return is_consistent(form) && is_small(form) ? std::optional(std::move(form)) : std::nullopt;
  }

  /// The parts of the split along the axis that the tensor is one of.
  Tensors split_with(core::TensorId part, std::size_t axis) const {
    if (split_ != nullptr && split_->axis == axis &&
        std::ranges::find(split_->tensors, part) != split_->tensors.end())
      return split_->tensors;
    const core::NodeId its = graph_.tensor(part).producer;
    if (!its.valid() || graph_.node(its).op->movement != core::Movement::kSplit) return {};
    const Node& split = graph_.node(its);
    return ops::axis_by_role(split) == axis ? split.outputs : Tensors{};
  }

  /// Each block once. Of parts of one split, the other parts are blocks as well, so that they need
  /// not be cut out.
  WideOperand summed_blocks(const Tensors& read, std::size_t axis) const {
    WideOperand operand{.kind = Kind::kSummed, .row = {split_with(read[0], axis), axis}};
    const auto is_part = [&](core::TensorId id) {
      return std::ranges::find(operand.row.tensors, id) != operand.row.tensors.end();
    };
    if (!std::ranges::all_of(read, is_part)) operand.row.tensors.clear();
    for (const core::TensorId id : read) {
      const auto known = std::ranges::find(operand.row.tensors, id);
      operand.blocks.push_back(static_cast<std::size_t>(known - operand.row.tensors.begin()));
      if (known == operand.row.tensors.end()) operand.row.tensors.push_back(id);
    }
    return operand;
  }

  bool is_bias(std::size_t k) const {
    return first().inputs[k].valid() && first().op->operand_role(k) == OperandRole::kChannels;
  }

  /// Convolutions in groups of one size are one with all their groups.
  std::optional<WideForm> in_groups(std::size_t data, std::size_t weight) const {
    if (results_.axis != 1 || results_.groups != 1) return std::nullopt;
    WideForm form{.operands = {}, .adds_groups = true};
    const auto per_group = [&](std::size_t i, core::TensorId id, std::size_t axis) {
      return shape(id)[axis].constant() / groups(i);
    };
    for (std::size_t i = 1; i < count(); ++i)
      if (per_group(i, sibling(i).inputs[data], 1) != per_group(0, first().inputs[data], 1) ||
          per_group(i, results_.tensors[i], 1) != per_group(0, results_.tensors[0], 1))
        return std::nullopt;
    for (std::size_t k = 0; k < first().inputs.size(); ++k) {
      if (!first().inputs[k].valid()) {
        form.operands.emplace_back();
        continue;
      }
      if (k != data && k != weight && !is_bias(k)) return std::nullopt;
      form.operands.push_back({.kind = Kind::kRow, .row = {operands(k), k == data ? 1U : 0U}});
    }
    return is_consistent(form) ? std::optional(std::move(form)) : std::nullopt;
  }

  /// The axis of the operands along which their elements that become one group of a result, with
  /// all that lies behind the axis, are a group again.
  std::optional<WideForm> reshaped() const {
    const Tensors all = operands(0);
    const std::int64_t behind = elements_behind(results_.tensors[0], results_.axis);
    for (std::size_t d = shape(all[0]).size(); d-- > 0;) {
      const std::int64_t its = elements_behind(all[0], d);
      const auto groups_in = [&](std::size_t i) -> std::int64_t {
        const std::int64_t group =
            length(results_.tensors[i], results_.axis) / results_.groups * behind;
        const std::int64_t size = length(all[i], d) * its;
        return its == 0 || group == 0 || group % its != 0 || size % group != 0 ? 0 : size / group;
      };
      if (!are_alike(graph_, all, d) || groups_in(0) == 0) continue;
      bool have_as_many = true;
      for (std::size_t i = 1; have_as_many && i < count(); ++i)
        have_as_many = groups_in(i) == groups_in(0);
      if (!have_as_many) continue;
      WideForm form{{{.kind = Kind::kRow, .row = {all, d, groups_in(0)}}}};
      if (groups_in(0) == 1 && results_.groups == 1 && joins_channels(all[0], d))
        form.channels_of_group = behind / its;
      return form;
    }
    return std::nullopt;
  }
  /// Whether channels of the operand, and all that lies behind them in one dimension, are a place
  /// of the result.
  bool joins_channels(core::TensorId operand, std::size_t axis) const {
    const Shape &from = shape(operand), &to = shape(results_.tensors[0]);
    const std::int64_t behind = elements_behind(results_.tensors[0], results_.axis),
                       its = elements_behind(operand, axis);
    return axis == results_.axis && to.size() == axis + 2 && behind > its && behind % its == 0 &&
           std::equal(from.begin(), from.begin() + static_cast<std::ptrdiff_t>(axis), to.begin());
  }
  std::int64_t length(core::TensorId id, std::size_t axis) const {
    return shape(id)[axis].constant();
  }
  /// Elements of one place along the axis and all in front of it.
  std::int64_t elements_behind(core::TensorId id, std::size_t axis) const {
    std::int64_t count = 1;
    for (std::size_t d = axis + 1; d < shape(id).size(); ++d) count *= length(id, d);
    return count;
  }

  /// What is done along an axis place by place.
  std::optional<WideForm> side_by_side() {
    if (have_groups()) return std::nullopt;
    WideForm form;
    Places places(first().inputs.size());
    std::vector<std::vector<WideOperand>> choices;
    for (std::size_t k = 0; k < first().inputs.size(); ++k) {
      choices.push_back(ways_of(k));
      if (choices.back().empty()) return std::nullopt;
    }
    return chosen(choices, places, form) ? std::optional(std::move(form)) : std::nullopt;
  }

  /// Ways in which operands may be read: as one tensor, or as blocks along one of their axes.
  std::vector<WideOperand> ways_of(std::size_t k) const {
    const Tensors all = operands(k);
    if (!all[0].valid()) return {WideOperand{}};
    std::vector<WideOperand> ways;
    if (is_one(all)) ways.push_back({.kind = Kind::kShared, .row = {{all[0]}, 0}});
    for (std::size_t d = 0; d < shape(all[0]).size(); ++d) {
      bool fits = are_alike(graph_, all, d);
      for (std::size_t i = 0; fits && i < count(); ++i)
        fits = shape(all[i])[d] == shape(results_.tensors[i])[results_.axis];
      if (fits) ways.push_back({.kind = Kind::kRow, .row = {all, d, results_.groups}});
    }
    if (const auto d = repeated_axis(all))
      ways.push_back({.kind = Kind::kRepeated, .row = {all, *d, results_.groups}});
    return ways;
  }

  /// The axis of constants of size 1 that an elementwise operator repeats along the axis.
  std::optional<std::size_t> repeated_axis(const Tensors& constants) const {
    const auto* const op = ops::definition_of(first());
    if (op == nullptr || op->op_class != ops::OpClass::kElementwise || is_one(constants) ||
        !are_constants(constants) || !are_alike(graph_, constants, {}))
      return std::nullopt;
    const std::size_t rank = shape(results_.tensors[0]).size(), own = shape(constants[0]).size();
    if (results_.axis + own < rank || rank < own) return std::nullopt;
    const std::size_t d = results_.axis + own - rank;
    return shape(constants[0])[d] == Polynomial(1) ? std::optional(d) : std::nullopt;
  }

  /// The first of the ways together that lead to the axis.
  bool chosen(const std::vector<std::vector<WideOperand>>& choices, Places& places,
              WideForm& form) const {
    const std::size_t k = form.operands.size();
    if (k == choices.size()) return is_consistent(form) && keeps(form, places);
    for (const WideOperand& way : choices[k]) {
      form.operands.push_back(way);
      places[k] = way.kind == Kind::kRow ? std::optional(way.row.axis) : std::nullopt;
      if (chosen(choices, places, form)) return true;
      form.operands.pop_back();
    }
    return false;
  }

  bool keeps(const WideForm& form, const Places& places) const {
    const auto is_row = [](const WideOperand& operand) { return operand.kind == Kind::kRow; };
    return std::ranges::any_of(form.operands, is_row) && leads_to_axis(places);
  }

  bool is_consistent(const WideForm& form) const {
    return std::ranges::all_of(form.operands, [&](const WideOperand& operand) {
      if (operand.kind == Kind::kMissing || operand.kind == Kind::kShared) return true;
      if (operand.kind != Kind::kWeights)
        return are_alike(graph_, operand.row.tensors, operand.row.axis);
      return have_one_window(operand.row.tensors);
    });
  }
  bool have_one_window(const Tensors& weights) const {
    return std::ranges::all_of(weights, [&](core::TensorId id) {
      const Shape &one = shape(weights[0]), &other = shape(id);
      return one.size() == other.size() &&
             graph_.tensor(id).type.data_type == graph_.tensor(weights[0]).type.data_type &&
             std::equal(one.begin() + 2, one.end(), other.begin() + 2);
    });
  }
  /// Whether the weight of all is.
  bool is_small(const WideForm& form) const {
    std::int64_t elements = 1;
    const auto multiply = [&](std::int64_t factor) {
      elements = std::min(elements * factor, kMostBlockElements + 1);
    };
    const auto multiply_by_length = [&](const Row& row) {
      std::int64_t length = 0;
      for (const core::TensorId id : row.tensors) length += shape(id)[row.axis].constant();
      multiply(length);
    };
    for (const WideOperand& operand : form.operands) {
      if (operand.kind == Kind::kSummed) multiply_by_length(operand.row);
      if (operand.kind != Kind::kWeights) continue;
      multiply_by_length(operand.row);
      const Shape& weight = shape(operand.row.tensors[0]);
      for (std::size_t d = 2; d < weight.size(); ++d) multiply(weight[d].constant());
    }
    return elements <= kMostBlockElements;
  }

  const Graph& graph_;
  const Row& results_;
  const Row* split_;  ///< Of the graph to be, or null.
};

/// Equal but for the entry of a shape that says the size along the axis, and for groups.
bool have_equal_attributes(const Node& a, const Node& b, std::size_t axis) {
  for (const core::AttributeSchema& schema : a.op->attributes) {
    const core::AttributeValue *of_a = a.attributes.find(schema.name),
                               *of_b = b.attributes.find(schema.name);
    if ((of_a == nullptr) != (of_b == nullptr)) return false;
    if (of_a == nullptr || *of_a == *of_b || schema.role == AttributeRole::kGroup) continue;
    if (schema.role != AttributeRole::kShape) return false;
    auto sizes = std::get<std::vector<Polynomial>>(*of_a);
    const auto& others = std::get<std::vector<Polynomial>>(*of_b);
    if (sizes.size() != others.size() || axis >= sizes.size()) return false;
    sizes[axis] = others[axis];
    if (sizes != others) return false;
  }
  return true;
}

}  // namespace

bool do_the_same(const Graph& graph, const Row& results) {
  const auto producer = [&](core::TensorId id) {
    const core::NodeId its = graph.tensor(id).producer;
    return its.valid() ? &graph.node(its) : nullptr;
  };
  const Node* const first = producer(results.tensors[0]);
  if (first == nullptr || first->op->is_opaque() || first->outputs.size() != 1) return false;
  const auto has_known_sizes = [&](core::TensorId id) {
    const core::TensorType& type = graph.tensor(id).type;
    return !id.valid() || (type.shape_known && core::concrete(type.shape));
  };
  return are_alike(graph, results.tensors, results.axis) &&
         std::ranges::all_of(results.tensors, [&](core::TensorId id) {
           const Node* const node = producer(id);
           if (node == nullptr || node->op != first->op || graph.is_constant_expression(id) ||
               node->inputs.size() != first->inputs.size() || !has_known_sizes(id) ||
               !std::ranges::all_of(node->inputs, has_known_sizes))
             return false;
           for (std::size_t k = 0; k < node->inputs.size(); ++k)
             if (node->inputs[k].valid() != first->inputs[k].valid()) return false;
           return have_equal_attributes(*first, *node, results.axis);
         });
}

std::optional<WideForm> wide_form(const Graph& graph, const Row& results, const Row* split) {
  return FormFinder(graph, results, split).find();
}

}  // namespace soapstone::transforms
