// See broadcast.h. An input that elementwise operators alone read has the shape of their results or
// less. Which choices for all inputs fit each other is found by giving types to the sides.
#include "generator/generalization/broadcast.h"

#include <algorithm>
#include <array>
#include <utility>

#include "generator/sides/rebuild.h"
#include "generator/sides/rule_between.h"

namespace soapstone::generator {
namespace {

using core::Graph;
using core::Polynomial;
using core::Shape;
using core::TensorId;
using rules::Rule;

bool computes_elementwise(const core::OpSchema& op) {
  using enum core::AttributeRole;
  static constexpr std::array kScalars{kReal, kPositiveReal, kVariant};
  constexpr std::size_t kMostOperands = 3;
  return op.movement == core::Movement::kNone && op.max_inputs <= kMostOperands &&
         std::ranges::all_of(op.operand_roles,
                             [](auto role) { return role == core::OperandRole::kData; }) &&
         std::ranges::all_of(op.attributes, [&](const core::AttributeSchema& schema) {
           return std::ranges::find(kScalars, schema.role) != kScalars.end();
         });
}

bool is_symbol(const Polynomial& size) {
  const auto symbols = size.symbols();
  return symbols.size() == 1 && size == Polynomial(symbols[0]);
}

/// The rank of a number for each channel of an image, which is broadcast along both other
/// dimensions.
constexpr std::size_t kOfChannels = 3;

Shape channels_of(const Shape& image) { return {image[image.size() - kOfChannels], 1, 1}; }

bool is_suffix(const Shape& shape, const Shape& of) {
  return shape.size() <= of.size() && std::equal(shape.rbegin(), shape.rend(), of.rbegin());
}

/// All shapes that the rule's inputs may have, each by itself: the largest, one with fewer
/// dimensions, and none. Which one is between them the rule tells: a row, if it has no other.
class ShapeChoices {
 public:
  explicit ShapeChoices(const Rule& rule) : rule_(rule) {
    for (TensorId id : rule.source.inputs()) found_.push_back(rule.source.tensor(id).type.shape);
    for (std::size_t k = 0; k < rule.source.inputs().size(); ++k) {
      const Shape& shape = found_[k];
      const auto largest = result_shape(k);
      if (!largest || shape.size() >= largest->size()) continue;
      by_channel_ |= largest->size() > kOfChannels && shape == channels_of(*largest);
      if (is_suffix(shape, *largest)) rank_between_ = std::max(rank_between_, shape.size());
    }
  }

  /// Those of an input, the largest first.
  std::vector<Shape> of(std::size_t input) const {
    const auto largest = result_shape(input);
    if (!largest) return {found_[input]};
    std::vector<Shape> shapes{*largest};
    const std::size_t rank = by_channel_ ? kOfChannels : rank_between_;
    if (rank < largest->size())
      shapes.push_back(
          by_channel_ ? channels_of(*largest)
                      : Shape(largest->end() - static_cast<std::ptrdiff_t>(rank), largest->end()));
    if (!largest->empty()) shapes.emplace_back();
    if (std::ranges::find(shapes, found_[input]) == shapes.end()) return {found_[input]};
    return shapes;
  }

  const InputShapes& found() const { return found_; }

 private:
  /// The shape of what is made of the input, if that is everywhere the same and elementwise.
  std::optional<Shape> result_shape(std::size_t input) const {
    std::optional<Shape> result;
    for (const Graph* side : {&rule_.source, &rule_.target})
      for (core::NodeId reader : side->consumers(side->inputs()[input])) {
        const core::Node& node = side->node(reader);
        if (!computes_elementwise(*node.op)) return std::nullopt;
        const Shape& shape = side->tensor(node.outputs[0]).type.shape;
        if (!std::ranges::all_of(shape, is_symbol)) return std::nullopt;
        if (!result || shape.size() > result->size()) result = shape;
      }
    return result;
  }

  const Rule& rule_;
  InputShapes found_;
  bool by_channel_ = false;
  std::size_t rank_between_ = 1;
};

std::optional<Rule> with_shapes(const Rule& rule, const InputShapes& shapes) {
  const auto side = [&](const Graph& graph) {
    std::size_t input = 0;
    return rebuilt(
        graph, graph.symbols(), [&](const Shape&) { return shapes[input++]; },
        [](const core::OpSchema&, const std::string&, const core::AttributeValue& value) {
          return value;
        });
  };
  const auto source = side(rule.source), target = side(rule.target);
  if (!source || !target) return std::nullopt;
  auto made = rule_between(*source, *target);
  if (!made || !made->guard.empty() || !made->parameters.empty() ||
      made->derived.size() != rule.derived.size())
    return std::nullopt;
  return made;
}

bool same_results(const Rule& a, const Rule& b) {
  return std::ranges::equal(a.source.outputs(), b.source.outputs(), [&](TensorId x, TensorId y) {
    return a.source.tensor(x).type == b.source.tensor(y).type;
  });
}

/// One of each, the first ones first. Empty if there are too many.
std::vector<InputShapes> combinations(const std::vector<std::vector<Shape>>& of_inputs) {
  constexpr std::size_t kMost = 27;  // three inputs with three shapes each
  std::vector<InputShapes> all{{}};
  for (const std::vector<Shape>& shapes : of_inputs) {
    std::vector<InputShapes> longer;
    for (const InputShapes& before : all)
      for (const Shape& shape : shapes) {
        longer.push_back(before);
        longer.back().push_back(shape);
      }
    if (longer.size() > kMost) return {};
    all = std::move(longer);
  }
  return all;
}

}  // namespace

std::optional<Broadcasts> broadcasts_of(const Rule& rule) {
  if (!rule.guard.empty() || !rule.parameters.empty()) return std::nullopt;
  const ShapeChoices choices(rule);
  std::vector<std::vector<Shape>> of_inputs;
  for (std::size_t k = 0; k < rule.source.inputs().size(); ++k) of_inputs.push_back(choices.of(k));
  std::optional<Broadcasts> result;
  for (InputShapes& shapes : combinations(of_inputs)) {
    auto made = with_shapes(rule, shapes);
    if (!made) continue;
    if (result && !same_results(*made, result->largest)) continue;
    if (!result) result = Broadcasts{*std::move(made), {}};
    result->choices.push_back(std::move(shapes));
  }
  if (!result || result->choices.size() < 2 || choices.found() == result->choices[0])
    return std::nullopt;
  // Numbers alone are no tensors of one dimension or more.
  InputShapes numbers(of_inputs.size());
  if (with_shapes(rule, numbers)) result->choices.push_back(std::move(numbers));
  return result;
}

}  // namespace soapstone::generator
