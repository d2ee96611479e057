// Comprehensions of integer quotients, remainders, products, triangles and ranges; and what has
// none: shapes and the positions of elements that are not 0.
#include "models/onnx/shapes/integer_meanings.h"

#include <algorithm>
#include <cmath>

#include "ops/definition/indexing.h"
#include "ops/definition/infer_context.h"
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

std::optional<IntegerMeaning> triangle(const OnnxImport& node) {
  const core::TensorType& type = type_of(node, 0);
  const std::size_t rank = type.shape.size();
  Int k = 0;
  if (ops::has_input(node, 1)) {
    const core::LiteralPtr given = node.constant_input(1);
    const auto values = given ? given->to_ints() : std::nullopt;
    if (!values || values->size() != 1) return std::nullopt;
    k = values->front();
  }
  if (rank < 2) return std::nullopt;
  const bool upper = node.int_or("upper", 1) != 0;
  SemanticsBuilder builder(1);
  builder.output(type.shape, [&](const Index& i) {
    const core::Polynomial diagonal = i[rank - 1] - i[rank - 2];
    return ops::guard({upper ? ops::at_least(diagonal, k) : ops::at_least(k, diagonal)},
                      ops::read(0, i));
  });
  return make(std::move(builder), type.data_type, *core::concrete(type.shape));
}

/// All elements along the reduced axes as the factors of one product.
std::optional<IntegerMeaning> product(const OnnxImport& node) {
  constexpr Int kMostFactors = 4096;
  const core::TensorType& type = type_of(node, 0);
  const Dims x = *core::concrete(type.shape);
  const auto over = ops::read_reduction_axes(node);
  if (!over) return std::nullopt;
  Dims reduced(x.size(), 1), kept = x;
  for (const Int axis : over->axes) {
    const auto d = static_cast<std::size_t>(axis);
    std::swap(reduced[d], kept[d]);
  }
  const Int factors = core::element_count(reduced);
  if (factors < 1 || factors > kMostFactors) return std::nullopt;
  SemanticsBuilder builder(1);
  const auto all = builder.stage(core::to_shape(kept), [&](const Index& i) {
    Expr result = ops::number(1.0);
    for (Int k = 0; k < factors; ++k) {
      Index element = i;
      for (std::size_t d = x.size(), rest = static_cast<std::size_t>(k); d-- > 0;) {
        const auto size = static_cast<std::size_t>(reduced[d]);
        element[d] += static_cast<Int>(rest % size);
        rest /= size;
      }
      result = std::move(result) * ops::read(0, std::move(element));
    }
    return result;
  });
  Dims dims;
  for (std::size_t d = 0; d < x.size(); ++d) {
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
std::optional<Int> whole_number(const OnnxImport& node, std::size_t k) {
  const core::LiteralPtr value = node.constant_input(k);
  if (!value || value->count() != 1) return std::nullopt;
  if (const auto ints = value->to_ints()) return ints->front();
  constexpr double kMostExact = 1 << 23;
  const double real = value->to_doubles()[0];
  if (!(std::fabs(real) < kMostExact) || real != std::floor(real)) return std::nullopt;
  return static_cast<Int>(real);
}

/// The numbers of a constant are small, so nothing here overflows.
std::optional<IntegerMeaning> range(const OnnxImport& node) {
  const auto start = whole_number(node, 0), limit = whole_number(node, 1);
  const auto delta = whole_number(node, 2);
  if (!start || !limit || !delta || *delta == 0) return std::nullopt;
  const Int span = *delta > 0 ? *limit - *start : *start - *limit;
  const Dims dims{span <= 0 ? 0 : (span - 1) / std::abs(*delta) + 1};
  SemanticsBuilder builder(0);
  builder.output(core::to_shape(dims),
                 [&](const Index& i) { return ops::index_value(i[0] * *delta + *start); });
  return make(std::move(builder), type_of(node, 0).data_type, dims);
}

}  // namespace

std::optional<IntegerMeaning> integer_meaning(const OnnxImport& node) {
  const std::string_view op = node.op_type();
  if (op == "Range") return range(node);
  if (core::is_floating(type_of(node, 0).data_type)) return std::nullopt;
  if (op == "Div") return quotient(node);
  if (op == "Mod") return remainder(node);
  if (op == "ReduceProd") return product(node);
  if (op == "Trilu") return triangle(node);
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
