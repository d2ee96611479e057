// Rules that are made for one graph, in the order in which they are taken.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rules/rule/rule.h"

namespace soapstone::transforms {

using core::Graph;
using core::NodeId;
using core::Result;
using core::TensorId;
using rules::FloatBehavior;
using rules::OperatorNames;
using rules::Rule;

/// One rewrite of a sequence.
struct RewriteStep {
  /// What its source computes: tensors of the graph for which the plan was made, or what earlier
  /// steps of the plan have put in their place.
  std::vector<TensorId> results;
  /// If there are some, the results are what all readers of these tensors compute instead, tensor
  /// by tensor and in the order of the readers' ids. Readers have one result each.
  std::vector<TensorId> readers_of = {};
  /// If set: the only result is this operand of the node that now computes the result of the last
  /// step without one.
  std::optional<std::size_t> operand = {};
  bool is_optional = false;  ///< The step before may have made what this one makes.
  bool ends = false;         ///< It may cost more than to leave what the steps before have made.
  /// Rules that say so, the first one that is proved is taken: for other sizes, too; for those of
  /// the graph.
  std::vector<std::string> texts;
  std::string_view description;
  FloatBehavior floats = FloatBehavior::kExact;
};

/// Steps that cost more until the last one is taken. Each finds the graph as the one before leaves
/// it. Ids of nodes that are in no step stay.
struct RewriteSequence {
  std::vector<RewriteStep> steps;
  bool is_alternative = false;  ///< To the plan before: at most one of them is carried out.
};

/// Of each node: how many nodes stand in front of it, one behind another, without those that
/// compute constants.
std::vector<std::size_t> depths_of(const core::Graph& graph);

/// The operators that rules of plans put around those of the graph.
OperatorNames operators_of_transforms();

/// Rule::name of that text: `batch_of_matmul` with a hash of the text.
std::string rule_name(std::string_view text);

/// The text with symbols for large sizes, multiples of them and their products: what takes a proof
/// many steps for numbers may take few for all. Then the same with products of small numbers that
/// stand in it left as they are: 49 beside 7. They may have no types that fit.
std::vector<std::string> with_open_sizes(std::string_view text);

/// The rule of one text of a step. None: the text has no types that fit. It is stated, not
/// believed: Rule::is_proved_on_demand.
std::optional<Rule> made_rule(const RewriteStep& step, const std::string& text);

}  // namespace soapstone::transforms
