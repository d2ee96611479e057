// Work of a node, counted on its comprehension.
#include "ops/analysis/analysis.h"

#include <algorithm>
#include <map>

#include "ops/definition/registry.h"

namespace soapstone::ops {
namespace {

/// Iterations of all binders, guards ignored.
double iterations(const std::vector<Binder>& binders, const BinderLength& length) {
  double count = 1;
  for (const Binder& b : binders) count *= length(b);
  return count;
}

bool is_minus_one(const ExprNode& e) {
  return e.kind == ExprKind::kNumber && e.number == Rational{-1, 1};
}

double flops_of(const Semantics& semantics) {
  double flops = 0;
  for (const Stage& stage : semantics.stages) {
    const auto dims = core::concrete(stage.shape);
    CHECK(dims, "analysis needs shapes in numbers");
    flops +=
        static_cast<double>(core::element_count(*dims)) * operations_of(*stage.body, binder_length);
  }
  return flops;
}

double elements_of(const core::Graph& graph, core::TensorId id) {
  if (!id.valid()) return 0;
  const core::TensorType& type = graph.tensor(id).type;
  if (!type.shape_known) return 0;
  const auto dims = core::concrete(type.shape);
  return dims ? static_cast<double>(core::element_count(*dims)) : 0;
}

double element_bytes(const core::Graph& graph, core::TensorId id) {
  return static_cast<double>(core::size_bytes(graph.tensor(id).type.data_type));
}

}  // namespace

double binder_length(const Binder& binder) {
  // Bounds that depend on outer variables do not occur in operators; their length does not.
  const auto length = (binder.high - binder.low).as_constant();
  CHECK(length, "the length of a sum depends on the index");
  return static_cast<double>(std::max<std::int64_t>(*length, 0));
}

double operations_of(const ExprNode& e, const BinderLength& length) {
  double count = 0;
  switch (e.kind) {
  case ExprKind::kNumber:
  case ExprKind::kIndexValue:
  case ExprKind::kRead:
  case ExprKind::kReadFlat:
    return 0;
  case ExprKind::kMax:
    for (const Alternative& a : e.alternatives)
      count += iterations(a.binders, length) * (operations_of(*a.body, length) + 1);
    return count - (e.alternatives.front().binders.empty() ? 1 : 0);
  case ExprKind::kSum:
    return iterations(e.binders, length) * (operations_of(*e.arguments[0], length) + 1);
  case ExprKind::kGuard:
    return operations_of(*e.arguments[0], length);
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
  for (const Expr& argument : e.arguments) count += operations_of(*argument, length);
  return count;
}

Work work_of(const core::Graph& graph, core::NodeId id, const ElementCounts& elements,
             const std::function<double()>& flops) {
  const core::Node& node = graph.node(id);
  const OpDefinition* definition = definition_of(node);
  if (definition && definition->op_class == OpClass::kView) return {};
  const bool moves = definition && definition->op_class == OpClass::kMovement;
  Work work;
  double written = 0;
  for (std::size_t k = 0; k < node.outputs.size(); ++k) {
    written += elements.written[k];
    work.bytes_written += elements.written[k] * element_bytes(graph, node.outputs[k]);
  }
  std::map<core::TensorId, double> read;  // an operand given twice is read once
  for (std::size_t k = 0; k < node.inputs.size(); ++k)
    if (node.inputs[k].valid())
      read[node.inputs[k]] = std::max(read[node.inputs[k]], elements.read[k]);
  for (const auto& [t, count] : read)
    work.bytes_read += (moves ? std::min(count, written) : count) * element_bytes(graph, t);
  if (moves)
    work.flops = written;
  else if (definition)
    work.flops = flops();
  return work;
}

Work work_of(const core::Graph& graph, core::NodeId id) {
  const core::Node& node = graph.node(id);
  ElementCounts elements;
  for (core::TensorId t : node.inputs) elements.read.push_back(elements_of(graph, t));
  for (core::TensorId t : node.outputs) elements.written.push_back(elements_of(graph, t));
  return work_of(graph, id, elements, [&] { return flops_of(semantics_of(graph, id)); });
}

}  // namespace soapstone::ops
