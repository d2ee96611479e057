// Work of a node, counted on its comprehension.
#include "ops/analysis/analysis.h"

#include <algorithm>
#include <set>

#include "ops/analysis/analysis_intervals.h"
#include "ops/definition/registry.h"

namespace soapstone::ops {
namespace {

using analysis::Ranges;

/// Iterations of all binders, guards ignored.
double iterations(const std::vector<Binder>& binders) {
  double count = 1;
  for (const Binder& b : binders) {
    // Bounds that depend on outer variables do not occur in operators; their length does not.
    const auto length = (b.high - b.low).as_constant();
    CHECK(length, "the length of a sum depends on the index");
    count *= static_cast<double>(std::max<std::int64_t>(*length, 0));
  }
  return count;
}

bool is_minus_one(const ExprNode& e) {
  return e.kind == ExprKind::kNumber && e.number == Rational{-1, 1};
}

double operations(const ExprNode& e) {
  double count = 0;
  switch (e.kind) {
  case ExprKind::kNumber:
  case ExprKind::kIndexValue:
  case ExprKind::kRead:
  case ExprKind::kReadFlat:
    return 0;
  case ExprKind::kMax:
    for (const Alternative& a : e.alternatives)
      count += iterations(a.binders) * (operations(*a.body) + 1);
    return count - (e.alternatives.front().binders.empty() ? 1 : 0);
  case ExprKind::kSum:
    return iterations(e.binders) * (operations(*e.arguments[0]) + 1);
  case ExprKind::kGuard:
    return operations(*e.arguments[0]);
  case ExprKind::kAdd:
    count = static_cast<double>(e.arguments.size()) - 1;
    break;
  case ExprKind::kMul: {  // a factor −1 belongs to a subtraction, which is one operation
    const auto signs = std::count_if(e.arguments.begin(), e.arguments.end(),
                                     [](const Expr& a) { return is_minus_one(*a); });
    count = static_cast<double>(e.arguments.size()) - 1 - static_cast<double>(signs);
    count = std::max(count, 0.0);
    break;
  }
  case ExprKind::kInverse:
  case ExprKind::kApply:
    count = 1;
    break;
  }
  for (const Expr& argument : e.arguments) count += operations(*argument);
  return count;
}

double flops_of(const Semantics& semantics) {
  double flops = 0;
  for (const Stage& stage : semantics.stages) {
    const auto dims = core::concrete(stage.shape);
    CHECK(dims, "analysis needs shapes in numbers");
    flops += static_cast<double>(core::element_count(*dims)) * operations(*stage.body);
  }
  return flops;
}

double elements_of(const core::Graph& graph, core::TensorId id) {
  const core::TensorType& type = graph.tensor(id).type;
  if (!type.shape_known) return 0;
  const auto dims = core::concrete(type.shape);
  return dims ? static_cast<double>(core::element_count(*dims)) : 0;
}

double element_bytes(const core::Graph& graph, core::TensorId id) {
  return static_cast<double>(core::size_bytes(graph.tensor(id).type.data_type));
}

}  // namespace

Work work_of(const core::Graph& graph, core::NodeId id) {
  const core::Node& node = graph.node(id);
  const OpDefinition* definition = definition_of(node);
  if (definition && definition->op_class == OpClass::kView) return {};
  const bool moves = definition && definition->op_class == OpClass::kMovement;
  Work work;
  double written = 0;
  for (core::TensorId t : node.outputs) {
    written += elements_of(graph, t);
    work.bytes_written += elements_of(graph, t) * element_bytes(graph, t);
  }
  for (core::TensorId t : std::set<core::TensorId>(node.inputs.begin(), node.inputs.end())) {
    if (!t.valid()) continue;
    const double read = elements_of(graph, t);
    work.bytes_read += (moves ? std::min(read, written) : read) * element_bytes(graph, t);
  }
  if (moves)
    work.flops = written;
  else if (definition)
    work.flops = flops_of(semantics_of(graph, id));
  return work;
}

}  // namespace soapstone::ops
