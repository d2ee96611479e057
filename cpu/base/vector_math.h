// Approximations of functions of one float, without branches, so that loops over them vectorize.
// Generated kernels start with the text of this file, so it includes nothing: reading the headers
// of the standard library would take their compiler longer than all the rest.
// exp and log follow Cephes (S. Moshier), tanh and erf the rational approximations of Eigen.
#pragma once

namespace soapstone::cpu {

#define SOAPSTONE_INLINE [[gnu::always_inline]] inline float

/// As std::clamp, which a NaN passes.
SOAPSTONE_INLINE between(float x, float low, float high) {
  const float raised = x < low ? low : x;
  return high < raised ? high : raised;
}

SOAPSTONE_INLINE from_bits(int bits) { return __builtin_bit_cast(float, bits); }
SOAPSTONE_INLINE power_of_two(int n) { return from_bits((n + 127) << 23); }
constexpr float kInfinity = __builtin_inff();

/// x = n·ln 2 + r, then a polynomial of r; 2^n in two factors, so that the range ends where
/// floats do.
SOAPSTONE_INLINE exp1(float x) {
  const float bounded = between(x, -104.0f, 89.0f);
  const float n = __builtin_floorf(bounded * 1.44269504088896341f + 0.5f);
  const float r = (bounded - n * 0.693359375f) + n * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * (r * r) + r + 1.0f;
  const auto whole = static_cast<int>(n);
  const int half = whole >> 1;
  const float y = p * power_of_two(half) * power_of_two(whole - half);
  return x != x ? x : y;
}

SOAPSTONE_INLINE sigmoid1(float x) { return 1.0f / (1.0f + exp1(-x)); }

SOAPSTONE_INLINE tanh1(float x) {
  const float bounded = between(x, -7.90531110763549805f, 7.90531110763549805f);
  const float s = bounded * bounded;
  float p = -2.76076847742355e-16f;
  p = p * s + 2.00018790482477e-13f;
  p = p * s + -8.60467152213735e-11f;
  p = p * s + 5.12229709037114e-08f;
  p = p * s + 1.48572235717979e-05f;
  p = p * s + 6.37261928875436e-04f;
  p = p * s + 4.89352455891786e-03f;
  float q = 1.19825839466702e-06f;
  q = q * s + 1.18534705686654e-04f;
  q = q * s + 2.26843463243900e-03f;
  q = q * s + 4.89352518554385e-03f;
  const float y = bounded * p / q;
  return __builtin_fabsf(x) < 0.0004f ? x : (x != x ? x : y);
}

SOAPSTONE_INLINE erf1(float x) {
  const float bounded = between(x, -4.0f, 4.0f);
  const float s = bounded * bounded;
  float p = -2.72614225801306e-10f;
  p = p * s + 2.77068142495902e-08f;
  p = p * s + -2.10102402082508e-06f;
  p = p * s + -5.69250639462346e-05f;
  p = p * s + -7.34990630326855e-04f;
  p = p * s + -2.95459980854025e-03f;
  p = p * s + -1.60960333262415e-02f;
  float q = -1.45660718464996e-05f;
  q = q * s + -2.13374055278905e-04f;
  q = q * s + -1.68282697438203e-03f;
  q = q * s + -7.37332916720468e-03f;
  q = q * s + -1.42647390514189e-02f;
  const float y = bounded * p / q;
  // Exactly ±1 from there on: gelu multiplies what is left of 1 + erf(x) by x.
  return x != x ? x : (x >= 4.0f ? 1.0f : (x <= -4.0f ? -1.0f : y));
}

/// x = 2^e·m with m in [√½, √2), then a polynomial of m − 1. Subnormal numbers are scaled first.
SOAPSTONE_INLINE log1(float x) {
  const bool subnormal = x < 1.17549435e-38f;
  const float scaled = subnormal ? x * 8388608.0f : x;
  const auto bits = __builtin_bit_cast(unsigned, scaled);
  const auto shifted = static_cast<int>(bits - 0x3f3504f3u);  // √½
  const int exponent = (shifted >> 23) - (subnormal ? 23 : 0);
  const float m = from_bits((shifted & 0x007fffff) + 0x3f3504f3) - 1.0f;
  float p = 7.0376836292e-2f;
  p = p * m + -1.1514610310e-1f;
  p = p * m + 1.1676998740e-1f;
  p = p * m + -1.2420140846e-1f;
  p = p * m + 1.4249322787e-1f;
  p = p * m + -1.6668057665e-1f;
  p = p * m + 2.0000714765e-1f;
  p = p * m + -2.4999993993e-1f;
  p = p * m + 3.3333331174e-1f;
  const float e = static_cast<float>(exponent);
  float y = m * m * m * p + e * -2.12194440e-4f;
  y = m + (y - 0.5f * m * m) + e * 0.693359375f;
  y = x == 0.0f ? -kInfinity : y;
  y = x < 0.0f ? __builtin_nanf("") : y;
  return x == kInfinity || x != x ? x : y;
}

/// log(1 + x) for x in [0, 1], also where 1 + x rounds to 1: the error of log(1 + x) is that of 1 +
/// x.
SOAPSTONE_INLINE log1p1(float x) {
  const float u = 1.0f + x;
  return u == 1.0f ? x : log1(u) * (x / (u - 1.0f));
}

/// log(1 + exp(x))
SOAPSTONE_INLINE softplus1(float x) {
  return (x < 0.0f ? 0.0f : x) + log1p1(exp1(-__builtin_fabsf(x)));
}

SOAPSTONE_INLINE clamp01(float x) { return between(x, 0.0f, 1.0f); }

SOAPSTONE_INLINE gelu_tanh1(float x) {
  return 0.5f * x * (1.0f + tanh1(0.797884560802865f * (x + 0.044715f * x * x * x)));
}

#undef SOAPSTONE_INLINE

}  // namespace soapstone::cpu
