// Work of a node, counted on its comprehension.
#include "ops/analysis/analysis.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
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

/// The lengths of all variables that are bound around an expression.
using Lengths = std::map<Symbol, double>;

void note(const std::vector<Binder>& binders, Lengths& lengths) {
  for (const Binder& b : binders) lengths[b.variable] = iterations({b});
}

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

double operations(const ExprNode& e, Lengths& lengths);

/// Operations of a body and of joining it to the others, over all iterations.
double operations_of_loop(const std::vector<Binder>& binders,
                          const std::vector<Polynomial>& equations, const ExprNode& body,
                          Lengths& lengths) {
  note(binders, lengths);
  return iterations(binders) * share_that_counts(equations, lengths) *
         (operations(body, lengths) + 1);
}

double operations(const ExprNode& e, Lengths& lengths) {
  double count = 0;
  switch (e.kind) {
  case ExprKind::kNumber:
  case ExprKind::kIndexValue:
  case ExprKind::kRead:
  case ExprKind::kReadFlat:
    return 0;
  case ExprKind::kMax:
    for (const Alternative& a : e.alternatives)
      count += operations_of_loop(a.binders, equations_among(a.constraints), *a.body, lengths);
    return count - (e.alternatives.front().binders.empty() ? 1 : 0);
  case ExprKind::kSum:
    return operations_of_loop(e.binders, equations_of_sum(e), *e.arguments[0], lengths);
  case ExprKind::kGuard:
    return operations(*e.arguments[0], lengths);
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
  for (const Expr& argument : e.arguments) count += operations(*argument, lengths);
  return count;
}

double flops_of(const Semantics& semantics) {
  double flops = 0;
  for (const Stage& stage : semantics.stages) {
    const auto dims = core::concrete(stage.shape);
    CHECK(dims, "analysis needs shapes in numbers");
    Lengths lengths;
    for (std::size_t d = 0; d < dims->size(); ++d)
      lengths[stage.index[d]] = static_cast<double>((*dims)[d]);
    flops += static_cast<double>(core::element_count(*dims)) * operations(*stage.body, lengths);
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
