// ONNX functions of single elements that are read as several of our operators: Selu, Shrink, ….
// Each is the form that agrees with ONNX Runtime on NaN, infinities and huge numbers too.
#include "ops/composites/onnx_activations.h"

#include "ops/onnx/onnx_reading.h"

namespace soapstone::ops {
namespace {

using core::DataType;

/// gamma·elu(x).
ReadResult read_selu(OnnxImport& import) {
  const double alpha = decimal_or(import, "alpha", 1.67326319217681884765625);
  const double gamma = decimal_or(import, "gamma", 1.05070102214813232421875);
  if (!is_representable(alpha) || !is_representable(gamma))
    return cannot_read(import, "its factors are out of range");
  Composer compose(import);
  const TensorId x = import.input(0);
  const TensorId y = compose.append("elu", {x}, {{"alpha", alpha}});
  return compose.finish(compose.append("mul", {y, compose.scalar(compose.data_type(x), gamma)}));
}

/// x where x > 0, else alpha·(exp(x/alpha) − 1). Not alpha·elu(x/alpha), where a large x/alpha
/// would overflow.
ReadResult read_celu(OnnxImport& import) {
  const double alpha = decimal_or(import, "alpha", 1);
  if (!(alpha > 0) || !is_representable(alpha))
    return cannot_read(import, "alpha is not positive, or out of range");
  const TensorId x = import.input(0);
  if (alpha == 1) return import.append("elu", {x}, {{"alpha", 1.0}});
  Composer compose(import);
  const DataType type = compose.data_type(x);
  const TensorId positive = compose.append("less", {compose.scalar(type, 0), x});
  const TensorId scaled = compose.append("div", {x, compose.scalar(type, alpha)});
  const TensorId below = compose.append("elu", {scaled}, {{"alpha", alpha}});
  return compose.finish(compose.append("where", {positive, x, below}));
}

/// x/(1 + |x|)
ReadResult read_softsign(OnnxImport& import) {
  Composer compose(import);
  const TensorId x = import.input(0);
  const TensorId one = compose.scalar(compose.data_type(x), 1);
  const TensorId below = compose.append("add", {compose.append("abs", {x}), one});
  return compose.finish(compose.append("div", {x, below}));
}

/// x·sigmoid(alpha·x)
ReadResult read_swish(OnnxImport& import) {
  const double alpha = decimal_or(import, "alpha", 1);
  if (!is_representable(alpha)) return cannot_read(import, "alpha is out of range");
  Composer compose(import);
  const TensorId x = import.input(0);
  TensorId scaled = x;
  if (alpha != 1) scaled = compose.append("mul", {x, compose.scalar(compose.data_type(x), alpha)});
  return compose.finish(compose.append("mul", {x, compose.append("sigmoid", {scaled})}));
}

/// x where x > alpha, else 0: of NaN too.
ReadResult read_thresholded(OnnxImport& import) {
  const double alpha = decimal_or(import, "alpha", 1);
  if (!is_representable(alpha)) return cannot_read(import, "alpha is out of range");
  Composer compose(import);
  const TensorId x = import.input(0);
  const DataType type = compose.data_type(x);
  const TensorId above = compose.append("less", {compose.scalar(type, alpha), x});
  return compose.finish(compose.append("where", {above, x, compose.scalar(type, 0)}));
}

/// x + bias where x < −lambd, else x − bias where x > lambd, else 0: of NaN too.
ReadResult read_shrink(OnnxImport& import) {
  const double bias = decimal_or(import, "bias", 0), lambd = decimal_or(import, "lambd", 0.5);
  if (!is_representable(bias) || !is_representable(lambd))
    return cannot_read(import, "bias or lambd is out of range");
  Composer compose(import);
  const TensorId x = import.input(0);
  const DataType type = compose.data_type(x);
  const TensorId below = compose.append("less", {x, compose.scalar(type, -lambd)});
  const TensorId above = compose.append("less", {compose.scalar(type, lambd), x});
  const TensorId zero = compose.scalar(type, 0);
  if (bias == 0)
    return compose.finish(
        compose.append("where", {compose.append("max", {below, above}), x, zero}));
  const TensorId shift = compose.scalar(type, bias);
  const TensorId rest = compose.append("where", {above, compose.append("sub", {x, shift}), zero});
  return compose.finish(compose.append("where", {below, compose.append("add", {x, shift}), rest}));
}

/// 1, −1, or else x itself, which is then 0 or NaN. In half precision the sign of NaN is 0, as in
/// ONNX Runtime; ONNX does not say.
ReadResult read_sign(OnnxImport& import) {
  Composer compose(import);
  const TensorId x = import.input(0);
  const DataType type = compose.data_type(x);
  const bool is_half = type == DataType::kFloat16 || type == DataType::kBFloat16;
  const TensorId zero = compose.scalar(type, 0);
  const TensorId negative = compose.append("less", {x, zero});
  const TensorId positive = compose.append("less", {zero, x});
  const TensorId rest =
      compose.append("where", {negative, compose.scalar(type, -1), is_half ? zero : x});
  return compose.finish(compose.append("where", {positive, compose.scalar(type, 1), rest}));
}

}  // namespace

std::vector<OnnxReader> activation_readers() {
  constexpr auto kF = Elements::kFloating;
  return {
      reader("Selu", kF, read_selu, 6),
      reader("Celu", kF, read_celu, 12),
      reader("Softsign", kF, read_softsign),
      reader("Swish", kF, read_swish, 24),
      reader("ThresholdedRelu", kF, read_thresholded, 10),
      reader("Shrink", kF, read_shrink, 9),
      reader("Sign", Elements::kArithmetic, read_sign, 9),
  };
}

}  // namespace soapstone::ops
