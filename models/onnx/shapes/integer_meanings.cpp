// Comprehensions of integer quotients, remainders, products, triangles and ranges; and what has
// none: shapes and the positions of elements that are not 0.
#include "models/onnx/shapes/integer_meanings.h"

#include <algorithm>
#include <cmath>

#include "models/onnx/shapes/known_values.h"
#include "ops/definition/indexing.h"
#include "ops/definition/infer_context.h"
#include "ops/evaluation/integers.h"
#include "ops/onnx/onnx_reduction.h"

namespace soapstone::models {
namespace {

using core::Dims;
using ops::Expr;
using ops::Function;
using ops::Index;
using ops::OnnxImport;
using ops::SemanticsBuilder;
using Int = std::int64_t;
using Values = std::span<const core::LiteralPtr>;  // of inputs

const core::TensorType& type_of(const OnnxImport& node, std::size_t k) {
  return node.type(node.input(k));
}

IntegerMeaning make(SemanticsBuilder&& builder, core::DataType type, Dims dims) {
  return {std::move(builder).finish(), type, std::move(dims)};
}

Expr rounded_quotient(Function rounding, const Expr& a, const Expr& b) {
  return ops::apply(rounding, {a * ops::inverse(b)});
}

/// The meaning of a node with two inputs that are broadcast to each other.
template <class Value>
std::optional<IntegerMeaning> elementwise(const OnnxImport& node, const Value& value) {
  if (!ops::has_input(node, 1)) return std::nullopt;
  const core::TensorType operands[] = {type_of(node, 0), type_of(node, 1)};
  const core::Attributes none;
  ops::InferContext context(none, operands, std::string(node.op_type()));
  const core::Shape shape =
      context.broadcast(operands[0].shape, operands[1].shape, "integers.broadcast");
  if (context.failed() || operands[0].data_type != operands[1].data_type) return std::nullopt;
  SemanticsBuilder builder(2);
  builder.output(shape, [&](const Index& i) {
    return value(ops::read_broadcast(0, operands[0].shape, i),
                 ops::read_broadcast(1, operands[1].shape, i));
  });
  return make(std::move(builder), operands[0].data_type, *core::concrete(shape));
}

/// Toward zero.
std::optional<IntegerMeaning> quotient(const OnnxImport& node) {
  return elementwise(node, [](const Expr& a, const Expr& b) {
    return rounded_quotient(Function::kTruncate, a, b);
  });
}

/// The sign is the divisor's, or with fmod the dividend's.
std::optional<IntegerMeaning> remainder(const OnnxImport& node) {
  const bool c_style = node.int_or("fmod", 0) != 0;
  const Function rounding = c_style ? Function::kTruncate : Function::kFloor;
  return elementwise(node, [rounding](const Expr& a, const Expr& b) {
    return a - b * rounded_quotient(rounding, a, b);
  });
}

std::optional<IntegerMeaning> triangle(const OnnxImport& node, Values inputs) {
  const core::TensorType& type = type_of(node, 0);
  const std::size_t rank = type.shape.size();
  Int k = 0;
  if (ops::has_input(node, 1)) {
    const auto values = inputs[1]->to_ints();
    if (!values || values->size() != 1) return std::nullopt;
    k = values->front();
  }
  if (rank < 2) return std::nullopt;
  const Dims dims = *core::concrete(type.shape);
  k = std::clamp(k, -dims[rank - 2], dims[rank - 1]);  // All diagonals beyond hold nothing.
  const bool upper = node.int_or("upper", 1) != 0;
  SemanticsBuilder builder(1);
  builder.output(type.shape, [&](const Index& i) {
    const core::Polynomial diagonal = i[rank - 1] - i[rank - 2];
    return ops::guard({upper ? ops::at_least(diagonal, k) : ops::at_least(k, diagonal)},
                      ops::read(0, i));
  });
  return make(std::move(builder), type.data_type, dims);
}

/// A stage with the products of neighbors along `axis`, whose size `dims` then halves; the last
/// element of an odd number stands alone.
std::uint32_t products_of_pairs(SemanticsBuilder& builder, std::uint32_t of, Dims& dims,
                                std::size_t axis) {
  const Int size = dims[axis];
  dims[axis] = (size + 1) / 2;
  return builder.stage(core::to_shape(dims), [&](const Index& i) {
    Index first = i, second = i;
    first[axis] = i[axis] * 2;
    second[axis] = i[axis] * 2 + 1;
    const Expr other = ops::guard({ops::at_least(size - 1, second[axis])},
                                  ops::read(of, second) - ops::number(1.0));
    return ops::read(of, first) * (other + ops::number(1.0));
  });
}

/// Products along the reduced axes, pair by pair.
std::optional<IntegerMeaning> product(const OnnxImport& node) {
  const core::TensorType& type = type_of(node, 0);
  const auto over = ops::read_reduction_axes(node);
  if (!over || core::element_count(*core::concrete(type.shape)) == 0) return std::nullopt;
  SemanticsBuilder builder(1);
  Dims kept = *core::concrete(type.shape);
  std::uint32_t all = 0;
  for (const Int axis : over->axes)
    while (kept[static_cast<std::size_t>(axis)] > 1)
      all = products_of_pairs(builder, all, kept, static_cast<std::size_t>(axis));
  Dims dims;
  for (std::size_t d = 0; d < kept.size(); ++d) {
    const bool drop = !over->keep_dims && std::ranges::count(over->axes, static_cast<Int>(d)) > 0;
    if (!drop) dims.push_back(kept[d]);
  }
  const core::Shape shape = core::to_shape(dims);
  builder.output(shape,
                 [&](const Index& i) { return ops::read_flat(all, ops::flat_position(shape, i)); });
  return make(std::move(builder), type.data_type, std::move(dims));
}

/// The only element of an input that is a whole number: sums of such reals are exact, in whatever
/// order a runtime takes them.
std::optional<Int> whole_number(Values inputs, std::size_t k) {
  const core::LiteralPtr value = k < inputs.size() ? inputs[k] : nullptr;
  if (!value || value->count() != 1) return std::nullopt;
  if (const auto ints = value->to_ints()) return ints->front();
  constexpr double kMostExact = 1 << 23;
  const double real = value->to_doubles()[0];
  if (!(std::fabs(real) < kMostExact) || real != std::floor(real)) return std::nullopt;
  return static_cast<Int>(real);
}

/// start, start + delta, … before limit. The numbers are any of 64 bits, so their differences may
/// need more.
std::optional<IntegerMeaning> range(const OnnxImport& node, Values inputs) {
  const auto start = whole_number(inputs, 0), limit = whole_number(inputs, 1);
  const auto delta = whole_number(inputs, 2);
  if (!start || !limit || !delta || *delta == 0) return std::nullopt;
  const ops::Integer step = *delta < 0 ? -ops::Integer(*delta) : ops::Integer(*delta);
  const ops::Integer span =
      *delta > 0 ? ops::Integer(*limit) - *start : ops::Integer(*start) - *limit;
  const ops::Integer count = span <= 0 ? 0 : (span - 1) / step + 1;
  if (count > kMostFoldedElements) return std::nullopt;
  const Dims dims{static_cast<Int>(count)};
  SemanticsBuilder builder(0);
  builder.output(core::to_shape(dims), [&](const Index& i) {
    return ops::number(ops::Rational{*start}) +
           ops::number(ops::Rational{*delta}) * ops::index_value(i[0]);
  });
  return make(std::move(builder), type_of(node, 0).data_type, dims);
}

}  // namespace

std::optional<IntegerMeaning> integer_meaning(const OnnxImport& node, Values inputs) {
  const std::string_view op = node.op_type();
  if (op == "Range") return range(node, inputs);
  if (core::is_floating(type_of(node, 0).data_type)) return std::nullopt;
  if (op == "Div") return quotient(node);
  if (op == "Mod") return remainder(node);
  if (op == "ReduceProd") return product(node);
  if (op == "Trilu") return triangle(node, inputs);
  return std::nullopt;
}

std::optional<core::Literal> value_of_type(const OnnxImport& node, const core::TensorType& input) {
  const auto dims = input.shape_known ? core::concrete(input.shape) : std::nullopt;
  if (!dims) return std::nullopt;
  if (node.op_type() == "Size") {
    const auto count = core::checked_element_count(*dims);
    return count ? std::optional(core::Literal::ints({}, std::span(&*count, 1))) : std::nullopt;
  }
  const auto rank = static_cast<Int>(dims->size());
  const auto place = [rank](Int at) { return std::clamp<Int>(at < 0 ? at + rank : at, 0, rank); };
  const Int start = place(node.int_or("start", 0));
  const Int end = std::max(start, place(node.int_or("end", rank)));
  const Dims sizes(dims->begin() + start, dims->begin() + end);
  return core::Literal::ints({end - start}, sizes);
}

std::optional<core::Literal> positions_of_non_zeros(const core::Literal& x) {
  const auto elements = x.to_ints();
  if (!elements) return std::nullopt;
  const std::size_t rank = x.dims().size();
  std::vector<std::vector<Int>> positions(rank);
  Int found = 0;
  for (std::size_t k = 0; k < elements->size(); ++k) {
    if ((*elements)[k] == 0) continue;
    ++found;
    auto rest = static_cast<Int>(k);
    for (std::size_t d = rank; d-- > 0; rest /= x.dims()[d])
      positions[d].push_back(rest % x.dims()[d]);
  }
  std::vector<Int> values;
  for (const auto& along : positions) values.insert(values.end(), along.begin(), along.end());
  return core::Literal::ints({static_cast<Int>(rank), found}, values);
}

}  // namespace soapstone::models
