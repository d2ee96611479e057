// ONNX reductions and normalizations that are read as several of our operators: ReduceL2,
// InstanceNormalization, ….
#include <algorithm>

#include "ops/composites/onnx_statistics.h"
#include "ops/definition/indexing.h"
#include "ops/onnx/onnx_reading.h"
#include "ops/onnx/onnx_reduction.h"

namespace soapstone::ops {
namespace {

using core::Dims;
using core::LiteralPtr;

/// An operator that is taken apart rounds on the way. Half precision holds the mean square of no
/// numbers above 255, so parts of half-precision operators are computed in single precision, as
/// runtimes do.
class Widened {
 public:
  Widened(Composer& compose, core::DataType type)
      : compose_(compose), type_(type),
        narrow_(type == core::DataType::kFloat16 || type == core::DataType::kBFloat16) {}
  TensorId widen(TensorId x) const { return cast(x, core::DataType::kFloat32); }
  TensorId narrow(TensorId x) const { return cast(x, type_); }

 private:
  TensorId cast(TensorId x, core::DataType to) const {
    if (!narrow_) return x;
    return compose_.append("cast", {x}, {{"to", std::string(core::to_string(to))}});
  }

  Composer& compose_;
  core::DataType type_;
  bool narrow_;
};

// --- Reductions ---------------------------------------------------------------------------------

/// after(reduce_sum(before(x))).
struct ReducedSum {
  const char* onnx;
  TensorId (*before)(Composer&, TensorId);
  const char* after;  ///< Or null.
  Elements elements;
};

TensorId unchanged(Composer&, TensorId x) { return x; }
TensorId absolute(Composer& compose, TensorId x) { return compose.append("abs", {x}); }
TensorId square(Composer& compose, TensorId x) { return compose.append("mul", {x, x}); }

constexpr ReducedSum kReducedSums[] = {
    {"ReduceL1", absolute, nullptr, Elements::kArithmetic},
    {"ReduceL2", square, "sqrt", Elements::kFloating},
    {"ReduceSumSquare", square, nullptr, Elements::kArithmetic},
    {"ReduceLogSum", unchanged, "log", Elements::kFloating},
};

ReadFunction read_reduced_sum(const ReducedSum& how) {
  return [&how](OnnxImport& import) -> ReadResult {
    SOAPSTONE_ASSIGN_OR_RETURN(const ReductionAxes over, read_reduction_axes(import));
    if (over.none) return cannot_read(import, "no axes");
    Composer compose(import);
    const Widened wide(compose, compose.data_type(import.input(0)));
    TensorId y = how.before(compose, wide.widen(import.input(0)));
    y = compose.append("reduce_sum", {y}, over.attributes());
    if (how.after) y = compose.append(how.after, {y});
    return compose.finish(wide.narrow(y));
  };
}

/// A pool with one window, not a reduction: of infinities and NaN pools make other things.
ReadResult read_global_max(OnnxImport& import) {
  Composer compose(import);
  const Dims x = compose.dims(import.input(0));
  if (x.size() < 3) return bad_node(import, "x must be [n, c, s…]");
  const std::size_t spatial = x.size() - 2;
  const std::vector<std::int64_t> kernel(x.begin() + 2, x.end()), ones(spatial, 1);
  return compose.finish(
      compose.append("max_pool", {import.input(0)},
                     {{"kernel", to_sizes(kernel)},
                      {"strides", to_sizes(ones)},
                      {"dilations", to_sizes(ones)},
                      {"pads", to_sizes(std::vector<std::int64_t>(2 * spatial, 0))}}));
}

// --- Normalization ------------------------------------------------------------------------------

/// (x − mean)/√(variance + epsilon) over the axes.
TensorId standardized(Composer& compose, TensorId x, const std::vector<std::int64_t>& axes,
                      double epsilon) {
  const Attributes over{{"axes", to_sizes(axes)}};
  const TensorId centered = compose.append("sub", {x, compose.append("reduce_mean", {x}, over)});
  TensorId variance =
      compose.append("reduce_mean", {compose.append("mul", {centered, centered})}, over);
  if (epsilon != 0)
    variance = compose.append("add", {variance, compose.scalar(compose.data_type(x), epsilon)});
  return compose.append("div", {centered, compose.append("sqrt", {variance})});
}

/// The same over the last `count` dimensions of x.
TensorId standardized_last(Composer& compose, TensorId x, std::size_t count, double epsilon) {
  std::vector<std::int64_t> axes;
  const std::size_t rank = compose.dims(x).size();
  for (std::size_t d = rank - std::min(rank, count); d < rank; ++d)
    axes.push_back(static_cast<std::int64_t>(d));
  return standardized(compose, x, axes, epsilon);
}

/// x over its norm. Elements that are all 0 stay 0.
ReadResult read_lp_norm(OnnxImport& import) {
  Composer compose(import);
  const std::int64_t p = import.int_or("p", 2);
  if (p != 1 && p != 2) return bad_node(import, "p must be 1 or 2");
  SOAPSTONE_ASSIGN_OR_RETURN(
      const std::int64_t axis,
      non_negative_axis(import, import.int_or("axis", -1), compose.dims(import.input(0)).size()));
  const Widened wide(compose, compose.data_type(import.input(0)));
  const TensorId x = wide.widen(import.input(0));
  TensorId norm = compose.append("reduce_sum", {p == 1 ? absolute(compose, x) : square(compose, x)},
                                 {{"axes", to_sizes(Dims{axis})}});
  if (p == 2) norm = compose.append("sqrt", {norm});
  const auto constant = [&](double value) { return compose.scalar(compose.data_type(x), value); };
  const TensorId is_zero = compose.append("equal", {norm, constant(0)});
  const TensorId divisor = compose.append("where", {is_zero, constant(1), norm});
  return compose.finish(wide.narrow(compose.append("div", {x, divisor})));
}

/// (x − mean)/√variance over any dimensions. ONNX's function body adds 1e-9 to the root, its
/// description and ONNX Runtime do not.
ReadResult read_mean_variance_norm(OnnxImport& import) {
  Composer compose(import);
  SOAPSTONE_ASSIGN_OR_RETURN(
      const std::vector<std::int64_t> axes,
      non_negative_axes(import, import.ints("axes").value_or(std::vector<std::int64_t>{0, 2, 3}),
                        compose.dims(import.input(0)).size()));
  if (axes.empty()) return cannot_read(import, "no axes");
  const Widened wide(compose, compose.data_type(import.input(0)));
  const TensorId y = standardized(compose, wide.widen(import.input(0)), axes, 0);
  return compose.finish(wide.narrow(y));
}

/// scale and bias of [c], or of one element for each group before opset 21.
ReadResult scaled_and_shifted(OnnxImport& import, Composer& compose, const Widened& wide,
                              TensorId unit, std::int64_t channels) {
  Dims shape(compose.dims(unit).size(), 1);
  if (shape.size() > 1) shape[1] = channels;
  for (std::size_t k : {1u, 2u}) {
    if (compose.dims(import.input(k)) != Dims{channels})
      return bad_node(import, "scale and bias must have an element for each channel");
    const TensorId parameter = wide.widen(compose.reshape(import.input(k), shape));
    unit = compose.append(k == 1 ? "mul" : "add", {unit, parameter});
  }
  return compose.finish(wide.narrow(unit));
}

ReadResult read_instance_norm(OnnxImport& import) {
  Composer compose(import);
  const Dims x = compose.dims(import.input(0));
  if (x.size() < 3) return bad_node(import, "x must be [n, c, s…]");
  if (!has_input(import, 2)) return bad_node(import, "scale or bias is missing");
  const Widened wide(compose, compose.data_type(import.input(0)));
  const TensorId unit = standardized_last(compose, wide.widen(import.input(0)), x.size() - 2,
                                          decimal_or(import, "epsilon", 1e-5));
  return scaled_and_shifted(import, compose, wide, unit, x[1]);
}

ReadResult read_group_norm(OnnxImport& import) {
  Composer compose(import);
  const Dims x = compose.dims(import.input(0));
  const std::int64_t groups = import.int_or("num_groups", 0);
  if (x.size() < 3 || groups < 1 || x[1] % groups != 0)
    return bad_node(import, "num_groups does not divide the channels");
  if (!has_input(import, 2)) return bad_node(import, "scale or bias is missing");
  const Widened wide(compose, compose.data_type(import.input(0)));
  const TensorId grouped = compose.reshape(
      wide.widen(import.input(0)),
      {x[0], groups, x[1] / groups, core::element_count(Dims(x.begin() + 2, x.end()))});
  TensorId unit = standardized_last(compose, grouped, 2, decimal_or(import, "epsilon", 1e-5));
  if (import.opset() >= 21)
    return scaled_and_shifted(import, compose, wide, compose.reshape(unit, x), x[1]);
  // Here scale and bias belong to groups.
  auto result = scaled_and_shifted(import, compose, wide, unit, groups);
  if (!result) return result;
  return compose.finish(compose.reshape(result->front(), x));
}

// --- Normalization over neighboring channels ----------------------------------------------------

constexpr std::int64_t kMostChannels = 4096;

/// A pointwise kernel that sums over `size` neighboring channels, times `factor`.
core::Literal band(std::int64_t channels, std::int64_t size, double factor, std::size_t spatial) {
  std::vector<float> elements(static_cast<std::size_t>(channels * channels));
  for (std::int64_t to = 0; to < channels; ++to) {
    const std::int64_t first = std::max<std::int64_t>(0, to - (size - 1) / 2);
    const std::int64_t last = std::min(channels - 1, to + size / 2);
    for (std::int64_t from = first; from <= last; ++from)
      elements[static_cast<std::size_t>(to * channels + from)] = static_cast<float>(factor);
  }
  Dims dims(spatial + 2, 1);
  dims[0] = dims[1] = channels;
  return core::Literal::floats(dims, elements);
}

/// x / (bias + alpha/size · Σ x²)^beta, where the sum is over neighboring channels: a convolution.
/// The power that networks have, 3/4, is a root and the root of that.
ReadResult read_local_response_norm(OnnxImport& import) {
  Composer compose(import);
  const Dims x = compose.dims(import.input(0));
  const std::int64_t size = import.int_or("size", 0);
  if (x.size() < 3 || size < 1) return bad_node(import, "x must be [n, c, s…], size positive");
  if (x[1] > kMostChannels || size > kMostChannels) return cannot_read(import, "too many channels");
  const Widened wide(compose, compose.data_type(import.input(0)));
  if (compose.data_type(import.input(0)) == core::DataType::kFloat64)
    return cannot_read(import, "double precision");
  const std::size_t spatial = x.size() - 2;
  const double alpha = decimal_or(import, "alpha", 1e-4), beta = decimal_or(import, "beta", 0.75);
  const TensorId input = wide.widen(import.input(0));
  const TensorId kernel =
      import.constant(band(x[1], size, alpha / static_cast<double>(size), spatial));
  const TensorId bias = import.constant(
      filled_literal(core::DataType::kFloat32, {x[1]}, decimal_or(import, "bias", 1)));
  const std::vector<std::int64_t> ones(spatial, 1);
  const TensorId base =
      compose.append("conv", {compose.append("mul", {input, input}), kernel, bias},
                     {{"strides", to_sizes(ones)},
                      {"dilations", to_sizes(ones)},
                      {"pads", to_sizes(std::vector<std::int64_t>(2 * spatial, 0))}});
  if (beta != 0.75) {
    const TensorId exponent = compose.scalar(core::DataType::kFloat32, beta);
    const TensorId power = compose.append("pow", {base, exponent});
    return compose.finish(wide.narrow(compose.append("div", {input, power})));
  }
  const TensorId root = compose.append("sqrt", {base});
  const TensorId by_root = compose.append("div", {input, root});
  return compose.finish(
      wide.narrow(compose.append("div", {by_root, compose.append("sqrt", {root})})));
}

}  // namespace

std::vector<OnnxReader> statistics_readers() {
  constexpr auto kF = Elements::kFloating;
  std::vector<OnnxReader> readers = {
      reader("GlobalMaxPool", kF, read_global_max),
      reader("InstanceNormalization", kF, read_instance_norm),
      reader("GroupNormalization", kF, read_group_norm, 18),
      reader("LRN", kF, read_local_response_norm),
      reader("LpNormalization", kF, read_lp_norm, 9),  // `where` has words since then
      reader("MeanVarianceNormalization", kF, read_mean_variance_norm, 9),
  };
  for (const ReducedSum& how : kReducedSums)
    readers.push_back(reader(how.onnx, how.elements, read_reduced_sum(how)));
  return readers;
}

}  // namespace soapstone::ops
