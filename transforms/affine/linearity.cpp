#include "transforms/affine/linearity.h"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <span>
#include <utility>

#include "ops/definition/registry.h"
#include "ops/language/comprehension.h"

namespace soapstone::transforms {
namespace {

using core::AttributeRole;
using core::Graph;
using core::Movement;
using core::Node;
using core::Polynomial;
using core::Shape;
using core::Symbol;
using core::TensorType;
using ops::Expr;
using ops::ExprKind;
using ops::ExprNode;

using Operands = std::set<std::uint32_t>;

/// A polynomial of degree one in the linear operands: which other operands its terms read. None:
/// there is no such term.
struct Terms {
  std::optional<Operands> constant, linear;
};

std::optional<Operands> united(const std::optional<Operands>& a, const std::optional<Operands>& b) {
  if (!a || !b) return a ? a : b;
  Operands all = *a;
  all.insert(b->begin(), b->end());
  return all;
}
std::optional<Operands> multiplied(const std::optional<Operands>& a,
                                   const std::optional<Operands>& b) {
  return a && b ? united(a, b) : std::nullopt;
}

/// None: the degree is not at most one.
class TermReader {
 public:
  TermReader(std::uint32_t input_count, const std::vector<bool>& operands) {
    for (std::uint32_t k = 0; k < input_count; ++k)
      terms_.push_back(operands[k] ? Terms{{}, Operands{}} : Terms{Operands{k}, {}});
  }

  bool add_stage(const Expr& body) {
    auto terms = read(*body);
    if (terms) terms_.push_back(*std::move(terms));
    return terms.has_value();
  }
  bool is_constant(const Expr& value) const {
    const auto terms = read(*value);
    return terms && !terms->linear;
  }
  const Terms& terms(std::uint32_t tensor) const { return terms_[tensor]; }

 private:
  std::optional<Terms> read(const ExprNode& e) const {
    switch (e.kind) {
    case ExprKind::kNumber:
    case ExprKind::kIndexValue:
      return Terms{Operands{}, {}};
    case ExprKind::kRead:
    case ExprKind::kReadFlat:
      return terms_[e.tensor];
    case ExprKind::kGuard:
    case ExprKind::kSum:
      return read(*e.arguments[0]);
    case ExprKind::kAdd:
      return combined(e, [](const Terms& a, const Terms& b) -> std::optional<Terms> {
        return Terms{united(a.constant, b.constant), united(a.linear, b.linear)};
      });
    case ExprKind::kMul:
      return combined(e, [](const Terms& a, const Terms& b) -> std::optional<Terms> {
        if (a.linear && b.linear) return std::nullopt;
        return Terms{multiplied(a.constant, b.constant),
                     united(multiplied(a.linear, b.constant), multiplied(a.constant, b.linear))};
      });
    case ExprKind::kInverse:
    case ExprKind::kApply:
      return constant(e.arguments);
    case ExprKind::kMax: {
      std::vector<Expr> bodies;
      for (const auto& alternative : e.alternatives) bodies.push_back(alternative.body);
      return constant(bodies);
    }
    }
    return std::nullopt;
  }

  template <class Combine>
  std::optional<Terms> combined(const ExprNode& e, const Combine& combine) const {
    std::optional<Terms> all;
    for (const Expr& argument : e.arguments) {
      const auto terms = read(*argument);
      if (!terms) return std::nullopt;
      all = all ? combine(*all, *terms) : terms;
      if (!all) return std::nullopt;
    }
    return all;
  }

  /// Of arguments of which any function may be taken.
  std::optional<Terms> constant(std::span<const Expr> arguments) const {
    Terms all{Operands{}, {}};
    for (const Expr& argument : arguments) {
      const auto terms = read(*argument);
      if (!terms || terms->linear) return std::nullopt;
      all.constant = united(all.constant, terms->constant);
    }
    return all;
  }

  std::vector<Terms> terms_;  // by tensor: inputs, then stages
};

/// A size that no model has: where it comes out again, the axis does.
constexpr std::int64_t kMark = 1'000'003;

std::optional<std::size_t> marked_axis(const Shape& shape) {
  std::optional<std::size_t> axis;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d].as_constant() != kMark) continue;
    if (axis) return std::nullopt;
    axis = d;
  }
  return axis;
}

/// Whether elements at one place of the marked axis depend on that place alone.
class PlaceCheck {
 public:
  PlaceCheck(const ops::Semantics& semantics, const std::vector<std::optional<std::size_t>>& axes,
             const std::vector<TensorType>& inputs)
      : axes_(axes) {
    for (const TensorType& input : inputs) shapes_.push_back(input.shape);
    for (const ops::Stage& stage : semantics.stages) {
      const auto axis = marked_axis(stage.shape);
      keeps_ =
          keeps_ && (axis ? stays(*stage.body, stage.index[*axis]) : !reads_marked(*stage.body));
      axes_.push_back(axis);
      shapes_.push_back(stage.shape);
    }
  }
  bool keeps() const { return keeps_; }

 private:
  bool stays(const ExprNode& e, Symbol place) {
    const auto mentions = [&](const Polynomial& form) { return form.mentions(place); };
    // Nothing is said of a place by what holds at all of them.
    const auto constrained = [&](const auto& constraints) {
      return std::ranges::any_of(constraints, [&](const ops::Constraint& c) {
        const Polynomial form = value(c.expression);
        return mentions(form) &&
               (c.kind != ops::Constraint::Kind::kNonNegative ||
                (form != Polynomial(place) && form != kMark - 1 - Polynomial(place)));
      });
    };
    const auto bound = [&](const auto& binders) {
      return std::ranges::any_of(
          binders, [&](const auto& b) { return mentions(b.low) || mentions(b.high); });
    };
    for (const ops::Binder& binder : e.binders)
      if (binder.high - binder.low == Polynomial(1))
        only_.emplace_back(binder.variable, binder.low);
    if (e.kind == ExprKind::kIndexValue && std::ranges::any_of(e.index, mentions)) return false;
    if (e.kind == ExprKind::kReadFlat &&
        !(axes_[e.tensor] ? reads_place(e, place) : !mentions(e.index[0])))
      return false;
    if (e.kind == ExprKind::kRead) {
      for (std::size_t d = 0; d < e.index.size(); ++d) {
        const bool here = axes_[e.tensor] == d;
        if (here ? value(e.index[d]) != Polynomial(place) : mentions(e.index[d])) return false;
      }
    }
    if (constrained(e.constraints) || bound(e.binders)) return false;
    for (const auto& alternative : e.alternatives)
      if (constrained(alternative.constraints) || bound(alternative.binders) ||
          !stays(*alternative.body, place))
        return false;
    return std::ranges::all_of(e.arguments,
                               [&](const Expr& argument) { return stays(*argument, place); });
  }

  /// Whether an element is read by its number at that place of the marked axis: the number is a
  /// multiple of all places, the place with what is behind it, and an element of that.
  bool reads_place(const ExprNode& e, Symbol place) const {
    const Shape& shape = shapes_[e.tensor];
    std::int64_t behind = 1;
    for (std::size_t d = *axes_[e.tensor] + 1; d < shape.size(); ++d) {
      if (!shape[d].is_constant()) return false;
      behind *= shape[d].constant();
    }
    const Polynomial rest = e.index[0] - behind * Polynomial(place);
    const auto fits = [&](std::int64_t factor) {
      return factor % (behind * kMark) == 0 || std::abs(factor) < behind;
    };
    return !rest.mentions(place) && fits(rest.constant()) &&
           std::ranges::all_of(rest.terms(),
                               [&](const auto& term) { return fits(term.coefficient); });
  }

  /// With variables of one value replaced by it.
  Polynomial value(const Polynomial& form) const {
    return form.substitute([&](Symbol symbol) {
      const auto known =
          std::ranges::find(only_, symbol, [](const auto& entry) { return entry.first; });
      return known == only_.end() ? Polynomial(symbol) : known->second;
    });
  }

  bool reads_marked(const ExprNode& e) const {
    if ((e.kind == ExprKind::kRead || e.kind == ExprKind::kReadFlat) && axes_[e.tensor])
      return true;
    for (const auto& alternative : e.alternatives)
      if (reads_marked(*alternative.body)) return true;
    return std::ranges::any_of(e.arguments,
                               [&](const Expr& argument) { return reads_marked(*argument); });
  }

  std::vector<std::optional<std::size_t>> axes_;  // by tensor: inputs, then stages
  std::vector<Shape> shapes_;                     // likewise
  std::vector<std::pair<Symbol, Polynomial>> only_;
  bool keeps_ = true;
};

/// Sizes before an axis, as a number.
std::optional<std::int64_t> count_before(const Shape& shape, std::size_t axis) {
  const auto dims = core::concrete(Shape(shape.begin(), shape.begin() + static_cast<long>(axis)));
  return dims ? core::checked_element_count(*dims) : std::nullopt;
}

TensorType unknown_type() {
  TensorType type;
  type.shape_known = false;
  return type;
}

const core::AttributeSchema* shape_attribute(const Node& node) {
  return node.op->find_role(AttributeRole::kShape);
}

}  // namespace

std::optional<Linearity> linearity_in(const Graph& graph, const Node& node,
                                      const std::vector<bool>& operands) {
  const ops::OpDefinition* const op = ops::definition_of(node);
  if (op == nullptr) return std::nullopt;
  std::vector<TensorType> inputs, outputs;
  for (const core::TensorId id : node.inputs)
    inputs.push_back(id.valid() ? graph.tensor(id).type : unknown_type());
  for (const core::TensorId id : node.outputs) outputs.push_back(graph.tensor(id).type);
  const ops::Semantics semantics = op->semantics({node.attributes, inputs, outputs});
  TermReader reader(semantics.input_count, operands);
  for (const ops::Stage& stage : semantics.stages)
    if (!reader.add_stage(stage.body)) return std::nullopt;
  for (const ops::Requirement& requirement : semantics.requirements)
    if (!reader.is_constant(requirement.value)) return std::nullopt;
  Linearity result{std::vector<bool>(node.inputs.size(), true)};
  for (const std::uint32_t output : semantics.outputs) {
    const Terms& terms = reader.terms(output);
    if (!terms.linear) return std::nullopt;
    for (const std::uint32_t k : *terms.linear) result.is_added[k] = false;
  }
  for (std::size_t k = 0; k < node.inputs.size(); ++k)
    if (operands[k] || !node.inputs[k].valid()) result.is_added[k] = false;
  return result;
}

std::optional<std::size_t> place_in_shape(const Node& node, const Shape& operand, std::size_t axis,
                                          const Shape& result) {
  if (node.op->movement == Movement::kRepeat) {
    if (result.size() < operand.size()) return std::nullopt;
    return result.size() - operand.size() + axis;
  }
  const auto before = count_before(operand, axis);
  // Of axes of size 1 that lie together, the first is the first.
  std::size_t first = axis;
  while (first > 0 && operand[first - 1] == Polynomial(1)) --first;
  const std::size_t ones = operand[axis] == Polynomial(1) ? axis - first : 0;
  std::size_t skipped = 0;
  for (std::size_t d = 0; d < result.size(); ++d) {
    if (result[d] != operand[axis] || count_before(result, d) != before) continue;
    if (skipped++ == ones) return d;
  }
  return std::nullopt;
}

std::optional<std::vector<std::size_t>>
kept_axis(const Graph& graph, const Node& node,
          const std::vector<std::optional<std::size_t>>& axes) {
  const ops::OpDefinition* const op = ops::definition_of(node);
  if (op == nullptr) return std::nullopt;
  core::Attributes attributes = node.attributes;
  std::vector<TensorType> inputs;
  for (std::size_t k = 0; k < node.inputs.size(); ++k) {
    const core::TensorId id = node.inputs[k];
    inputs.push_back(id.valid() ? graph.tensor(id).type : unknown_type());
    if (!axes[k]) continue;
    const Shape before = inputs.back().shape;
    inputs.back().shape[*axes[k]] = kMark;
    if (const auto* const shape = shape_attribute(node)) {
      const Shape& result = graph.tensor(node.outputs[0]).type.shape;
      const auto place = place_in_shape(node, before, *axes[k], result);
      if (!place) return std::nullopt;
      auto sizes = attributes.get_sizes(shape->name);
      if (sizes.size() != result.size()) return std::nullopt;
      sizes[*place] = kMark;
      attributes.set(shape->name, sizes);
    }
  }
  const auto outputs = ops::infer_types(*op, attributes, inputs);
  if (!outputs) return std::nullopt;
  std::vector<std::size_t> places;
  for (const TensorType& type : *outputs) {
    const auto place = marked_axis(type.shape);
    if (!place) return std::nullopt;
    places.push_back(*place);
  }
  if (node.op->movement == Movement::kReshape) return places;
  const ops::Semantics semantics = op->semantics({attributes, inputs, *outputs});
  if (!PlaceCheck(semantics, axes, inputs).keeps()) return std::nullopt;
  return places;
}

}  // namespace soapstone::transforms
