// Reads go from the outputs inwards, so only what an element depends on is ever looked at.
#include "verifier/reading/graph_reader.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "ops/analysis/choices.h"
#include "ops/definition/infer_rules.h"
#include "ops/definition/registry.h"
#include "ops/language/rational.h"
#include "verifier/reading/selection.h"

namespace soapstone::verifier {
namespace {

/// With `exact`, the very numbers; otherwise what they stand for in fp32.
/// Errors: throws OutOfBudget where a fraction of 64-bit numbers is not the very number.
std::vector<Fraction> values_of(const core::Literal& literal, bool exact) {
  std::vector<Fraction> result;
  if (const auto integers = literal.to_ints()) {
    const bool is_wide = literal.data_type() == core::DataType::kUInt64;
    if (is_wide && std::any_of(integers->begin(), integers->end(), [](auto v) { return v < 0; })) {
      throw OutOfBudget{"a constant beyond 2^63"};
    }
    result.assign(integers->begin(), integers->end());
    return result;
  }
  for (double value : literal.to_doubles()) {
    if (std::isinf(value)) throw OutOfBudget{"an infinite constant, which no proof computes with"};
    if (!ops::is_representable(value)) throw OutOfBudget{"a constant that is no small fraction"};
    const ops::Rational stored = ops::to_rational(value);
    const ops::Rational rational = exact ? stored : ops::canonical_constant(stored);
    result.emplace_back(rational.numerator, rational.denominator);
  }
  return result;
}

/// Where the numbers of a node's results come from, as its definition says.
struct Origin {
  std::optional<ops::Choices> choices;  ///< None: the results are computed.
  std::vector<core::DataType> types;    ///< Of the operands that are chosen or computed with.
};

/// Integers that a computation of floating numbers reads are positions, not numbers of its own.
Origin origin_of(const core::Graph& graph, const core::Node& node, const ops::Semantics& meaning) {
  Origin origin{ops::choices_of(meaning, node.attributes), {}};
  for (std::size_t k = 0; k < node.inputs.size(); ++k) {
    if (!node.inputs[k].valid()) continue;
    const core::DataType type = graph.tensor(node.inputs[k]).type.data_type;
    const bool counts = origin.choices
                            ? origin.choices->chosen.contains(static_cast<std::uint32_t>(k))
                            : core::is_floating(type);
    if (counts) origin.types.push_back(type);
  }
  return origin;
}

/// Whether the elements are their own positions along a dimension. No dimension is so long that 64
/// bits cannot count it, so nothing wraps, also where a position is the sum of its digits.
bool is_position(const ops::Semantics& meaning, std::uint32_t output) {
  if (output < meaning.input_count) return false;
  const ops::Stage& stage = meaning.stages[output - meaning.input_count];
  if (stage.body->kind != ops::ExprKind::kIndexValue) return false;
  const auto is_counter = [&](core::Symbol symbol) {
    return stage.body->index[0] == core::Polynomial(symbol);
  };
  return std::ranges::any_of(stage.index, is_counter);
}

bool has_division(const ops::ExprNode& node) {
  const bool power = node.kind == ops::ExprKind::kApply && node.function == ops::Function::kPow;
  return power || node.kind == ops::ExprKind::kInverse ||
         std::any_of(node.arguments.begin(), node.arguments.end(),
                     [](const ops::Expr& argument) { return has_division(*argument); }) ||
         std::any_of(node.alternatives.begin(), node.alternatives.end(),
                     [](const ops::Alternative& each) { return has_division(*each.body); });
}

/// Integers are divided with a remainder, and cannot be fractions that an attribute names: neither
/// is what the comprehension says. Errors: throws OutOfBudget.
void refuse_fractions(const core::Node& node, const ops::Semantics& meaning, core::DataType type) {
  const bool divides =
      std::any_of(meaning.stages.begin(), meaning.stages.end(),
                  [](const ops::Stage& stage) { return has_division(*stage.body); });
  if (divides) throw OutOfBudget{"a division of integers"};
  const auto range = range_of(type);
  for (const core::AttributeSchema& schema : node.op->attributes) {
    const core::AttributeValue* value = node.attributes.find(schema.name);
    const auto* real = value != nullptr ? std::get_if<double>(value) : nullptr;
    if (real == nullptr || std::isinf(*real)) continue;
    constexpr double kMost = 0x1p62;
    if (!range || !(std::abs(*real) < kMost) || *real != std::floor(*real) ||
        !range->contains({static_cast<std::int64_t>(*real), static_cast<std::int64_t>(*real)})) {
      throw OutOfBudget{"an attribute that is no integer of the type"};
    }
  }
}

}  // namespace

GraphReader::GraphReader(const core::Graph& graph, const SizeSystem& sizes, Laws& laws,
                         std::vector<ops::Rational> unknowns, bool rounds)
    : graph_(graph), sizes_(sizes), laws_(laws), comprehensions_(laws, std::move(unknowns)),
      rounds_(rounds) {}

std::vector<Linear> GraphReader::applied(const core::Shape& shape) const {
  std::vector<Linear> result;
  for (const core::Size& size : shape) result.push_back(sizes_.apply(size));
  return result;
}

std::vector<Linear> GraphReader::shape(core::TensorId tensor) const {
  return applied(graph_.tensor(tensor).type.shape);
}

std::vector<std::vector<Linear>> GraphReader::shapes() {
  std::vector<std::vector<Linear>> result;
  for (std::size_t k = 0; k < graph_.tensor_bound(); ++k) {
    if (graph_.contains(core::TensorId(k))) result.push_back(shape(core::TensorId(k)));
  }
  for (core::NodeId node : graph_.order()) {
    for (const ops::Stage& stage : semantics(node).stages) result.push_back(applied(stage.shape));
  }
  return result;
}

const ops::Semantics& GraphReader::semantics(core::NodeId node) {
  const auto found = semantics_.find(node);
  if (found != semantics_.end()) return found->second;
  const auto& meaning = semantics_.emplace(node, ops::semantics_of(graph_, node)).first->second;
  const core::DataType type = graph_.tensor(graph_.node(node).outputs[0]).type.data_type;
  if (!core::is_floating(type)) refuse_fractions(graph_.node(node), meaning, type);
  return meaning;
}

/// Σ over its elements of [the index is there] · value, or the one value that all of them have.
NormalForm GraphReader::constant(const core::Literal& literal, const std::vector<Linear>& index) {
  constexpr std::size_t kMaxElements = 64;
  const core::Dims& dims = literal.dims();
  const std::vector<Fraction> values =
      values_of(literal, rounds_ || literal.data_type() == core::DataType::kFloat64);
  const bool uniform =
      std::adjacent_find(values.begin(), values.end(), std::not_equal_to<>()) == values.end();
  if (uniform && !values.empty()) {
    return laws_.proof.arena.number(values[0]);
  }
  if (values.size() > kMaxElements) throw OutOfBudget{"a constant with many elements"};
  NormalForm result;
  for (std::size_t k = 0; k < values.size(); ++k) {
    if (values[k].is_zero()) continue;
    Summand summand = laws_.proof.arena.number(values[k])[0];
    bool here = true;
    auto rest = static_cast<std::int64_t>(k);
    for (std::size_t d = dims.size(); d-- > 0; rest /= dims[d]) {
      const Fact fact = equal(index[d], rest % dims[d]);
      const auto truth = fact.truth();
      here = here && truth != false;
      if (!truth) insert(summand.guards, fact);
    }
    if (here) result.push_back(std::move(summand));
  }
  return result;
}

NormalForm GraphReader::element(core::TensorId tensor, const std::vector<Linear>& index,
                                const FactSet& context) {
  laws_.proof.spend();
  const core::Tensor& edge = graph_.tensor(tensor);
  if (edge.value) return constant(*edge.value, index);
  if (!edge.producer.valid()) {
    const auto at = std::find(graph_.inputs().begin(), graph_.inputs().end(), tensor);
    Summand summand;
    summand.factors = {
        {laws_.proof.arena.read(static_cast<std::uint32_t>(at - graph_.inputs().begin()), index),
         1}};
    return {std::move(summand)};
  }
  const ops::Semantics& meaning = semantics(edge.producer);
  const std::uint32_t output = meaning.outputs[edge.output_index];
  NormalForm result = stage(edge.producer, output, index, context);
  if (edge.type.data_type == core::DataType::kInt64 && is_position(meaning, output)) return result;
  return as_stored(edge.producer, result, edge.type.data_type, context);
}

/// The element that a tensor of this type holds after an exact computation. A floating type rounds
/// it, which only counts where every bit does; but one that comes from a wider type is there to be
/// rounded, and one of a large integer has no other value.
NormalForm GraphReader::as_stored(core::NodeId id, const NormalForm& exactly, core::DataType type,
                                  const FactSet& context) {
  if (type == core::DataType::kBool) return exactly;
  const Origin origin = origin_of(graph_, graph_.node(id), semantics(id));
  const bool same_type =
      std::ranges::all_of(origin.types, [&](core::DataType from) { return from == type; });
  if (core::is_floating(type)) {
    if (same_type) return rounds_ ? laws_.rounding.rounded(exactly, type, context) : exactly;
    const bool widens = origin.choices && !origin.choices->names_numbers &&
                        std::ranges::all_of(origin.types, [&](core::DataType from) {
                          return core::is_floating(from) && holds_all_of(type, from);
                        });
    return widens ? exactly : laws_.rounding.rounded(exactly, type, context);
  }
  if (std::ranges::any_of(origin.types, core::is_floating))
    return laws_.wrapping.truncated(exactly, type, context);
  return origin.choices && same_type ? exactly : laws_.wrapping.wrapped(exactly, type, context);
}

NormalForm GraphReader::stage(core::NodeId node, std::uint32_t tensor,
                              const std::vector<Linear>& index, const FactSet& context) {
  const ops::Semantics& meaning = semantics(node);
  if (tensor < meaning.input_count) {
    return element(graph_.node(node).inputs[tensor], index, context);
  }
  const ops::Stage& stage = meaning.stages[tensor - meaning.input_count];
  Substitution names = sizes_.solution;
  for (std::size_t k = 0; k < stage.index.size(); ++k) {
    names.emplace_back(stage.index[k], index[k]);
  }
  const bool is_result =
      std::find(meaning.outputs.begin(), meaning.outputs.end(), tensor) != meaning.outputs.end();
  if (const auto selection = is_result ? selection_of(meaning, stage) : std::nullopt)
    laws_.selectors.add(
        comprehensions_.evaluate(selection->place, names, reader(node), shape_of(node), context),
        Linear(selection->size).substitute(names), context);
  return comprehensions_.evaluate(stage.body, names, reader(node), shape_of(node), context);
}

ComprehensionReader::Element GraphReader::reader(core::NodeId node) {
  return [this, node](std::uint32_t from, const std::vector<Linear>& at, const FactSet& inside) {
    return stage(node, from, at, inside);
  };
}

ComprehensionReader::ShapeOf GraphReader::shape_of(core::NodeId node) {
  return [this, node](std::uint32_t from) {
    const ops::Semantics& meaning = semantics(node);
    if (from < meaning.input_count) return shape(graph_.node(node).inputs[from]);
    return applied(meaning.stages[from - meaning.input_count].shape);
  };
}

bool GraphReader::note_requirements(bool may_exceed) {
  bool exceeds = false;
  for (core::NodeId node : graph_.order()) {
    for (const ops::Requirement& requirement : semantics(node).requirements) {
      Substitution names = sizes_.solution;
      FactSet ranges;
      std::vector<Symbol> symbols;
      for (std::size_t k = 0; k < requirement.index.size(); ++k) {
        names.emplace_back(
            requirement.index[k],
            laws_.digits.counter(0, sizes_.apply(requirement.shape[k]), ranges, symbols));
      }
      const NormalForm value =
          comprehensions_.evaluate(requirement.value, names, reader(node), shape_of(node), ranges);
      const auto bound = [&](const core::Polynomial& p) { return Linear(p).substitute(names); };
      exceeds |= laws_.demands.note_range(value, bound(requirement.low), bound(requirement.high),
                                          ranges, may_exceed);
    }
  }
  return exceeds;
}

}  // namespace soapstone::verifier
