// See prelude.h.
#include "gpu/text/prelude.h"

namespace soapstone::gpu {
namespace {

// The functions are those of ops::evaluate, in the type of the argument.
constexpr std::string_view kPrelude = R"(
typedef long long Integer;
struct Half { unsigned short bits; };
struct Brain { unsigned short bits; };
struct Truth { unsigned char bits; };

#ifdef SOAPSTONE_HOST
__device__ inline float widen(Half x) { return float_of_half(x.bits); }
__device__ inline unsigned short half_of(float x) { return half_of_float(x); }
__device__ inline unsigned short brain_of(float x) { return brain_of_float(x); }
#else
__device__ inline float widen(Half x) {
  float y;
  asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits));
  return y;
}
__device__ inline unsigned short half_of(float x) {
  unsigned short y;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y) : "f"(x));
  return y;
}
__device__ inline unsigned short brain_of(float x) {
  unsigned short y;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(y) : "f"(x));
  return y;
}
#endif
__device__ inline float widen(Brain x) { return __uint_as_float((unsigned int)x.bits << 16); }
__device__ inline Integer widen(Truth x) { return x.bits != 0; }
__device__ inline float widen(float x) { return x; }
__device__ inline double widen(double x) { return x; }
template <class T> __device__ inline Integer widen(T x) { return (Integer)x; }

template <class T> struct Narrow {
  template <class S> static __device__ T of(S x) { return (T)x; }
};
template <> struct Narrow<Half> {
  static __device__ Half of(float x) { return Half{half_of(x)}; }
};
template <> struct Narrow<Brain> {
  static __device__ Brain of(float x) { return Brain{brain_of(x)}; }
};
template <> struct Narrow<Truth> {
  template <class S> static __device__ Truth of(S x) { return Truth{(unsigned char)(x != 0)}; }
};

// Elements that are loaded or stored at once.
template <class T, int kWidth> struct __align__(sizeof(T) * kWidth) Pack { T at[kWidth]; };
template <int kWidth, class T> __device__ inline Pack<T, kWidth> load(const T* from) {
  return *(const Pack<T, kWidth>*)from;
}
template <int kWidth, class T> __device__ inline void store(T* to, const Pack<T, kWidth>& pack) {
  *(Pack<T, kWidth>*)to = pack;
}

#ifndef SOAPSTONE_HOST
#define SOAPSTONE_CHECK_INDEX(k, count)
#endif
// An array of all threads of a block.
template <class T, int kCount> struct Shared {
  T at[kCount];
  __device__ inline T& operator[](int k) {
    SOAPSTONE_CHECK_INDEX(k, kCount);
    return at[k];
  }
};

template <class T> __device__ inline T fn_relu(T x) { return x < 0 ? (T)0 : x; }
template <class T> __device__ inline T fn_abs(T x) { return x < 0 ? -x : x; }
template <class T> __device__ inline Integer fn_less(T x, T y) { return x < y; }
template <class T> __device__ inline Integer fn_less_or_equal(T x, T y) { return x <= y; }
template <class T> __device__ inline Integer fn_equal(T x, T y) { return x == y; }
template <class T> __device__ inline Integer fn_is_zero(T x) { return x == 0; }
template <class T> __device__ inline Integer fn_is_nan(T x) { return x != x; }
template <class T> __device__ inline Integer fn_is_infinite(T x) { return x == x && x - x != x - x; }
__device__ inline float fn_abs(float x) { return fabsf(x); }
__device__ inline double fn_abs(double x) { return fabs(x); }
#define SOAPSTONE_FUNCTION(name, single, twice)              \
  __device__ inline float fn_##name(float x) { return single(x); } \
  __device__ inline double fn_##name(double x) { return twice(x); }
SOAPSTONE_FUNCTION(exp, expf, exp)
SOAPSTONE_FUNCTION(log, logf, log)
SOAPSTONE_FUNCTION(log1p, log1pf, log1p)
SOAPSTONE_FUNCTION(sqrt, sqrtf, sqrt)
SOAPSTONE_FUNCTION(tanh, tanhf, tanh)
SOAPSTONE_FUNCTION(erf, erff, erf)
SOAPSTONE_FUNCTION(sin, sinf, sin)
SOAPSTONE_FUNCTION(cos, cosf, cos)
SOAPSTONE_FUNCTION(floor, floorf, floor)
SOAPSTONE_FUNCTION(ceil, ceilf, ceil)
SOAPSTONE_FUNCTION(round, rintf, rint)
SOAPSTONE_FUNCTION(truncate, truncf, trunc)
#undef SOAPSTONE_FUNCTION
__device__ inline float fn_sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }
__device__ inline double fn_sigmoid(double x) { return 1.0 / (1.0 + exp(-x)); }
__device__ inline float fn_pow(float x, float y) { return powf(x, y); }
__device__ inline double fn_pow(double x, double y) { return pow(x, y); }
__device__ inline Integer fn_floor(Integer x) { return x; }
__device__ inline Integer fn_ceil(Integer x) { return x; }
__device__ inline Integer fn_round(Integer x) { return x; }
__device__ inline Integer fn_truncate(Integer x) { return x; }

struct Least {
  __device__ operator float() const { return -__int_as_float(0x7f800000); }
  __device__ operator double() const { return -(double)__int_as_float(0x7f800000); }
  __device__ operator Integer() const { return (Integer)(1ull << 63); }
};
struct Plus {
  template <class T> __device__ T operator()(T x, T y) const { return x + y; }
};
struct Larger {
  template <class T> __device__ T operator()(T x, T y) const { return x < y || y != y ? y : x; }
};

// What kLanes neighboring threads hold, joined; all of them get the result. More than 32 lanes are
// a block. Of fewer, others of the warp may have ended.
template <int kLanes, class T, class Join> __device__ inline T join_lanes(T x, Join join) {
  const unsigned int lanes = kLanes < 32 ? ((1u << kLanes % 32) - 1) << threadIdx.x % 32 / kLanes * kLanes
                                         : 0xffffffffu;
  for (int distance = (kLanes < 32 ? kLanes : 32) / 2; distance > 0; distance /= 2)
    x = join(x, __shfl_xor_sync(lanes, x, distance));
  if (kLanes > 32) {
    __shared__ T parts[kLanes / 32 + 1];
    __syncthreads();  // what the last call left here has been read
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = x;
    __syncthreads();
    x = parts[0];
    for (int warp = 1; warp < kLanes / 32; ++warp) x = join(x, parts[warp]);
  }
  return x;
}
)";

}  // namespace

std::string_view prelude() { return kPrelude; }

}  // namespace soapstone::gpu
