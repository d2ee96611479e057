// Work of a node, counted on its comprehension.
#include "ops/analysis/analysis.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "ops/definition/registry.h"

namespace soapstone::ops {
namespace {

/// Iterations of all binders, guards ignored.
double iterations(const std::vector<Binder>& binders, const BinderLength& length) {
  double count = 1;
  for (const Binder& b : binders) count *= length(b);
  return count;
}

/// The whole lengths of the variables that are bound around an expression.
using Lengths = std::map<Symbol, double>;

std::vector<Polynomial> equations_among(const std::vector<Constraint>& constraints) {
  std::vector<Polynomial> equations;
  for (const Constraint& c : constraints)
    if (c.kind == Constraint::Kind::kZero) equations.push_back(c.expression);
  return equations;
}

/// The equations that say which terms of a sum count: constraints, and factors equal(key, v), which
/// are 0 but at the v that the key says.
std::vector<Polynomial> equations_of_sum(const ExprNode& sum) {
  std::vector<Polynomial> equations = equations_among(sum.constraints);
  const ExprNode& summand = *sum.arguments[0];
  const auto note_lookup = [&](const ExprNode& factor) {
    if (factor.kind != ExprKind::kApply || factor.function != Function::kEqual) return;
    for (const Expr& side : factor.arguments)
      if (side->kind == ExprKind::kIndexValue) equations.push_back(side->index[0]);
  };
  note_lookup(summand);
  if (summand.kind == ExprKind::kMul)
    for (const Expr& factor : summand.arguments) note_lookup(*factor);
  return equations;
}

/// The share of iterations that count. An equation in which a variable stands alone leaves it one
/// value: of those that have a coefficient of 1 or −1 the longest, each for one equation. If it is
/// an index of the result, then that is the share on average over the result.
double share_that_counts(const std::vector<Polynomial>& equations, const Lengths& lengths) {
  std::set<Symbol> solved;
  double share = 1;
  for (const Polynomial& equation : equations) {
    std::optional<Symbol> longest;
    for (const auto& term : equation.terms()) {
      const Symbol v = term.monomial[0];
      if (term.monomial.size() > 1 || std::abs(term.coefficient) != 1 || solved.contains(v))
        continue;
      if (!longest || lengths.at(v) > lengths.at(*longest)) longest = v;
    }
    if (!longest) continue;
    solved.insert(*longest);
    share /= std::max(lengths.at(*longest), 1.0);
  }
  return share;
}

bool is_minus_one(const ExprNode& e) {
  return e.kind == ExprKind::kNumber && e.number == Rational{-1, 1};
}

/// Counts operations of an expression. `length` says how many values of a binder are computed.
class OperationCount {
 public:
  OperationCount(const Stage& stage, const BinderLength& length) : length_(length) {
    for (std::size_t d = 0; d < stage.index.size(); ++d) note({stage.index[d], 0, stage.shape[d]});
  }

  double of(const ExprNode& e);

 private:
  void note(const Binder& b) { lengths_[b.variable] = binder_length(b); }

  /// Operations of a body and of joining it to the others, over all iterations.
  double of_loop(const std::vector<Binder>& binders, const std::vector<Polynomial>& equations,
                 const ExprNode& body) {
    for (const Binder& b : binders) note(b);
    return iterations(binders, length_) * share_that_counts(equations, lengths_) * (of(body) + 1);
  }

  const BinderLength& length_;
  Lengths lengths_;
};

double OperationCount::of(const ExprNode& e) {
  double count = 0;
  switch (e.kind) {
  case ExprKind::kNumber:
  case ExprKind::kIndexValue:
  case ExprKind::kRead:
  case ExprKind::kReadFlat:
    return 0;
  case ExprKind::kMax:
    for (const Alternative& a : e.alternatives)
      count += of_loop(a.binders, equations_among(a.constraints), *a.body);
    return count - (e.alternatives.front().binders.empty() ? 1 : 0);
  case ExprKind::kSum:
    return of_loop(e.binders, equations_of_sum(e), *e.arguments[0]);
  case ExprKind::kGuard:
    return of(*e.arguments[0]);
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
  for (const Expr& argument : e.arguments) count += of(*argument);
  return count;
}

double flops_of(const Semantics& semantics) {
  double flops = 0;
  for (const Stage& stage : semantics.stages) {
    const auto dims = core::concrete(stage.shape);
    CHECK(dims, "analysis needs shapes in numbers");
    flops += static_cast<double>(core::element_count(*dims)) * operations_of(stage, binder_length);
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

double operations_of(const Stage& stage, const BinderLength& length) {
  return OperationCount(stage, length).of(*stage.body);
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
  else if (definition && definition->op_class == OpClass::kOrder)
    work.flops = elements.read[0] * std::log2(elements.read[0] + 2);
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
