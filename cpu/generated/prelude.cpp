// See prelude.h.
#include "cpu/generated/prelude.h"

#include "cpu/generated/vector_math_text.h"

namespace soapstone::cpu {
namespace {

// The functions are those of ops::evaluate, in the type of the argument.
constexpr std::string_view kPrelude = R"(
using namespace soapstone::cpu;
typedef long long Integer;
struct Half { _Float16 value; };
struct Brain { unsigned short bits; };
struct Truth { unsigned char bits; };
#define INLINE __attribute__((always_inline)) inline

INLINE float widen(const Half& x) { return x.value; }
INLINE float widen(const Brain& x) { return __builtin_bit_cast(float, (unsigned)x.bits << 16); }
INLINE Integer widen(const Truth& x) { return x.bits != 0; }
INLINE float widen(float x) { return x; }
INLINE double widen(double x) { return x; }
template <class T> INLINE Integer widen(T x) { return (Integer)x; }

template <class T> struct Narrow {
  template <class S> static INLINE T of(S x) { return (T)x; }
};
template <> struct Narrow<Half> {
  static INLINE Half of(float x) { return Half{(_Float16)x}; }
};
template <> struct Narrow<Brain> {
  static INLINE Brain of(float x) {
    const unsigned bits = __builtin_bit_cast(unsigned, x);
    const unsigned nearest = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
    return Brain{(unsigned short)(x != x ? bits >> 16 | 0x40u : nearest)};
  }
};
template <> struct Narrow<Truth> {
  template <class S> static INLINE Truth of(S x) { return Truth{(unsigned char)(x != 0)}; }
};

template <class T> INLINE T fn_relu(T x) { return x < 0 ? (T)0 : x; }
template <class T> INLINE T fn_abs(T x) { return x < 0 ? -x : x; }
template <class T> INLINE Integer fn_less(T x, T y) { return x < y; }
template <class T> INLINE Integer fn_less_or_equal(T x, T y) { return x <= y; }
template <class T> INLINE Integer fn_equal(T x, T y) { return x == y; }
template <class T> INLINE Integer fn_is_zero(T x) { return x == 0; }
template <class T> INLINE Integer fn_is_nan(T x) { return x != x; }
template <class T> INLINE Integer fn_is_infinite(T x) { return x == x && x - x != x - x; }
INLINE float fn_abs(float x) { return __builtin_fabsf(x); }
INLINE double fn_abs(double x) { return __builtin_fabs(x); }
#define FUNCTION(name, single, twice)            \
  INLINE float fn_##name(float x) { return single(x); } \
  INLINE double fn_##name(double x) { return twice(x); }
FUNCTION(exp, exp1, __builtin_exp)
FUNCTION(log, log1, __builtin_log)
FUNCTION(log1p, __builtin_log1pf, __builtin_log1p)
FUNCTION(sqrt, __builtin_sqrtf, __builtin_sqrt)
FUNCTION(tanh, tanh1, __builtin_tanh)
FUNCTION(erf, erf1, __builtin_erf)
FUNCTION(sin, __builtin_sinf, __builtin_sin)
FUNCTION(cos, __builtin_cosf, __builtin_cos)
FUNCTION(floor, __builtin_floorf, __builtin_floor)
FUNCTION(ceil, __builtin_ceilf, __builtin_ceil)
FUNCTION(round, __builtin_rintf, __builtin_rint)
FUNCTION(truncate, __builtin_truncf, __builtin_trunc)
INLINE float fn_sigmoid(float x) { return sigmoid1(x); }
INLINE double fn_sigmoid(double x) { return 1.0 / (1.0 + __builtin_exp(-x)); }
INLINE float fn_pow(float x, float y) { return __builtin_powf(x, y); }
INLINE double fn_pow(double x, double y) { return __builtin_pow(x, y); }
INLINE Integer fn_floor(Integer x) { return x; }
INLINE Integer fn_ceil(Integer x) { return x; }
INLINE Integer fn_round(Integer x) { return x; }
INLINE Integer fn_truncate(Integer x) { return x; }

INLINE float __int_as_float(int bits) { return __builtin_bit_cast(float, bits); }
struct Least {
  INLINE operator float() const { return -__builtin_inff(); }
  INLINE operator double() const { return -__builtin_inf(); }
  INLINE operator Integer() const { return (Integer)(1ull << 63); }
};
struct Larger {
  template <class T> INLINE T operator()(T x, T y) const { return (x < y) | (y != y) ? y : x; }
};
#pragma omp declare reduction(larger : float, double, Integer : \
    omp_out = Larger()(omp_out, omp_in)) initializer(omp_priv = Least())
)";

}  // namespace

std::string loop_prelude() { return std::string(kVectorMathText) + std::string(kPrelude); }

}  // namespace soapstone::cpu
