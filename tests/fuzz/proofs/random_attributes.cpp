// Attributes that have a chance to fit: the values that the registry offers to the generator, and
// what shapes of operands suggest.
#include <algorithm>
#include <numeric>

#include "tests/fuzz/proofs/random_terms.h"

namespace soapstone::fuzz {
namespace {

using core::AttributeValue;
using core::Polynomial;
using core::Shape;
using Sizes = std::vector<Polynomial>;

class AttributeDraw {
 public:
  AttributeDraw(const ops::OpDefinition& op, const std::vector<const Term*>& operands,
                const World& world, rules::Random& random)
      : op_(op), operands_(operands), world_(world), random_(random) {
    if (!operands.empty()) rank_ = operands[0]->samples[0].dims.size();
    if (rank_ > 0) axis_ = random.next() % rank_;
  }

  std::optional<core::Attributes> run() {
    core::Attributes attributes;
    // The extent of a slice decides where it begins, so `sizes` is drawn before `starts`.
    std::vector<core::AttributeSchema> schemas = op_.attributes;
    std::stable_partition(schemas.begin(), schemas.end(),
                          [](const auto& s) { return s.name == "sizes"; });
    for (const core::AttributeSchema& schema : schemas) {
      const auto value = draw(schema);
      if (!value) return std::nullopt;
      attributes.set(schema.name, *value);
    }
    return attributes;
  }

 private:
  std::size_t below(std::size_t bound) { return random_.next() % bound; }
  bool chance(std::size_t one_in) { return below(one_in) == 0; }

  std::optional<AttributeValue> draw(const core::AttributeSchema& schema) {
    const std::string& name = schema.name;
    if (name == "axis" && op_.name == "iota") return wrap(Polynomial(0));
    if (name == "up" || name == "down") return factors();
    if (name == "axis") return rank_ == 0 ? std::nullopt : wrap(Polynomial(std::int64_t(axis_)));
    if (name == "axes" && op_.name == "slice") return wrap(Sizes{Polynomial(std::int64_t(axis_))});
    if (name == "axes") return axes();
    if (name == "perm") return permutation();
    if (name == "shape") return shape();
    if (name == "sizes") return op_.name == "split" ? parts() : slice_size();
    if (name == "starts") return wrap(Sizes{start_});
    if (name == "steps") return wrap(Sizes{step_});
    if (name == "pads" && op_.name == "pad") return pad_sizes();
    if (name == "interior") return wrap(chance(4) ? Sizes(rank_, 1) : Sizes{});
    if (name == "strides" || name == "dilations") return window(chance(4) ? 2 : 1, 1);
    if (name == "pads") return window(chance(2) ? 1 : 0, 2);
    if (name == "kernel") return window(std::int64_t(1 + below(3)), 1);
    if (name == "to") return wrap(std::string(to_types()[below(to_types().size())]));
    return tried(schema);
  }

  static std::optional<AttributeValue> wrap(AttributeValue value) { return value; }

  static const std::vector<std::string>& to_types() {
    static const std::vector<std::string> kTypes = {"f32", "i64", "bool"};
    return kTypes;
  }

  std::optional<AttributeValue> tried(const core::AttributeSchema& schema) {
    std::vector<AttributeValue> values = schema.values_to_try;
    if (schema.default_value) values.push_back(*schema.default_value);
    if (values.empty()) return std::nullopt;
    return values[below(values.size())];
  }

  std::optional<AttributeValue> axes() {
    if (rank_ == 0) return std::nullopt;
    Sizes list;
    for (std::size_t d = 0; d < rank_; ++d)
      if (d == axis_ || chance(3)) list.push_back(std::int64_t(d));
    return wrap(std::move(list));
  }

  /// One dimension grows, or shrinks, to a multiple or a part of what it is.
  std::optional<AttributeValue> factors() {
    if (rank_ == 0) return std::nullopt;
    Sizes list(rank_, 1);
    if (chance(2)) list[axis_] = 2;
    return wrap(std::move(list));
  }

  std::optional<AttributeValue> permutation() {
    Sizes list;
    for (std::size_t d = 0; d < rank_; ++d) list.push_back(std::int64_t(d));
    for (std::size_t d = rank_; d > 1; --d) std::swap(list[d - 1], list[below(d)]);
    return wrap(std::move(list));
  }

  /// The same for each spatial dimension, or for all but one of them.
  std::optional<AttributeValue> window(std::int64_t value, std::size_t times) {
    if (rank_ < 3) return std::nullopt;
    Sizes list(times * (rank_ - 2), value);
    if (chance(4)) list[below(list.size())] = std::max<std::int64_t>(value - 1, times == 2 ? 0 : 1);
    return wrap(std::move(list));
  }

  std::optional<AttributeValue> pad_sizes() {
    if (rank_ == 0) return std::nullopt;
    Sizes list(2 * rank_);
    list[axis_] = chance(4) ? -1 : 1;
    if (chance(2)) list[rank_ + axis_] = chance(3) ? -1 : 1;
    return wrap(std::move(list));
  }

  /// The terms of the size in two groups where it is a sum, as after a concatenation; else one
  /// element and the rest.
  std::optional<Sizes> two_parts() {
    if (rank_ == 0 || !operands_[0]->shape) return std::nullopt;
    const Polynomial& size = (*operands_[0]->shape)[axis_];
    if (size.terms().size() >= 2) {
      Polynomial first(size.terms()[0].coefficient);
      for (core::Symbol s : size.terms()[0].monomial) first = first * Polynomial(s);
      return Sizes{first, size - first};
    }
    return chance(2) ? Sizes{1, size - Polynomial(1)} : Sizes{size - Polynomial(1), 1};
  }

  std::optional<AttributeValue> parts() {
    auto both = two_parts();
    return both ? wrap(*std::move(both)) : std::nullopt;
  }

  /// The first or the second part of what a split would make; every other element; backwards.
  std::optional<AttributeValue> slice_size() {
    const auto both = two_parts();
    if (!both) return std::nullopt;
    const Polynomial size = (*both)[0] + (*both)[1];
    switch (below(4)) {
    case 0:
      start_ = size - Polynomial(1);
      step_ = -1;
      return wrap(Sizes{size});
    case 1:
      start_ = (*both)[0];
      return wrap(Sizes{(*both)[1]});
    default:
      return wrap(Sizes{(*both)[0]});
    }
  }

  std::optional<AttributeValue> shape() {
    if (operands_.empty()) return wrap(world_.inputs[below(world_.inputs.size())].type.shape);
    if (!operands_[0]->shape) return std::nullopt;
    Shape shape = *operands_[0]->shape;
    return op_.name == "expand" ? expanded(shape) : reshaped(shape);
  }

  std::optional<AttributeValue> expanded(Shape shape) {
    const Shape& other = world_.inputs[below(world_.inputs.size())].type.shape;
    if (other.size() >= shape.size() && chance(2)) return wrap(other);
    for (Polynomial& size : shape)
      if (size == Polynomial(1) && !other.empty()) size = other[below(other.size())];
    if (chance(2) && !other.empty()) shape.insert(shape.begin(), other[0]);
    return wrap(std::move(shape));
  }

  std::optional<AttributeValue> reshaped(Shape shape) {
    if (chance(3)) {
      // Back to the shape of some input; it fits where the operand was made of that.
      return wrap(world_.inputs[below(world_.inputs.size())].type.shape);
    }
    if (shape.size() >= 2 && chance(2)) {
      const std::size_t d = below(shape.size() - 1);
      shape[d] = shape[d] * shape[d + 1];
      shape.erase(shape.begin() + std::ptrdiff_t(d) + 1);
    } else if (shape.size() >= 2 && chance(2)) {
      Polynomial all(1);
      for (const Polynomial& size : shape) all = all * size;
      shape = {all};
    } else {
      shape.insert(shape.begin() + std::ptrdiff_t(below(shape.size() + 1)), Polynomial(1));
    }
    return wrap(std::move(shape));
  }

  const ops::OpDefinition& op_;
  const std::vector<const Term*>& operands_;
  const World& world_;
  rules::Random& random_;
  std::size_t rank_ = 0, axis_ = 0;
  Polynomial start_ = 0, step_ = 1;  ///< Start and step of a slice.
};

}  // namespace

std::optional<core::Attributes> draw_attributes(const ops::OpDefinition& op,
                                                const std::vector<const Term*>& operands,
                                                const World& world, rules::Random& random) {
  return AttributeDraw(op, operands, world, random).run();
}

}  // namespace soapstone::fuzz
