// The stages of the adjoint: those of the operator again, then, from its last stage to its first
// and to the input, the cotangent of each. A value that a cotangent multiplies and that is itself a
// sum or a maximum becomes a stage of its own, so that it is computed once.
#include "ops/gradients/adjoint.h"

#include <optional>

#include "core/base/check.h"
#include "ops/definition/indexing.h"
#include "ops/gradients/pruning.h"
#include "ops/gradients/readings.h"

namespace soapstone::ops {
namespace {

bool is_read(const Expr& e) { return e->kind == ExprKind::kRead || e->kind == ExprKind::kReadFlat; }

/// The expression with reads of the same element as `read` replaced by `element`.
Expr with_element(const Expr& e, const ExprNode& read, const Expr& element) {
  if (e->kind == read.kind && is_read(e) && e->tensor == read.tensor && e->index == read.index)
    return element;
  ExprNode node = *e;
  for (Alternative& a : node.alternatives) a.body = with_element(a.body, read, element);
  for (Expr& argument : node.arguments) argument = with_element(argument, read, element);
  return std::make_shared<const ExprNode>(std::move(node));
}

class Adjoint {
 public:
  explicit Adjoint(const AdjointOf& question)
      : question_(question), forward_(question.forward), fresh_(question.forward) {
    const auto outputs = static_cast<std::uint32_t>(forward_.outputs.size());
    CHECK(question.input < forward_.input_count && question.has_cotangent.size() == outputs &&
              question.input_shapes.size() == forward_.input_count,
          "an adjoint is asked for with inputs or cotangents that the operator has not");
    result_.input_count = forward_.input_count + outputs;
    for (std::uint32_t t = 0; t < forward_.input_count; ++t) numbers_.push_back(t);
    for (std::uint32_t s = 0; s < forward_.stages.size(); ++s)
      numbers_.push_back(result_.input_count + s);
  }

  Semantics run() {
    copy_forward();
    for (std::size_t s = forward_.stages.size(); s-- > 0;) {
      const std::uint32_t tensor = numbers_[forward_.input_count + s];
      if (!is_sensitive_.contains(tensor)) continue;
      if (const auto cotangent = cotangent_of(tensor, forward_.stages[s].shape))
        through(result_.stages[s], tensor, *cotangent);
    }
    result_.outputs = {
        stage_of_cotangent(question_.input, question_.input_shapes[question_.input])};
    return pruned(std::move(result_));
  }

 private:
  /// The operator's stages, with the numbers that tensors have in the result.
  void copy_forward() {
    is_sensitive_.insert(question_.input);
    for (const Stage& stage : forward_.stages) {
      result_.stages.push_back({stage.shape, stage.index, with_tensors(stage.body, numbers_)});
      if (reads_any(result_.stages.back().body, is_sensitive_))
        is_sensitive_.insert(numbers_[forward_.input_count + result_.stages.size() - 1]);
    }
    result_.requirements = forward_.requirements;
    for (Requirement& r : result_.requirements) r.value = with_tensors(r.value, numbers_);
  }

  // --- Cotangents --------------------------------------------------------------------------------

  /// The cotangents of the outputs that the tensor is.
  std::vector<std::uint32_t> given_cotangents(std::uint32_t tensor) const {
    std::vector<std::uint32_t> given;
    for (std::uint32_t k = 0; k < forward_.outputs.size(); ++k)
      if (question_.has_cotangent[k] && numbers_[forward_.outputs[k]] == tensor)
        given.push_back(forward_.input_count + k);
    return given;
  }

  /// None: L does not depend on the tensor.
  std::optional<std::uint32_t> cotangent_of(std::uint32_t tensor, const Shape& shape) {
    const auto given = given_cotangents(tensor);
    const bool has_readers = readings_.contains(tensor);
    if (!has_readers && given.empty()) return std::nullopt;
    if (!has_readers && given.size() == 1) return given.front();
    return stage_of_cotangent(tensor, shape);
  }

  std::uint32_t stage_of_cotangent(std::uint32_t tensor, const Shape& shape) {
    Stage stage{shape, {}, number(Rational{0, 1})};
    for (std::size_t d = 0; d < shape.size(); ++d) stage.index.push_back(fresh_());
    for (const std::uint32_t given : given_cotangents(tensor))
      stage.body = stage.body + read(given, indices(stage.index));
    for (const Reading& reading : readings_[tensor])
      stage.body = stage.body + gathered(reading, stage);
    return add_stage(result_, std::move(stage));
  }

  /// What one place of reading adds to the cotangent of the element at the index of `target`.
  Expr gathered(const Reading& reading, const Stage& target) {
    const std::vector<Polynomial> element = indices(target.index);
    if (auto moved = read_in_same_order(reading, target)) return moved;
    const Expr body =
        with_element(product_at(reading.place), *reading.read, read(reading.read->tensor, element));
    IndexDomain domain = reading.place.domain;
    if (reading.read->kind == ExprKind::kReadFlat) {
      domain.constraints.push_back(
          equal(reading.read->index[0], flat_position(target.shape, element)));
    } else {
      for (std::size_t d = 0; d < element.size(); ++d)
        domain.constraints.push_back(equal(reading.read->index[d], element[d]));
    }
    std::vector<Binder> around;
    for (std::size_t d = 0; d < element.size(); ++d)
      around.push_back({target.index[d], 0, target.shape[d]});
    const Substitution values = eliminate(domain, around);
    return fresh_sum(domain.binders, body, domain.constraints, values, fresh_);
  }

  /// If all elements are read in row-major order, as a reshape does, the cotangent is read in that
  /// order, too. Null: they are not.
  static Expr read_in_same_order(const Reading& reading, const Stage& target) {
    const auto& [domain, factors, selected_if] = reading.place;
    if (reading.read->kind != ExprKind::kReadFlat || factors.size() != 1 || !selected_if.empty() ||
        !domain.constraints.empty() || domain.binders.size() != factors[0]->index.size())
      return nullptr;
    Shape shape;
    for (const Binder& b : domain.binders) shape.push_back(b.high);
    if (reading.read->index[0] != flat_position(shape, factors[0]->index)) return nullptr;
    return read_flat(factors[0]->tensor, flat_position(target.shape, indices(target.index)));
  }

  // --- Through the body of a stage ---------------------------------------------------------------

  void through(const Stage& stage, std::uint32_t tensor, std::uint32_t cotangent) {
    const Expr body = stage.body;  // Stages that are added may move the others.
    Place place;
    for (std::size_t d = 0; d < stage.index.size(); ++d)
      place.domain.binders.push_back({stage.index[d], 0, stage.shape[d]});
    place.factors.push_back(read(cotangent, indices(stage.index)));
    values_.begin(body, read(tensor, indices(stage.index)));
    BodyWalk(is_sensitive_, values_, fresh_, readings_).visit(body, std::move(place));
  }

  const AdjointOf& question_;
  const Semantics& forward_;
  FreshVariables fresh_;
  Semantics result_;
  std::vector<std::uint32_t> numbers_;    // in the result, of the operator's tensors
  std::set<std::uint32_t> is_sensitive_;  // tensors of the result that depend on the input
  Readings readings_;
  SharedValues values_{result_, fresh_};
};

}  // namespace

Semantics adjoint(const AdjointOf& question) { return Adjoint(question).run(); }

}  // namespace soapstone::ops
