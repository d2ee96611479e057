// ONNX operators that have no definition of their own because they are a few of ours: Gemm,
// Flatten, DepthToSpace, …. Each reader is its meaning. An operator that would lose range in pieces
// has a definition of its own (Softplus), or is left out and stays opaque.
#include <fmt/format.h>

#include <algorithm>

#include "ops/composites/onnx_activations.h"
#include "ops/composites/onnx_attention.h"
#include "ops/composites/onnx_contrib.h"
#include "ops/composites/onnx_masks.h"
#include "ops/composites/onnx_selections.h"
#include "ops/composites/onnx_statistics.h"
#include "ops/composites/onnx_transforms.h"
#include "ops/definition/composite_operators.h"
#include "ops/definition/indexing.h"
#include "ops/definition/registry.h"
#include "ops/language/size_limits.h"
#include "ops/onnx/onnx_reading.h"

namespace soapstone::ops {
namespace {

using core::DataType;
using core::Dims;
using core::LiteralPtr;

/// The part of a list from `from` up to, but without, `to`.
std::int64_t count_between(const Dims& dims, std::size_t from, std::size_t to) {
  const auto begin = dims.begin();
  return core::element_count(
      Dims(begin + static_cast<std::ptrdiff_t>(from), begin + static_cast<std::ptrdiff_t>(to)));
}

// --- Operators that do nothing ------------------------------------------------------------------

ReadResult read_identity(OnnxImport& import) { return std::vector{import.input(0)}; }

/// Inference passes everything. So does training at ratio 0.
ReadResult read_dropout(OnnxImport& import) {
  double ratio = 0.5;
  bool training = import.opset() < 7 && import.int_or("is_test", 0) == 0;
  if (import.opset() < 7) ratio = import.real_or("ratio", 0.5);
  if (import.opset() >= 12 && has_input(import, 2)) {
    const LiteralPtr mode = import.constant_input(2);
    const LiteralPtr given = has_input(import, 1) ? import.constant_input(1) : nullptr;
    if (given && given->count() == 1) ratio = given->to_doubles()[0];
    training = !mode || mode->count() != 1 || mode->to_doubles()[0] != 0;
  }
  if (training && ratio != 0) return cannot_read(import, "training");
  if (import.output_count() < 2) return std::vector{import.input(0)};
  Composer compose(import);
  // Before opset 12 ONNX did not say what the mask holds at inference; runtimes clear it.
  const TensorId kept = compose.append("full", {},
                                       {{"shape", to_sizes(compose.dims(import.input(0)))},
                                        {"value", import.opset() < 12 ? 0.0 : 1.0}});
  const DataType mask = import.opset() < 10 ? compose.data_type(import.input(0)) : DataType::kBool;
  if (mask == DataType::kFloat32) return compose.finish({import.input(0), kept});
  return compose.finish(
      {import.input(0),
       compose.append("cast", {kept}, {{"to", std::string(core::to_string(mask))}})});
}

// --- Reshapes -----------------------------------------------------------------------------------

ReadResult read_flatten(OnnxImport& import) {
  Composer compose(import);
  const Dims x = compose.dims(import.input(0));
  const auto rank = static_cast<std::int64_t>(x.size());
  std::int64_t axis = import.int_or("axis", 1);
  if (axis < -rank || axis > rank) return bad_node(import, fmt::format("axis is {}", axis));
  if (axis < 0) axis += rank;
  const auto middle = static_cast<std::size_t>(axis);
  const Dims shape{count_between(x, 0, middle), count_between(x, middle, x.size())};
  return compose.finish(compose.reshape(import.input(0), shape));
}

ReadResult read_squeeze(OnnxImport& import) {
  Composer compose(import);
  const Dims x = compose.dims(import.input(0));
  SOAPSTONE_ASSIGN_OR_RETURN(const auto given, import.ints_or_input("axes", 1));
  std::vector<std::int64_t> axes;
  if (given) {
    SOAPSTONE_ASSIGN_OR_RETURN(axes, non_negative_axes(import, *given, x.size()));
  }
  Dims shape;
  for (std::size_t d = 0; d < x.size(); ++d) {
    const bool drop =
        given ? std::ranges::binary_search(axes, static_cast<std::int64_t>(d)) : x[d] == 1;
    if (drop && x[d] != 1)
      return bad_node(import, fmt::format("dimension {} has size {}, not 1", d, x[d]));
    if (!drop) shape.push_back(x[d]);
  }
  return compose.finish(compose.reshape(import.input(0), shape));
}

ReadResult read_unsqueeze(OnnxImport& import) {
  Composer compose(import);
  Dims shape = compose.dims(import.input(0));
  SOAPSTONE_ASSIGN_OR_RETURN(const auto given, import.ints_or_input("axes", 1));
  if (!given) return bad_node(import, "it has no axes");
  SOAPSTONE_ASSIGN_OR_RETURN(const std::vector<std::int64_t> axes,
                             non_negative_axes(import, *given, shape.size() + given->size()));
  for (std::int64_t axis : axes) shape.insert(shape.begin() + axis, 1);
  return compose.finish(compose.reshape(import.input(0), shape));
}

constexpr std::int64_t kLargestBlock = std::int64_t{1} << 15;

/// Channels hold blocks: [n, (b·b)·c or c·(b·b), h, w] → [n, c, h·b, w·b].
ReadResult read_depth_to_space(OnnxImport& import) {
  Composer compose(import);
  const Dims x = compose.dims(import.input(0));
  const std::int64_t b = import.int_or("blocksize", 0);
  if (x.size() != 4 || b < 1 || b > kLargestBlock || x[1] % (b * b) != 0)
    return bad_node(import, "the channels are not a multiple of the square of blocksize");
  const std::int64_t c = x[1] / (b * b);
  const bool depth_first = import.text_or("mode", "DCR") == "DCR";
  TensorId y = compose.reshape(import.input(0), depth_first ? Dims{x[0], b, b, c, x[2], x[3]}
                                                            : Dims{x[0], c, b, b, x[2], x[3]});
  using Perm = std::vector<std::int64_t>;
  y = compose.transpose(y, depth_first ? Perm{0, 3, 4, 1, 5, 2} : Perm{0, 1, 4, 2, 5, 3});
  return compose.finish(compose.reshape(y, {x[0], c, x[2] * b, x[3] * b}));
}

ReadResult read_space_to_depth(OnnxImport& import) {
  Composer compose(import);
  const Dims x = compose.dims(import.input(0));
  const std::int64_t b = import.int_or("blocksize", 0);
  if (x.size() != 4 || b < 1 || b > kLargestBlock || x[2] % b != 0 || x[3] % b != 0)
    return bad_node(import, "height and width are not multiples of blocksize");
  TensorId y = compose.reshape(import.input(0), {x[0], x[1], x[2] / b, b, x[3] / b, b});
  y = compose.transpose(y, {0, 3, 5, 1, 2, 4});
  return compose.finish(compose.reshape(y, {x[0], x[1] * b * b, x[2] / b, x[3] / b}));
}

/// [d, …] → [1, d, …] → [r, d, …] → [r·d, …]; [1, …] → [r, …].
ReadResult read_tile(OnnxImport& import) {
  Composer compose(import);
  const Dims x = compose.dims(import.input(0));
  const auto repeats = import.ints_or_input("repeats", 1);
  if (!repeats) return repeats.error();
  if (!*repeats || (*repeats)->size() != x.size())
    return bad_node(import, "repeats must have a number for each dimension");
  Dims apart, repeated, result;
  for (std::size_t d = 0; d < x.size(); ++d) {
    const std::int64_t r = (**repeats)[d];
    if (r < 0 || r > kLargestSize || x[d] > kLargestSize)
      return bad_node(import, "the number of repeats is out of range");
    if (r != 1) apart.push_back(1), repeated.push_back(r);
    if (r == 1 || x[d] != 1) apart.push_back(x[d]), repeated.push_back(x[d]);
    result.push_back(x[d] * r);
  }
  if (result == x) return std::vector{import.input(0)};
  TensorId y = compose.reshape(import.input(0), apart);
  if (apart != repeated) y = compose.append("expand", {y}, {{"shape", to_sizes(repeated)}});
  return compose.finish(compose.reshape(y, result));
}

// --- Arithmetic ---------------------------------------------------------------------------------

/// alpha·A'·B' + beta·C. Factors go to constants where there are any: they are multiplied once.
ReadResult read_gemm(OnnxImport& import) {
  Composer compose(import);
  TensorId a = import.input(0), b = import.input(1),
           c = compose.has_input(2) ? import.input(2) : TensorId::none();
  const DataType type = compose.data_type(a);
  const double alpha = decimal_or(import, "alpha", 1), beta = decimal_or(import, "beta", 1);
  if (!core::is_floating(type) && (alpha != 1 || beta != 1))
    return cannot_read(import, "factors of integers");
  if (compose.dims(a).size() != 2 || compose.dims(b).size() != 2)
    return bad_node(import, "A and B must be matrices");
  const auto scaled = [&](TensorId x, double factor) {
    return factor == 1 ? x : compose.append("mul", {x, compose.scalar(type, factor)});
  };
  const bool b_known = import.constant_input(1) != nullptr;
  const bool a_known = !b_known && import.constant_input(0) != nullptr;
  if (import.int_or("transA", 0) != 0) a = compose.transpose(a, {1, 0});
  if (import.int_or("transB", 0) != 0) b = compose.transpose(b, {1, 0});
  if (b_known) b = scaled(b, alpha);
  if (a_known) a = scaled(a, alpha);
  TensorId y = compose.append("matmul", {a, b});
  if (!a_known && !b_known) y = scaled(y, alpha);
  if (c.valid() && beta != 0) y = compose.append("add", {y, scaled(c, beta)});
  return compose.finish(y);
}

ReadResult read_mean(OnnxImport& import) {
  Composer compose(import);
  TensorId total = import.input(0);
  for (std::size_t k = 1; k < import.input_count(); ++k)
    total = compose.append("add", {total, import.input(k)});
  if (import.input_count() == 1) return compose.finish(total);
  const TensorId count =
      compose.scalar(compose.data_type(total), static_cast<double>(import.input_count()));
  return compose.finish(compose.append("div", {total, count}));
}

ReadResult read_xor(OnnxImport& import) {
  if (!has_input(import, 1)) return bad_node(import, "its second input is missing");
  Composer compose(import);
  const TensorId same = compose.append("equal", {import.input(0), import.input(1)});
  return compose.finish(compose.append("not", {same}));
}

/// x·tanh(log(1 + exp(x))), which is how runtimes take it apart too.
ReadResult read_mish(OnnxImport& import) {
  Composer compose(import);
  const TensorId x = import.input(0);
  const TensorId gate = compose.append("tanh", {compose.append("softplus", {x})});
  return compose.finish(compose.append("mul", {x, gate}));
}

/// x where x ≥ 0, else slope·x.
ReadResult read_slopes(OnnxImport& import) {
  const Dims x = input_dims(import, 0), slopes = input_dims(import, 1);
  Composer compose(import);
  if (import.opset() < 9) return cannot_read(import, "slopes that differ");  // no Where there
  if (slopes.size() > x.size()) return bad_node(import, "its slopes have more dimensions than x");
  for (std::size_t d = 0; d < slopes.size(); ++d)
    if (slopes[d] != 1 && slopes[d] != x[x.size() - slopes.size() + d])
      return bad_node(import, "its slopes do not broadcast to x");
  const TensorId zero = compose.scalar(compose.data_type(import.input(0)), 0);
  const TensorId negative = compose.append("less", {import.input(0), zero});
  const TensorId scaled = compose.append("mul", {import.input(0), import.input(1)});
  return compose.finish(compose.append("where", {negative, scaled, import.input(0)}));
}

/// One slope for all is leaky_relu.
ReadResult read_prelu(OnnxImport& import) {
  if (!has_input(import, 1)) return bad_node(import, "its slope is missing");
  const LiteralPtr slope = import.constant_input(1);
  if (!slope || slope->count() != 1) return read_slopes(import);
  const auto value = static_cast<float>(slope->to_doubles()[0]);
  if (!is_representable(value)) return cannot_read(import, "its slope is out of range");
  return import.append("leaky_relu", {import.input(0)}, {{"alpha", shortest_decimal(value)}});
}

}  // namespace

std::vector<OnnxReader> composite_readers() {
  constexpr auto kN = Elements::kNumbers;
  constexpr auto kF = Elements::kFloating;
  std::vector<OnnxReader> readers = {
      reader("Identity", kN, read_identity),
      reader("Dropout", kF, read_dropout),
      reader("Flatten", kN, read_flatten),
      reader("Squeeze", kN, read_squeeze),
      reader("Unsqueeze", kN, read_unsqueeze),
      reader("DepthToSpace", kN, read_depth_to_space),
      reader("SpaceToDepth", kN, read_space_to_depth),
      reader("Tile", kN, read_tile, 6),
      reader("Gemm", Elements::kArithmetic, read_gemm),
      reader("Mean", kF, read_mean),
      reader("Xor", Elements::kBool, read_xor, 7),
      reader("PRelu", kF, read_prelu),
      reader("Mish", kF, read_mish, 18),
  };
  for (OnnxReader& reader : activation_readers()) readers.push_back(std::move(reader));
  for (OnnxReader& reader : attention_readers()) readers.push_back(std::move(reader));
  for (OnnxReader& reader : selection_readers()) readers.push_back(std::move(reader));
  for (OnnxReader& reader : mask_readers()) readers.push_back(std::move(reader));
  for (OnnxReader& reader : statistics_readers()) readers.push_back(std::move(reader));
  for (OnnxReader& reader : transform_readers()) readers.push_back(std::move(reader));
  for (OnnxReader& reader : contrib_readers(read_gemm)) readers.push_back(std::move(reader));
  for (const OpDefinition& op : composite_operators())
    readers.insert(readers.end(), op.onnx.readers.begin(), op.onnx.readers.end());
  return readers;
}

}  // namespace soapstone::ops
