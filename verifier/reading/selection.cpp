// See selection.h.
#include "verifier/reading/selection.h"

#include <algorithm>

namespace soapstone::verifier {
namespace {

using ops::ExprKind;
using ops::ExprNode;
using ops::Function;
using ops::Polynomial;

bool is_value(const ExprNode& node, const Polynomial& value) {
  if (node.kind == ExprKind::kIndexValue) return node.index[0] == value;
  return node.kind == ExprKind::kNumber && node.number.denominator == 1 &&
         value == Polynomial(node.number.numerator);
}

/// The tensor if the expression reads its element at exactly this index.
std::optional<std::uint32_t> whole_read(const ExprNode& node,
                                        const std::vector<ops::Symbol>& index) {
  const bool reads = node.kind == ExprKind::kRead &&
                     std::ranges::equal(node.index, index, [](const auto& p, ops::Symbol symbol) {
                       return p == Polynomial(symbol);
                     });
  return reads ? std::optional(node.tensor) : std::nullopt;
}

/// The tensor x if the stage is: x + size where x < 0, else x.
std::optional<std::uint32_t> counted_from_end(const ops::Stage& stage, const Polynomial& size) {
  const ExprNode& body = *stage.body;
  if (body.kind != ExprKind::kApply || body.function != Function::kSelect) return std::nullopt;
  const ExprNode &below = *body.arguments[0], &wrapped = *body.arguments[1];
  const auto x = whole_read(*body.arguments[2], stage.index);
  const auto is_x = [&](const ExprNode& node) { return whole_read(node, stage.index) == x; };
  const bool fits = x && below.kind == ExprKind::kApply && below.function == Function::kLess &&
                    is_x(*below.arguments[0]) && is_value(*below.arguments[1], 0) &&
                    wrapped.kind == ExprKind::kAdd && wrapped.arguments.size() == 2 &&
                    is_x(*wrapped.arguments[0]) && is_value(*wrapped.arguments[1], size);
  return fits ? x : std::nullopt;
}

/// Whether all elements of the tensor are required to be in [−size, size).
bool is_required(const ops::Semantics& meaning, std::uint32_t tensor, const ops::Shape& shape,
                 const Polynomial& size) {
  return std::ranges::any_of(meaning.requirements, [&](const ops::Requirement& each) {
    return whole_read(*each.value, each.index) == tensor && each.shape == shape &&
           each.low == -size && each.high == size;
  });
}

}  // namespace

std::optional<ops::Expr> selecting_place(const ops::ExprNode& sum) {
  if (sum.kind != ExprKind::kSum || sum.binders.size() != 1 || !sum.constraints.empty() ||
      sum.arguments[0]->kind != ExprKind::kMul)
    return std::nullopt;
  const ops::Symbol variable = sum.binders[0].variable;
  const ExprNode& test = *sum.arguments[0]->arguments[0];
  if (test.kind != ExprKind::kApply || test.function != Function::kEqual ||
      !is_value(*test.arguments[1], variable))
    return std::nullopt;
  const ops::Expr& place = test.arguments[0];
  const bool is_element =
      place->kind == ExprKind::kRead &&
      std::ranges::none_of(place->index, [&](const Polynomial& p) { return p.mentions(variable); });
  return is_element ? std::optional(place) : std::nullopt;
}

std::optional<Selection> selection_of(const ops::Semantics& meaning, const ops::Stage& stage) {
  const auto place = selecting_place(*stage.body);
  if (!place || (*place)->tensor < meaning.input_count) return std::nullopt;
  const ops::Binder& binder = stage.body->binders[0];
  if (binder.low != Polynomial(0)) return std::nullopt;
  const ops::Stage& places = meaning.stages[(*place)->tensor - meaning.input_count];
  const auto index = counted_from_end(places, binder.high);
  if (!index || !is_required(meaning, *index, places.shape, binder.high)) return std::nullopt;
  return Selection{*place, binder.high};
}

}  // namespace soapstone::verifier
