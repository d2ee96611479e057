#include "transforms/broadcasts/repeated_operator.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "ops/definition/by_role.h"
#include "ops/definition/registry.h"
#include "transforms/affine/linearity.h"
#include "transforms/broadcasts/carried_axes.h"
#include "transforms/broadcasts/repetition.h"
#include "transforms/views/contraction_labels.h"

namespace soapstone::transforms {
namespace {

using core::AttributeRole;
using core::Graph;
using core::Node;
using core::TensorId;

bool reduces(const Node& node) {
  return ops::definition_of(node)->op_class == ops::OpClass::kReduction &&
         node.op->find_role(AttributeRole::kAxes) != nullptr && node.inputs.size() == 1;
}

class RepeatedWriter {
 public:
  RepeatedWriter(const Graph& graph, const Node& node, const std::vector<Repeated>& operands)
      : graph_(graph), node_(node), operands_(operands) {
    for (const Repeated& operand : operands) carried_.emplace_back(operand.axes.size(), false);
    for (const TensorId id : node.outputs)
      result_.results.push_back(Repeated::plain(known_sizes(graph.tensor(id).type.shape), 0));
  }

  std::optional<RepeatedOperator> run() {
    for (std::size_t axis = 0; axis < result_.results[0].shape.size(); ++axis) carry(axis);
    leave_out_reduced();
    if (!choose_what_is_left_out()) return std::nullopt;
    SizeNames sizes = open_sizes(operands_);
    if (factor_ > 1) sizes.fix(factor_);
    for (const Repeated& result : result_.results)
      for (const std::int64_t n : result.shape) sizes.leave_open(n);
    result_.texts = in_both_ways(sizes, [&](const SizeNames& names) { return text(names); });
    return std::move(result_);
  }

 private:
  /// If all operands that have the axis repeat the same rows along it, so do the results.
  void carry(std::size_t axis) {
    const auto has_repetitions = [](const Repeated& operand) { return !operand.is_plain(); };
    if (std::ranges::none_of(operands_, has_repetitions)) return;
    if (result_.results[0].shape[axis] == 1) return;
    const auto its = carried_axis(graph_, node_, axis);
    if (!its) return;
    std::optional<Repetition> how;
    std::int64_t rows = 0;
    for (std::size_t k = 0; k < operands_.size(); ++k) {
      if (!its->operands[k]) continue;
      const std::size_t d = *its->operands[k];
      const auto& here = operands_[k].axes[d];
      if (!here || (how && (*how != *here || rows != operands_[k].base_shape[d]))) return;
      how = here;
      rows = operands_[k].base_shape[d];
    }
    for (std::size_t k = 0; k < operands_.size(); ++k)
      if (its->operands[k]) carried_[k][*its->operands[k]] = true;
    for (std::size_t o = 0; o < result_.results.size(); ++o) {
      Repeated& result = result_.results[o];
      result.axes[its->results[o]] = how;
      result.base_shape[its->results[o]] = rows;
    }
    has_use_ = true;
  }

  /// What is summed over equal places is a multiple of one; their mean is one, as is any of them.
  void leave_out_reduced() {
    if (!reduces(node_)) return;
    const bool is_sum = !node_.op->averages && linearity_in(graph_, node_, {true}).has_value();
    for (const core::Polynomial& axis : ops::sizes_by_role(node_, AttributeRole::kAxes)) {
      const auto d = static_cast<std::size_t>(axis.constant());
      const auto& here = operands_[0].axes[d];
      if (!here || here->indices.valid()) continue;
      carried_[0][d] = true;
      if (is_sum) factor_ *= operands_[0].shape[d];
      has_use_ = true;
    }
    result_.reassociates = has_use_;
  }

  /// What the operator broadcasts by itself need not be repeated for it.
  bool choose_what_is_left_out() {
    for (const bool broadcasts : {true, false}) {
      result_.left_out = carried_;
      bool has_use = has_use_;
      for (std::size_t k = 0; k < operands_.size() && broadcasts && !reduces(node_); ++k)
        for (std::size_t d = 0; d < operands_[k].axes.size(); ++d) {
          const auto& here = operands_[k].axes[d];
          if (!here || here->indices.valid() || carried_[k][d]) continue;
          result_.left_out[k][d] = true;
          has_use = true;
        }
      if (has_use && has_right_type()) return true;
    }
    return false;
  }

  bool has_right_type() const {
    std::vector<core::TensorType> types;
    for (std::size_t k = 0; k < operands_.size(); ++k) {
      types.push_back(graph_.tensor(node_.inputs[k]).type);
      types.back().shape = core::to_shape(shape_without(operands_[k], result_.left_out[k]));
    }
    core::Attributes attributes = node_.attributes;
    if (const auto* const shape = node_.op->find_role(AttributeRole::kShape))
      attributes.set(shape->name, core::to_shape(result_.results[0].base_shape));
    const auto results = ops::infer_types(*node_.op, attributes, types);
    if (!results || results->size() != result_.results.size()) return false;
    for (std::size_t o = 0; o < results->size(); ++o)
      if ((*results)[o].shape != core::to_shape(result_.results[o].base_shape)) return false;
    return true;
  }

  std::string text(const SizeNames& sizes) const {
    RepetitionText text(graph_, sizes);
    Names given, taken;
    for (std::size_t k = 0; k < operands_.size(); ++k) {
      const Repeated& operand = operands_[k];
      const std::string name =
          text.input(operand.base_name(), graph_.tensor(node_.inputs[k]).type, operand.base_shape);
      given.push_back(text.repeated(text.source(), operand, name));
      taken.push_back(text.repeated(text.target(), operand, name, result_.left_out[k]));
    }
    const Names from = text.source().lines(text.call(node_, given, result_.results[0].shape),
                                           result_.results.size());
    Names bases = text.target().lines(text.call(node_, taken, result_.results[0].base_shape),
                                      result_.results.size());
    if (factor_ > 1) {
      const std::string n = text.target().line(fmt::format("full(; shape=[], value={})", factor_));
      bases[0] = text.target().line(fmt::format("mul({}, {})", bases[0], n));
    }
    Names to;
    for (std::size_t o = 0; o < bases.size(); ++o)
      to.push_back(text.repeated(text.target(), result_.results[o], bases[o]));
    return text.finished(fmt::format("{}{}", kRepetitionPrefix, node_.op->name), from, to);
  }

  const Graph& graph_;
  const Node& node_;
  const std::vector<Repeated>& operands_;
  std::vector<std::vector<bool>> carried_;  ///< By operand and axis: the node works on the base.
  bool has_use_ = false;
  std::int64_t factor_ = 1;
  RepeatedOperator result_;
};

}  // namespace

SizeNames open_sizes(const std::vector<Repeated>& tensors) {
  SizeNames sizes;
  for (const Repeated& tensor : tensors) {
    for (const std::int64_t n : tensor.shape) sizes.leave_open(n);
    for (const std::int64_t n : tensor.base_shape) sizes.leave_open(n);
  }
  return sizes;
}

std::optional<RepeatedOperator> repeated_operator(const Graph& graph, const Node& node,
                                                  const std::vector<Repeated>& operands) {
  return RepeatedWriter(graph, node, operands).run();
}

}  // namespace soapstone::transforms
