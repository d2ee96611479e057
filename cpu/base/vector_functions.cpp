// The loops of vector_functions.h on floats.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "cpu/base/vector_clones.h"
#include "cpu/base/vector_functions.h"
#include "cpu/base/vector_math.h"

namespace soapstone::cpu {
namespace {

#define SOAPSTONE_UNARY(name, expression)                                                        \
  SOAPSTONE_VECTOR_CLONES void name##_loop(const float* from, float* to, std::size_t count,      \
                                           [[maybe_unused]] float a, [[maybe_unused]] float b) { \
    for (std::size_t i = 0; i < count; ++i) {                                                    \
      const float x = from[i];                                                                   \
      to[i] = (expression);                                                                      \
    }                                                                                            \
  }

SOAPSTONE_UNARY(relu, x < 0.0f ? 0.0f : x)
SOAPSTONE_UNARY(leaky_relu, x < 0.0f ? a * x : x)
SOAPSTONE_UNARY(elu, x < 0.0f ? a * (exp1(x) - 1.0f) : x)
SOAPSTONE_UNARY(clip, std::min(std::max(x, a), b))
SOAPSTONE_UNARY(hard_sigmoid, clamp01((a * x) + b))
SOAPSTONE_UNARY(hard_swish, (x * clamp01(x * (1.0f / 6) + 0.5f)))
SOAPSTONE_UNARY(sigmoid, sigmoid1(x))
SOAPSTONE_UNARY(tanh, tanh1(x))
SOAPSTONE_UNARY(erf, erf1(x))
SOAPSTONE_UNARY(softplus, softplus1(x))
SOAPSTONE_UNARY(exp, exp1(x))
SOAPSTONE_UNARY(log, log1(x))
SOAPSTONE_UNARY(gelu, 0.5f * x * (1.0f + erf1(x * 0.707106781186547524f)))
SOAPSTONE_UNARY(gelu_tanh, gelu_tanh1(x))
SOAPSTONE_UNARY(sqrt, std::sqrt(x))
SOAPSTONE_UNARY(neg, -x)
SOAPSTONE_UNARY(abs, std::fabs(x))
SOAPSTONE_UNARY(reciprocal, 1.0f / x)
SOAPSTONE_UNARY(floor, std::floor(x))
SOAPSTONE_UNARY(ceil, std::ceil(x))
SOAPSTONE_UNARY(round, std::nearbyint(x))
SOAPSTONE_UNARY(sin, std::sin(x))
SOAPSTONE_UNARY(cos, std::cos(x))
SOAPSTONE_UNARY(not, x == 0.0f ? 1.0f : 0.0f)
SOAPSTONE_UNARY(is_nan, x != x ? 1.0f : 0.0f)
SOAPSTONE_UNARY(is_inf, std::fabs(x) > std::numeric_limits<float>::max() ? 1.0f : 0.0f)
SOAPSTONE_UNARY(identity, x)
SOAPSTONE_UNARY(square, (x * x))
SOAPSTONE_UNARY(cube, (x * x * x))

#define SOAPSTONE_BINARY(name, expression)                                                   \
  SOAPSTONE_VECTOR_CLONES void name##_loop(const float* left, const float* right, float* to, \
                                           std::size_t count) {                              \
    for (std::size_t i = 0; i < count; ++i) {                                                \
      const float x = left[i], y = right[i];                                                 \
      to[i] = (expression);                                                                  \
    }                                                                                        \
  }

SOAPSTONE_BINARY(add, x + y)
SOAPSTONE_BINARY(sub, x - y)
SOAPSTONE_BINARY(mul, (x * y))
SOAPSTONE_BINARY(div, x / y)
// NaN if one is; of zeros the second.
SOAPSTONE_BINARY(min, x < y || x != x ? x : y)
SOAPSTONE_BINARY(max, x > y || x != x ? x : y)
SOAPSTONE_BINARY(pow, std::pow(x, y))
SOAPSTONE_BINARY(less, x < y ? 1.0f : 0.0f)
SOAPSTONE_BINARY(less_or_equal, x <= y ? 1.0f : 0.0f)
SOAPSTONE_BINARY(equal, x == y ? 1.0f : 0.0f)

constexpr std::array<std::pair<std::string_view, UnaryLoop<float>>, 29> kUnary = {{
    {"relu", relu_loop},
    {"leaky_relu", leaky_relu_loop},
    {"elu", elu_loop},
    {"clip", clip_loop},
    {"hard_sigmoid", hard_sigmoid_loop},
    {"hard_swish", hard_swish_loop},
    {"sigmoid", sigmoid_loop},
    {"tanh", tanh_loop},
    {"erf", erf_loop},
    {"softplus", softplus_loop},
    {"exp", exp_loop},
    {"log", log_loop},
    {"gelu", gelu_loop},
    {"gelu_tanh", gelu_tanh_loop},
    {"sqrt", sqrt_loop},
    {"neg", neg_loop},
    {"abs", abs_loop},
    {"reciprocal", reciprocal_loop},
    {"floor", floor_loop},
    {"ceil", ceil_loop},
    {"round", round_loop},
    {"sin", sin_loop},
    {"cos", cos_loop},
    {"not", not_loop},
    {"is_nan", is_nan_loop},
    {"is_inf", is_inf_loop},
    {"cast", identity_loop},
    {"square", square_loop},
    {"cube", cube_loop},
}};

constexpr std::array<std::pair<std::string_view, BinaryLoop<float>>, 10> kBinary = {{
    {"add", add_loop},
    {"sub", sub_loop},
    {"mul", mul_loop},
    {"div", div_loop},
    {"min", min_loop},
    {"max", max_loop},
    {"pow", pow_loop},
    {"less", less_loop},
    {"less_or_equal", less_or_equal_loop},
    {"equal", equal_loop},
}};

}  // namespace

template <>
UnaryLoop<float> unary_loop(std::string_view op) {
  return find_loop(kUnary, op);
}
template <>
BinaryLoop<float> binary_loop(std::string_view op) {
  return find_loop(kBinary, op);
}
template <>
SOAPSTONE_VECTOR_CLONES void select_loop(const float* c, const float* x, const float* y, float* z,
                                         std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) z[i] = c[i] != 0.0f ? x[i] : y[i];
}
SOAPSTONE_VECTOR_CLONES void scale_shift_loop(const float* x, float* y, std::size_t count, float a,
                                              float b) {
  for (std::size_t i = 0; i < count; ++i) y[i] = a * x[i] + b;
}
SOAPSTONE_VECTOR_CLONES void scale_shift_loop(const float* x, float* y, std::size_t count,
                                              const float* a, const float* b) {
  for (std::size_t i = 0; i < count; ++i) y[i] = a[i] * x[i] + b[i];
}

SOAPSTONE_VECTOR_CLONES void rms_norm_row(const float* x, const float* scale, float* y,
                                          std::size_t count, float epsilon) {
  constexpr std::size_t kLanes = 16;
  float lanes[kLanes] = {};
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (std::size_t l = 0; l < kLanes; ++l) lanes[l] += x[i + l] * x[i + l];
  }
  float squares = 0;
  for (float lane : lanes) squares += lane;
  for (; i < count; ++i) squares += x[i] * x[i];
  const float factor = 1.0f / std::sqrt(squares / static_cast<float>(count) + epsilon);
  for (i = 0; i < count; ++i) y[i] = x[i] * factor * scale[i];
}

}  // namespace soapstone::cpu
