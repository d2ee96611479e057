// Finds the selecting factor in the text, and writes its expression over indices as a graph.
#include "ops/restriction/selection.h"

#include <algorithm>
#include <map>

#include "ops/definition/indexing.h"

namespace soapstone::ops::partition {
namespace {

using core::TensorId;

/// The first factor [chosen = v] of which v is one of the variables.
const ExprNode* selecting_factor(const ExprNode& e, const std::vector<Symbol>& variables) {
  if (e.kind == ExprKind::kApply && e.function == Function::kEqual &&
      e.arguments[1]->kind == ExprKind::kIndexValue)
    for (Symbol v : variables)
      if (e.arguments[1]->index[0] == Polynomial(v)) return &e;
  for (const Expr& argument : e.arguments)
    if (const ExprNode* found = selecting_factor(*argument, variables)) return found;
  for (const Alternative& a : e.alternatives)
    if (const ExprNode* found = selecting_factor(*a.body, variables)) return found;
  return nullptr;
}

/// Looks through stages to the input that an expression reads element for element.
class SelectorWalk {
 public:
  explicit SelectorWalk(const Semantics& semantics) : semantics_(semantics) {}

  /// False: more than one input is read, or with other indices than those given.
  bool visit(const ExprNode& e, const std::vector<Polynomial>* index) {
    if (e.kind == ExprKind::kReadFlat || e.kind == ExprKind::kSum || e.kind == ExprKind::kMax)
      return false;
    if (e.kind == ExprKind::kRead) {
      const auto values = index ? substituted(e.index, *index) : e.index;
      if (e.tensor >= semantics_.input_count) {
        const Stage& stage = semantics_.stages[e.tensor - semantics_.input_count];
        const auto outer = std::exchange(stage_index_, stage.index);
        const bool is_fine = visit(*stage.body, &values);
        stage_index_ = outer;
        return is_fine;
      }
      const bool is_same = !input || (*input == e.tensor && read == values);
      input = e.tensor;
      read = values;
      return is_same;
    }
    return std::ranges::all_of(e.arguments, [&](const Expr& a) { return visit(*a, index); });
  }

  std::optional<std::size_t> input;
  std::vector<Polynomial> read;

 private:
  std::vector<Polynomial> substituted(const std::vector<Polynomial>& index,
                                      const std::vector<Polynomial>& values) const {
    std::vector<Polynomial> result;
    for (const Polynomial& p : index)
      result.push_back(p.substitute([&](Symbol symbol) -> std::optional<Polynomial> {
        const auto at = std::ranges::find(stage_index_, symbol);
        if (at == stage_index_.end()) return std::nullopt;
        return values[static_cast<std::size_t>(at - stage_index_.begin())];
      }));
    return result;
  }

  const Semantics& semantics_;
  std::vector<Symbol> stage_index_;
};

/// The dimensions of result 0 that the indices are, ascending; none if they are not all of those.
std::optional<std::vector<std::size_t>> result_dims(const Semantics& semantics, std::size_t stage,
                                                    const std::vector<Polynomial>& read) {
  if (semantics.outputs.size() != 1 || semantics.outputs[0] != semantics.input_count + stage)
    return std::nullopt;
  const std::vector<Symbol>& index = semantics.stages[stage].index;
  std::vector<std::size_t> dims;
  for (const Polynomial& p : read) {
    std::size_t d = dims.empty() ? 0 : dims.back() + 1;
    while (d < index.size() && p != Polynomial(index[d])) ++d;
    if (d == index.size()) return std::nullopt;
    dims.push_back(d);
  }
  return dims;
}

/// An integer expression over indices as a graph.
class RowGraph {
 public:
  RowGraph(PartGraph& graph, const Semantics& semantics, TensorId indices)
      : graph_(graph), semantics_(semantics), indices_(indices),
        type_(graph.type(indices).data_type) {}

  TensorId write(const ExprNode& e) {
    switch (e.kind) {
    case ExprKind::kNumber:
      return graph_.scalar(type_, e.number.numerator);
    case ExprKind::kRead:
      if (e.tensor < semantics_.input_count) return indices_;
      return write(*semantics_.stages[e.tensor - semantics_.input_count].body);
    case ExprKind::kAdd:
      return folded("add", e);
    case ExprKind::kMul:
      return folded("mul", e);
    case ExprKind::kApply:
      return write_function(e);
    default:
      CHECK(false, "an index is computed in a way that can_write excludes");
    }
  }

  static bool can_write(const ExprNode& e, const Semantics& semantics) {
    if (e.kind == ExprKind::kRead && e.tensor >= semantics.input_count)
      return can_write(*semantics.stages[e.tensor - semantics.input_count].body, semantics);
    const bool is_known = e.kind == ExprKind::kRead || e.kind == ExprKind::kAdd ||
                          e.kind == ExprKind::kMul ||
                          (e.kind == ExprKind::kNumber && e.number.denominator == 1) ||
                          (e.kind == ExprKind::kApply &&
                           (e.function == Function::kLess || e.function == Function::kEqual ||
                            e.function == Function::kSelect));
    return is_known && std::ranges::all_of(e.arguments,
                                           [&](const Expr& a) { return can_write(*a, semantics); });
  }

 private:
  TensorId folded(std::string_view op, const ExprNode& e) {
    TensorId value = write(*e.arguments[0]);
    for (std::size_t k = 1; k < e.arguments.size(); ++k)
      value = graph_.append(op, {value, write(*e.arguments[k])});
    return value;
  }

  TensorId write_function(const ExprNode& e) {
    std::vector<TensorId> arguments;
    for (const Expr& argument : e.arguments) arguments.push_back(write(*argument));
    if (e.function == Function::kSelect) {
      arguments[0] = graph_.append("cast", {arguments[0]}, {{"to", std::string("bool")}});
      return graph_.append("where", arguments);
    }
    const TensorId holds =
        graph_.append(e.function == Function::kLess ? "less" : "equal", arguments);
    return graph_.append("cast", {holds}, {{"to", std::string(core::to_string(type_))}});
  }

  PartGraph& graph_;
  const Semantics& semantics_;
  TensorId indices_;
  core::DataType type_;
};

}  // namespace

std::optional<Selection> selection_of(const DigitSpace& space, const std::vector<Symbol>& loop) {
  const Semantics& semantics = space.semantics();
  for (std::size_t s = 0; s < semantics.stages.size(); ++s) {
    const ExprNode* factor = selecting_factor(*semantics.stages[s].body, loop);
    if (!factor) continue;
    const ExprNode& chosen = *factor->arguments[0];
    SelectorWalk walk(semantics);
    if (!walk.visit(chosen, nullptr) || !walk.input || !RowGraph::can_write(chosen, semantics))
      return std::nullopt;
    return Selection{*walk.input, &chosen, result_dims(semantics, s, walk.read)};
  }
  return std::nullopt;
}

ShiftedRows shifted_rows(PartGraph& graph, const DigitSpace& space, const Selection& selection,
                         TensorId indices, Interval rows,
                         const std::vector<std::int64_t>& ignored) {
  const core::DataType type = graph.type(indices).data_type;
  const auto number = [&](std::int64_t value) { return graph.scalar(type, value); };
  const TensorId row = RowGraph(graph, space.semantics(), indices).write(*selection.chosen);
  const TensorId shifted = graph.append("sub", {row, number(rows.low)});
  TensorId inside =
      graph.append("mul", {graph.append("less_or_equal", {number(0), shifted}),
                           graph.append("less", {shifted, number(rows.high - rows.low)})});
  for (std::int64_t value : ignored)
    inside = graph.append(
        "mul", {inside, graph.append("not", {graph.append("equal", {indices, number(value)})})});
  return {shifted, inside};
}

}  // namespace soapstone::ops::partition
