#include "transforms/restrict/alike_readings.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ops/definition/by_role.h"
#include "ops/definition/registry.h"
#include "transforms/affine/linearity.h"
#include "transforms/broadcasts/carried_axes.h"
#include "transforms/broadcasts/repeated_operator.h"
#include "transforms/views/contraction_labels.h"

namespace soapstone::transforms {
namespace {

using core::AttributeRole;
using core::Graph;
using core::Movement;
using core::Node;
using core::TensorId;

/// Whether rows are chosen by a list.
bool has_indices(const Reading& reading) { return reading.like->op->movement == Movement::kSelect; }

std::optional<Reading> reduction_of(const Graph& graph, const Node& node) {
  const core::AttributeSchema* const keeps = node.op->find_role(AttributeRole::kKeepsRank);
  if (node.op->find_role(AttributeRole::kAxes) == nullptr || keeps == nullptr ||
      node.inputs.size() != 1 || node.op->attributes.size() != 2 ||
      !linearity_in(graph, node, {true}))
    return std::nullopt;
  Reading found{.like = &node,
                .reduces = true,
                .axes = {},
                .keeps_rank = node.attributes.get_int(keeps->name) != 0,
                .left = 1};
  for (const core::Polynomial& axis : ops::sizes_by_role(node, AttributeRole::kAxes))
    found.axes.push_back(static_cast<std::size_t>(axis.constant()));
  return found;
}

/// Fewer rows than there are: by one list, or at equal distances.
std::optional<Reading> choice_of(const Graph& graph, const Node& node) {
  Reading found{.like = &node, .reduces = false, .axes = {}, .keeps_rank = true, .left = 0};
  if (node.op->movement == Movement::kSelect) {
    if (graph.tensor(node.inputs[1]).type.shape.size() != 1) return std::nullopt;
    found.axes = {ops::axis_by_role(node)};
  } else if (node.op->movement == Movement::kCut) {
    const auto& axes = ops::sizes_by_role(node, AttributeRole::kAxes);
    if (axes.size() != 1 || ops::sizes_by_role(node, AttributeRole::kStep)[0].constant() == 1)
      return std::nullopt;
    found.axes = {static_cast<std::size_t>(axes[0].constant())};
  } else {
    return std::nullopt;
  }
  found.left = graph.tensor(node.outputs[0]).type.shape[found.axes[0]].constant();
  const std::int64_t rows = graph.tensor(node.inputs[0]).type.shape[found.axes[0]].constant();
  return found.left < rows ? std::optional(found) : std::nullopt;
}

class ReadWriter {
 public:
  ReadWriter(const Graph& graph, const Node& node, const std::vector<Reading>& readings)
      : graph_(graph), node_(node), readings_(readings), axes_(node.inputs.size()),
        shape_(known_sizes(graph.tensor(node.outputs[0]).type.shape)) {
    for (const std::size_t axis : readings[0].axes) count_ *= shape_[axis];
  }

  /// By operand: the axes along which it is reduced. None: the operator is not linear in what has
  /// them, or mixes places.
  std::optional<ReadOperator> run() {
    for (const std::size_t axis : readings_[0].axes) {
      const auto carried = carried_axis(graph_, node_, axis);
      if (!carried) return std::nullopt;
      for (std::size_t k = 0; k < axes_.size(); ++k)
        if (carried->operands[k]) axes_[k].push_back(*carried->operands[k]);
    }
    std::vector<bool> linear;
    for (Axes& axes : axes_) {
      std::ranges::sort(axes);
      if (!axes.empty() && axes.size() != readings_[0].axes.size()) return std::nullopt;
      linear.push_back(!axes.empty());
    }
    if (readings_[0].reduces) {
      const auto linearity = linearity_in(graph_, node_, linear);
      if (!linearity) return std::nullopt;
      is_added_ = linearity->is_added;
    }
    if (!has_right_type()) return std::nullopt;
    return ReadOperator{texts(), axes_};
  }

 private:
  std::vector<std::string> texts() const {
    SizeNames sizes;
    for (const TensorId id : node_.inputs)
      for (const std::int64_t n : known_sizes(graph_.tensor(id).type.shape)) sizes.leave_open(n);
    for (const std::size_t axis : readings_[0].axes)
      if (!is_average() && !has_indices(readings_[0])) sizes.fix(shape_[axis]);
    sizes.fix(readings_[0].left);
    return in_both_ways(sizes, [&](const SizeNames& names) { return text(names); });
  }

  bool is_average() const { return readings_[0].like->op->averages; }

  Sizes reduced(Sizes shape, const Axes& axes) const {
    for (const std::size_t axis : axes) shape[axis] = readings_[0].left;
    return shape;
  }

  bool has_right_type() const {
    std::vector<core::TensorType> types;
    for (std::size_t k = 0; k < axes_.size(); ++k) {
      types.push_back(graph_.tensor(node_.inputs[k]).type);
      types.back().shape = core::to_shape(reduced(known_sizes(types.back().shape), axes_[k]));
    }
    core::Attributes attributes = node_.attributes;
    const core::Shape wanted = core::to_shape(reduced(shape_, readings_[0].axes));
    if (const auto* const shape = node_.op->find_role(AttributeRole::kShape))
      attributes.set(shape->name, wanted);
    const auto results = ops::infer_types(*node_.op, attributes, types);
    return results && results->size() == 1 && (*results)[0].shape == wanted;
  }

  std::string text(const SizeNames& sizes) const {
    RepetitionText text(graph_, sizes);
    Names given, taken;
    for (std::size_t k = 0; k < node_.inputs.size(); ++k) {
      const TensorId id = node_.inputs[k];
      const core::TensorType& type = graph_.tensor(id).type;
      given.push_back(text.input(fmt::format("x{}", id.index()), type, known_sizes(type.shape)));
      taken.push_back(reduced_operand(text, k, given.back()));
    }
    const std::string whole = text.source().line(text.call(node_, given, shape_));
    const std::string base =
        text.target().line(text.call(node_, taken, reduced(shape_, readings_[0].axes)));
    Names from, to;
    for (const Reading& reading : readings_) {
      const std::string call = read_call(text, reading, whole, reading.axes, reading.keeps_rank);
      from.push_back(text.source().another(call, 1).front());
      to.push_back(reading.keeps_rank ? base : without_axes(text, base));
    }
    const std::string_view prefix = readings_[0].reduces ? kReducedPrefix : kChosenPrefix;
    return text.finished(fmt::format("{}{}", prefix, node_.op->name), from, to);
  }

  /// What is added to each term is added to a sum as often as there are terms.
  std::string reduced_operand(RepetitionText& text, std::size_t k, const std::string& name) const {
    SideText& side = text.target();
    if (!axes_[k].empty()) return side.line(read_call(text, readings_[0], name, axes_[k], true));
    if (!readings_[0].reduces || is_average() || !is_added_[k]) return name;
    const std::string n = side.line(fmt::format("full(; shape=[], value={})", count_));
    return side.line(fmt::format("mul({}, {})", name, n));
  }

  std::string read_call(RepetitionText& text, const Reading& how, const std::string& name,
                        const Axes& axes, bool keeps_rank) const {
    const core::OpSchema& op = *how.like->op;
    if (how.reduces)
      return fmt::format("{}({}; {}=[{}], {}={})", op.name, name,
                         op.find_role(AttributeRole::kAxes)->name, fmt::join(axes, ", "),
                         op.find_role(AttributeRole::kKeepsRank)->name, keeps_rank ? 1 : 0);
    if (has_indices(how)) {
      const TensorId indices = how.like->inputs[1];
      const core::TensorType& type = graph_.tensor(indices).type;
      return fmt::format(
          "gather({}, {}; axis={})", name,
          text.input(fmt::format("i{}", indices.index()), type, known_sizes(type.shape)), axes[0]);
    }
    const auto number = [&](AttributeRole role) {
      return ops::sizes_by_role(*how.like, role)[0].constant();
    };
    return fmt::format("slice({}; axes=[{}], starts=[{}], sizes=[{}], steps=[{}])", name, axes[0],
                       number(AttributeRole::kStart), how.left, number(AttributeRole::kStep));
  }

  std::string without_axes(RepetitionText& text, const std::string& base) const {
    Sizes left;
    for (std::size_t d = 0; d < shape_.size(); ++d)
      if (std::ranges::find(readings_[0].axes, d) == readings_[0].axes.end())
        left.push_back(shape_[d]);
    return text.target().line(
        fmt::format("reshape({}; shape=[{}])", base, list_of(text.sizes().texts(left))));
  }

  const Graph& graph_;
  const Node& node_;
  const std::vector<Reading>& readings_;
  std::vector<Axes> axes_;  ///< By operand.
  Sizes shape_;             ///< Of the result.
  std::int64_t count_ = 1;  ///< Of the terms of a sum.
  std::vector<bool> is_added_;
};

}  // namespace

std::optional<Reading> reading_of(const Graph& graph, const Node& node) {
  auto reduction = reduction_of(graph, node);
  return reduction ? reduction : choice_of(graph, node);
}

bool are_alike(const Reading& a, const Reading& b) {
  if (a.like->op != b.like->op || a.axes != b.axes || a.left != b.left) return false;
  if (a.reduces) return true;
  if (has_indices(a)) return a.like->inputs[1] == b.like->inputs[1];
  return ops::sizes_by_role(*a.like, AttributeRole::kStart) ==
             ops::sizes_by_role(*b.like, AttributeRole::kStart) &&
         ops::sizes_by_role(*a.like, AttributeRole::kStep) ==
             ops::sizes_by_role(*b.like, AttributeRole::kStep);
}

std::optional<ReadOperator> read_operator(const Graph& graph, const Node& node,
                                          const std::vector<Reading>& readings) {
  return ReadWriter(graph, node, readings).run();
}

}  // namespace soapstone::transforms
