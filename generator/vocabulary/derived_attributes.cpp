// One function for each attribute that depends on types. A dimension is cut where its size says
// that it was joined: 2·n after n, m + n after m and after n.
#include "generator/vocabulary/derived_attributes.h"

#include <algorithm>
#include <numeric>

namespace soapstone::generator {
namespace {

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

void add_axes(const Attributes& given, std::size_t rank, Choices& choices) {
  for (std::size_t axis = 0; axis < rank; ++axis) {
    Attributes a = given;
    a.set("axis", Polynomial(static_cast<std::int64_t>(axis)));
    choices.push_back(std::move(a));
  }
}

/// Sizes of equal parts; empty if the dimension was not joined of so many.
Sizes equal_parts(const Polynomial& size, std::size_t count) {
  for (const auto& [part, rest] : cuts(size))
    if (part * static_cast<std::int64_t>(count) == size) return Sizes(count, part);
  return {};
}

void add_splits(const Attributes& given, const Shape& shape, std::size_t axes, std::size_t parts,
                Choices& choices) {
  for (std::size_t axis = 0; axis < axes; ++axis) {
    const auto add = [&](Sizes sizes) {
      Attributes a = given;
      a.set("axis", Polynomial(static_cast<std::int64_t>(axis)));
      a.set("sizes", std::move(sizes));
      choices.push_back(std::move(a));
    };
    for (const auto& [first, second] : cuts(shape[axis])) add({first, second});
    for (std::size_t count = 3; count <= parts; ++count)
      if (Sizes sizes = equal_parts(shape[axis], count); !sizes.empty()) add(std::move(sizes));
  }
}

void add_slices(const Attributes& given, const Shape& shape, std::size_t axes, Choices& choices) {
  for (std::size_t axis = 0; axis < axes; ++axis)
    for (const auto& [first, second] : cuts(shape[axis])) {
      const auto add = [&](const Polynomial& start, const Polynomial& size, std::int64_t step) {
        Attributes a = given;
        a.set("axes", Sizes{static_cast<std::int64_t>(axis)});
        a.set("starts", Sizes{start});
        a.set("sizes", Sizes{size});
        a.set("steps", Sizes{step});
        choices.push_back(std::move(a));
      };
      add(0, first, 1);
      add(first, second, 1);
      if (first == second) add(0, first, 2);
    }
}

/// A whole input's size before or after, along each dimension that is one input long.
void add_pads(const Attributes& given, const Shape& shape, std::size_t axes, Choices& choices) {
  for (std::size_t axis = 0; axis < axes; ++axis) {
    if (shape[axis].is_constant() || !cuts(shape[axis]).empty()) continue;
    for (std::size_t side = 0; side < 2; ++side) {
      Sizes pads(2 * shape.size(), Polynomial(0));
      pads[side * shape.size() + axis] = shape[axis];
      Attributes a = given;
      a.set("pads", pads);
      choices.push_back(std::move(a));
    }
  }
  if (!is_image(shape)) return;
  Attributes border = given;
  border.set("pads", Sizes{0, 0, 1, 1, 0, 0, 1, 1});
  choices.push_back(std::move(border));
}

void add_permutations(const Attributes& given, std::size_t rank, Choices& choices) {
  if (rank < 2) return;
  std::vector<std::int64_t> order(rank);
  std::iota(order.begin(), order.end(), 0);
  while (std::ranges::next_permutation(order).found) {
    Attributes a = given;
    a.set("perm", Sizes(order.begin(), order.end()));
    choices.push_back(std::move(a));
    // With four dimensions or more, only permutations that exchange two are tried.
    if (rank > 3) {
      const auto moved = std::ranges::count_if(
          order, [&, d = std::int64_t{0}](std::int64_t v) mutable { return v != d++; });
      if (moved > 2) choices.pop_back();
    }
  }
}

void add_shapes(const Attributes& given, const Shape& shape, std::span<const Shape> shapes,
                Choices& choices) {
  const auto add = [&](Shape to) {
    if (to == shape) return;
    Attributes a = given;
    a.set("shape", std::move(to));
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

void add_expansions(const Attributes& given, const Shape& shape, std::span<const Shape> shapes,
                    Choices& choices) {
  for (const Shape& to : shapes) {
    if (to == shape || to.size() < shape.size()) continue;
    Attributes a = given;
    a.set("shape", to);
    choices.push_back(std::move(a));
  }
}

/// Valid and same padding for the window.
void add_window_pads(const Attributes& given, const Sizes& window, Choices& choices) {
  Sizes same(4, Polynomial(0));
  for (std::size_t d = 0; d < 2; ++d) {
    const auto size = window[d].as_constant();
    if (!size || *size % 2 == 0) return;
    same[d] = same[d + 2] = Polynomial((*size - 1) / 2);
  }
  const Sizes valid(4, Polynomial(0));
  for (const Sizes& pads : {same, valid}) {
    Attributes a = given;
    a.set("pads", pads);
    choices.push_back(std::move(a));
    if (same == valid) return;
  }
}

/// An instance that has pads wants one padding alone: none, or that which keeps the size.
bool is_valid_only(const OperatorInstance& instance) {
  return instance.attributes.find("pads") != nullptr &&
         instance.attributes.get_sizes("pads")[0] == 0;
}
bool is_same_only(const OperatorInstance& instance) {
  return instance.attributes.find("pads") != nullptr && !is_valid_only(instance);
}

void add_windows(const OperatorInstance& instance, const Shape& x, const Shape* kernel,
                 Choices& choices) {
  if (!is_image(x) || (kernel != nullptr && kernel->size() != 4)) return;
  const Sizes window = kernel != nullptr ? Sizes{(*kernel)[2], (*kernel)[3]}
                                         : instance.attributes.get_sizes("kernel");
  Choices found;
  add_window_pads(instance.attributes, window, found);
  if (is_same_only(instance) && found.size() > 1) found.pop_back();
  if (is_valid_only(instance) && found.size() > 1) found.erase(found.begin());
  choices.insert(choices.end(), found.begin(), found.end());
}

}  // namespace

std::vector<Attributes> complete_for(const Vocabulary& vocabulary, const OperatorInstance& instance,
                                     std::span<const TensorType* const> operands,
                                     std::span<const Shape> shapes) {
  const std::string& op = instance.op->name;
  const Attributes& given = instance.attributes;
  Choices choices;
  if (operands.empty()) return {given};
  const Shape& x = operands[0]->shape;
  const std::size_t axes = std::min(x.size(), vocabulary.most_axes);
  const bool same_types =
      std::ranges::all_of(operands, [&](const TensorType* t) { return *t == *operands[0]; });
  const bool scales = op == "mul" && std::ranges::any_of(operands, [](const TensorType* t) {
                        return t->shape.empty();
                      });
  if (!vocabulary.has_broadcasts && !same_types && instance.op->commutative && !scales) return {};
  // Images and kernels are multiplied only where inputs of such rank are asked for.
  if (op == "matmul" && x.size() > 2 &&
      std::ranges::find(vocabulary.ranks, x.size()) == vocabulary.ranks.end())
    return {};
  if (op == "split") {
    add_splits(given, x, axes, vocabulary.most_parts, choices);
  } else if (op == "slice") {
    add_slices(given, x, axes, choices);
  } else if (op == "pad") {
    add_pads(given, x, axes, choices);
  } else if (op == "transpose") {
    if (x.size() <= vocabulary.most_transposed) add_permutations(given, x.size(), choices);
  } else if (op == "reshape") {
    add_shapes(given, x, shapes, choices);
  } else if (op == "expand") {
    add_expansions(given, x, shapes, choices);
  } else if (op == "conv") {
    add_windows(instance, x, &operands[1]->shape, choices);
  } else if (op == "max_pool" || op == "average_pool") {
    add_windows(instance, x, nullptr, choices);
  } else if (op == "enlarge") {
    if (!is_image(x)) choices.push_back(given);
  } else if (op == "layer_norm" || op == "rms_norm" || op == "softmax") {
    Attributes a = given;
    if (x.empty()) return {};
    a.set("axis", Polynomial(static_cast<std::int64_t>(x.size()) - 1));
    choices.push_back(std::move(a));
  } else if (instance.op->find_attribute("axis") != nullptr) {
    add_axes(given, axes, choices);
  } else {
    choices.push_back(given);
  }
  return choices;
}

}  // namespace soapstone::generator
