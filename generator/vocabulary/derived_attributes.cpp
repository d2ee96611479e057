// One function for each attribute that depends on types. A dimension is cut where its size says
// that it was joined: 2·n after n, m + n after m and after n.
#include "generator/vocabulary/derived_attributes.h"

#include <algorithm>
#include <numeric>

#include "ops/analysis/arithmetic.h"
#include "ops/definition/registry.h"

namespace soapstone::generator {
namespace {

using core::AttributeRole;
using core::Attributes;
using core::Polynomial;
using core::Shape;
using core::TensorType;
using Sizes = std::vector<Polynomial>;
using Choices = std::vector<Attributes>;

Polynomial product(std::span<const Polynomial> sizes) {
  Polynomial result = 1;
  for (const Polynomial& s : sizes) result *= s;
  return result;
}

/// The operator, and the attributes that are chosen so far.
struct Chosen {
  const core::OpSchema& op;
  const Attributes& given;

  /// Sets the attribute with that role.
  void set(Attributes& attributes, AttributeRole role, core::AttributeValue value) const {
    attributes.set(op.find_role(role)->name, std::move(value));
  }
  /// The chosen attributes and one more.
  Attributes with(AttributeRole role, core::AttributeValue value) const {
    Attributes result = given;
    set(result, role, std::move(value));
    return result;
  }
};

/// Windows slide over these; a fixed height or width is a kernel's.
bool is_image(const Shape& shape) {
  return shape.size() == 4 && !shape[2].is_constant() && !shape[3].is_constant();
}

/// Sizes of two parts of a dimension; empty if it is in one piece.
std::vector<std::pair<Polynomial, Polynomial>> cuts(const Polynomial& size) {
  std::vector<std::pair<Polynomial, Polynomial>> result;
  if (size.is_constant()) return result;
  for (const auto& term : size.terms()) {
    Polynomial part = 1;
    for (core::Symbol s : term.monomial) part *= Polynomial(s);
    if (term.coefficient < 0 || part == size) continue;
    result.emplace_back(part, size - part);
    if (size - part != part) result.emplace_back(size - part, part);
  }
  return result;
}

void add_axis(const Chosen& chosen, std::size_t axis, Choices& choices) {
  choices.push_back(chosen.with(AttributeRole::kAxis, Polynomial(static_cast<std::int64_t>(axis))));
}

/// Sizes of equal parts; empty if the dimension was not joined of so many.
Sizes equal_parts(const Polynomial& size, std::size_t count) {
  for (const auto& [part, rest] : cuts(size))
    if (part * static_cast<std::int64_t>(count) == size) return Sizes(count, part);
  return {};
}

void add_splits(const Chosen& chosen, const Shape& shape, std::size_t axes, std::size_t parts,
                Choices& choices) {
  for (std::size_t axis = 0; axis < axes; ++axis) {
    const auto add = [&](Sizes sizes) {
      Attributes a = chosen.with(AttributeRole::kAxis, Polynomial(static_cast<std::int64_t>(axis)));
      chosen.set(a, AttributeRole::kParts, std::move(sizes));
      choices.push_back(std::move(a));
    };
    for (const auto& [first, second] : cuts(shape[axis])) add({first, second});
    for (std::size_t count = 3; count <= parts; ++count)
      if (Sizes sizes = equal_parts(shape[axis], count); !sizes.empty()) add(std::move(sizes));
  }
}

void add_slices(const Chosen& chosen, const Shape& shape, std::size_t axes, Choices& choices) {
  for (std::size_t axis = 0; axis < axes; ++axis)
    for (const auto& [first, second] : cuts(shape[axis])) {
      const auto add = [&](const Polynomial& from, const Polynomial& size, std::int64_t step) {
        Attributes a = chosen.with(AttributeRole::kAxes, Sizes{static_cast<std::int64_t>(axis)});
        chosen.set(a, AttributeRole::kStart, Sizes{from});
        chosen.set(a, AttributeRole::kExtent, Sizes{size});
        chosen.set(a, AttributeRole::kStep, Sizes{step});
        choices.push_back(std::move(a));
      };
      add(0, first, 1);
      add(first, second, 1);
      if (first == second) add(0, first, 2);
    }
}

/// A whole input's size before or after, along each dimension that is one input long.
void add_pads(const Chosen& chosen, const Shape& shape, std::size_t axes, Choices& choices) {
  for (std::size_t axis = 0; axis < axes; ++axis) {
    if (shape[axis].is_constant() || !cuts(shape[axis]).empty()) continue;
    for (std::size_t side = 0; side < 2; ++side) {
      Sizes pads(2 * shape.size(), Polynomial(0));
      pads[side * shape.size() + axis] = shape[axis];
      choices.push_back(chosen.with(AttributeRole::kBorder, pads));
    }
  }
  if (is_image(shape))
    choices.push_back(chosen.with(AttributeRole::kBorder, Sizes{0, 0, 1, 1, 0, 0, 1, 1}));
}

void add_permutations(const Chosen& chosen, std::size_t rank, Choices& choices) {
  if (rank < 2) return;
  std::vector<std::int64_t> order(rank);
  std::iota(order.begin(), order.end(), 0);
  while (std::ranges::next_permutation(order).found) {
    choices.push_back(chosen.with(AttributeRole::kPermutation, Sizes(order.begin(), order.end())));
    // Orders of four dimensions are tried only if they exchange two.
    if (rank > 3) {
      const auto moved = std::ranges::count_if(
          order, [&, d = std::int64_t{0}](std::int64_t v) mutable { return v != d++; });
      if (moved > 2) choices.pop_back();
    }
  }
}

void add_shapes(const Chosen& chosen, const Shape& shape, std::span<const Shape> shapes,
                Choices& choices) {
  const auto add = [&](Shape to) {
    if (to == shape) return;
    Attributes a = chosen.with(AttributeRole::kShape, std::move(to));
    // A dimension of 1 may be merged either way.
    if (std::ranges::find(choices, a) == choices.end()) choices.push_back(std::move(a));
  };
  for (const Shape& to : shapes)
    if (product(to) == product(shape)) add(to);
  for (std::size_t d = 0; d + 1 < shape.size(); ++d) {
    Shape merged = shape;
    merged[d] *= merged[d + 1];
    merged.erase(merged.begin() + static_cast<std::ptrdiff_t>(d) + 1);
    if (std::ranges::find(shapes, merged) == shapes.end()) add(std::move(merged));
  }
}

void add_expansions(const Chosen& chosen, const Shape& shape, std::span<const Shape> shapes,
                    Choices& choices) {
  for (const Shape& to : shapes) {
    if (to == shape || to.size() < shape.size()) continue;
    choices.push_back(chosen.with(AttributeRole::kShape, to));
  }
}

/// Valid and same padding for the window.
void add_window_pads(const Chosen& chosen, const Sizes& window, Choices& choices) {
  Sizes same(4, Polynomial(0));
  for (std::size_t d = 0; d < 2; ++d) {
    const auto size = window[d].as_constant();
    if (!size || *size % 2 == 0) return;
    same[d] = same[d + 2] = Polynomial((*size - 1) / 2);
  }
  const Sizes valid(4, Polynomial(0));
  for (const Sizes& pads : {same, valid}) {
    choices.push_back(chosen.with(AttributeRole::kPad, pads));
    if (same == valid) return;
  }
}

/// The padding to which an instance is tied; null: any will do.
const Sizes* only_pads(const OperatorInstance& instance) {
  const core::AttributeSchema* pads = instance.op->find_role(AttributeRole::kPad);
  const core::AttributeValue* value = instance.attributes.find(pads->name);
  return value == nullptr ? nullptr : &std::get<Sizes>(*value);
}

void add_windows(const OperatorInstance& instance, const Shape& x, const Shape* kernel,
                 Choices& choices) {
  if (!is_image(x) || (kernel != nullptr && kernel->size() != 4)) return;
  const Sizes window =
      kernel != nullptr
          ? Sizes{(*kernel)[2], (*kernel)[3]}
          : instance.attributes.get_sizes(instance.op->find_role(AttributeRole::kWindow)->name);
  Choices found;
  add_window_pads({*instance.op, instance.attributes}, window, found);
  const Sizes* only = only_pads(instance);
  if (only != nullptr && found.size() > 1) {
    const bool keeps_size = (*only)[0] != Polynomial(0);
    found = {found[keeps_size ? 0 : 1]};
  }
  choices.insert(choices.end(), found.begin(), found.end());
}

/// Softmax, layer norm and their like: along the last dimension.
bool is_normalization(const core::OpSchema& op) {
  const ops::OpDefinition* definition = ops::registry().definition(op.name);
  return definition != nullptr && definition->op_class == ops::OpClass::kNormalization;
}

/// Whether the operands' types are among those that the vocabulary is about.
bool admits(const Vocabulary& vocabulary, const core::OpSchema& op,
            std::span<const TensorType* const> operands) {
  const bool same_types =
      std::ranges::all_of(operands, [&](const TensorType* t) { return *t == *operands[0]; });
  const auto scales = [&] {
    return ops::arithmetic_of(op) == ops::Arithmetic::kProduct &&
           std::ranges::any_of(operands, [](const TensorType* t) { return t->shape.empty(); });
  };
  const bool is_elementwise =
      ops::registry().definition(op.name)->op_class == ops::OpClass::kElementwise;
  if (!vocabulary.has_broadcasts && !same_types && is_elementwise && !scales()) return false;
  // Images and kernels are multiplied only where inputs of such rank are asked for.
  const std::size_t rank = operands[0]->shape.size();
  return !op.has_operand(core::OperandRole::kLeftMatrix) || rank <= 2 ||
         std::ranges::find(vocabulary.ranks, rank) != vocabulary.ranks.end();
}

}  // namespace

std::vector<Attributes> complete_for(const Vocabulary& vocabulary, const OperatorInstance& instance,
                                     std::span<const TensorType* const> operands,
                                     std::span<const Shape> shapes) {
  const core::OpSchema& op = *instance.op;
  const Attributes& given = instance.attributes;
  if (operands.empty()) return {given};
  if (!admits(vocabulary, op, operands)) return {};
  const auto has = [&](AttributeRole role) { return op.find_role(role) != nullptr; };
  const Shape& x = operands[0]->shape;
  const std::size_t axes = std::min(x.size(), vocabulary.most_axes);
  const Chosen chosen{op, given};
  Choices choices;
  if (has(AttributeRole::kParts)) {
    add_splits(chosen, x, axes, vocabulary.most_parts, choices);
  } else if (has(AttributeRole::kStart)) {
    add_slices(chosen, x, axes, choices);
  } else if (has(AttributeRole::kBorder)) {
    add_pads(chosen, x, axes, choices);
  } else if (has(AttributeRole::kPermutation)) {
    if (x.size() <= vocabulary.most_transposed) add_permutations(chosen, x.size(), choices);
  } else if (op.movement == core::Movement::kReshape) {
    add_shapes(chosen, x, shapes, choices);
  } else if (op.movement == core::Movement::kRepeat) {
    add_expansions(chosen, x, shapes, choices);
  } else if (has(AttributeRole::kPad)) {
    const bool has_kernel = op.operand_role(1) == core::OperandRole::kKernel;
    add_windows(instance, x, has_kernel ? &operands[1]->shape : nullptr, choices);
  } else if (has(AttributeRole::kWindow)) {
    if (!is_image(x)) choices.push_back(given);
  } else if (has(AttributeRole::kAxis) && is_normalization(op)) {
    if (!x.empty()) add_axis(chosen, x.size() - 1, choices);
  } else if (has(AttributeRole::kAxis)) {
    for (std::size_t axis = 0; axis < axes; ++axis) add_axis(chosen, axis, choices);
  } else {
    choices.push_back(given);
  }
  return choices;
}

}  // namespace soapstone::generator
