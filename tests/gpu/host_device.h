// What a kernel's text expects of a device, for a thread of the host: each thread of a block is a
// fiber, which runs until it has to wait for others. Included by the text that tests compile.
#pragma once

#include <ucontext.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

// No more of the standard library, and of <math.h> no more than the prelude calls: the headers
// would take longer to read than the kernels.
#include "core/base/float16.h"

#define SOAPSTONE_DECLARE(name)  \
  float name##f(float) noexcept; \
  double name(double) noexcept;
extern "C" {
SOAPSTONE_DECLARE(fabs)
SOAPSTONE_DECLARE(exp)
SOAPSTONE_DECLARE(log)
SOAPSTONE_DECLARE(log1p)
SOAPSTONE_DECLARE(sqrt)
SOAPSTONE_DECLARE(tanh)
SOAPSTONE_DECLARE(erf)
SOAPSTONE_DECLARE(sin)
SOAPSTONE_DECLARE(cos)
SOAPSTONE_DECLARE(floor)
SOAPSTONE_DECLARE(ceil)
SOAPSTONE_DECLARE(rint)
SOAPSTONE_DECLARE(trunc)
float powf(float, float) noexcept;
double pow(double, double) noexcept;
}
#undef SOAPSTONE_DECLARE

#define SOAPSTONE_HOST
#define __global__
#define __device__
#define __shared__ static
#define __launch_bounds__(threads)
#define __align__(bytes) alignas(bytes)

/// Stops the program where a kernel leaves an array that it shares.
inline void check_index(int index, int count) {
  if (index >= 0 && index < count) return;
  std::fprintf(stderr, "index %d of %d shared elements\n", index, count);
  std::abort();
}
#define SOAPSTONE_CHECK_INDEX(k, count) check_index(k, count)

struct HostIndex {
  unsigned x;
};
static HostIndex threadIdx, blockIdx;

inline float float_of_half(unsigned short bits) { return soapstone::core::float_from_f16(bits); }
inline unsigned short half_of_float(float x) { return soapstone::core::f16_from_float(x); }
inline unsigned short brain_of_float(float x) { return soapstone::core::bf16_from_float(x); }
template <class To, class From>
To same_bits(From x) {
  To y;
  static_assert(sizeof x == sizeof y);
  std::memcpy(&y, &x, sizeof y);
  return y;
}
inline float __uint_as_float(unsigned x) { return same_bits<float>(x); }
inline float __int_as_float(int x) { return same_bits<float>(x); }

/// Runs the threads of one block in turn. A barrier that only some of those reach that have not
/// ended is a mistake in the text: the program stops.
class HostBlock {
 public:
  enum class State : unsigned char { kReady, kInWarp, kInBlock, kEnded };

  /// A function and what it is called with.
  struct Kernel {
    void (*run)(const void*);
    const void* with;
  };

  void run(int threads, Kernel kernel) {
    kernel_ = kernel;
    for (int t = 0; t < threads; ++t) start(fibers_[t]);
    for (bool is_running = true; is_running;) {
      is_running = false;
      for (int t = 0; t < threads; ++t) is_running |= resume(static_cast<unsigned>(t));
      check(threads);
    }
  }
  /// `mask`: the threads of the warp that are waited for.
  void wait(State state, unsigned mask = 0) {
    Fiber& fiber = fibers_[current_];
    fiber.state = state;
    fiber.mask = mask;
    swapcontext(&fiber.context, &scheduler_);
  }
  double& slot(unsigned thread) { return fibers_[thread].slot; }

 private:
  static constexpr unsigned long kStackBytes = 64 << 10;
  static constexpr int kMostThreads = 1024;
  struct Fiber {
    ucontext_t context;
    void* stack = nullptr;  ///< Kept until the program ends.
    State state = State::kEnded;
    unsigned mask = 0;
    double slot = 0;
  };

  void start(Fiber& fiber);
  bool resume(unsigned thread) {
    Fiber& fiber = fibers_[thread];
    if (fiber.state == State::kEnded) return false;
    current_ = thread;
    threadIdx.x = thread;
    swapcontext(&scheduler_, &fiber.context);
    return fiber.state != State::kEnded;
  }
  void check(int threads) {
    int in_block = 0;
    bool is_right = true;
    for (int t = 0; t < threads; ++t) {
      const Fiber& fiber = fibers_[t];
      in_block += fiber.state == State::kInBlock;
      if (fiber.state != State::kInWarp) continue;
      is_right &= (fiber.mask >> t % 32 & 1) == 1;
      for (int lane = 0; lane < 32; ++lane)
        if (fiber.mask >> lane & 1) is_right &= is_beside(fiber, t / 32 * 32 + lane, threads);
    }
    if (is_right && (in_block == 0 || in_block == threads)) return;
    std::fprintf(stderr, "threads wait for others that do not come\n");
    std::abort();
  }
  /// True if the thread waits for the same others as that of the fiber.
  bool is_beside(const Fiber& fiber, int thread, int threads) const {
    return thread < threads && fibers_[thread].state == State::kInWarp &&
           fibers_[thread].mask == fiber.mask;
  }

  Fiber fibers_[kMostThreads];
  unsigned current_ = 0;
  ucontext_t scheduler_;
  Kernel kernel_{};

  friend void host_fiber();
};
static HostBlock host_block;

inline void host_fiber() {
  host_block.kernel_.run(host_block.kernel_.with);
  host_block.wait(HostBlock::State::kEnded);
}

inline void HostBlock::start(Fiber& fiber) {
  if (!fiber.stack) fiber.stack = std::malloc(kStackBytes);
  getcontext(&fiber.context);
  fiber.context.uc_stack.ss_sp = fiber.stack;
  fiber.context.uc_stack.ss_size = kStackBytes;
  fiber.context.uc_link = nullptr;
  fiber.state = State::kReady;
  makecontext(&fiber.context, host_fiber, 0);
}

inline void __syncthreads() { host_block.wait(HostBlock::State::kInBlock); }

template <class T>
T __shfl_xor_sync(unsigned mask, T x, int distance) {
  static_assert(sizeof x <= sizeof(double));
  std::memcpy(&host_block.slot(threadIdx.x), &x, sizeof x);
  host_block.wait(HostBlock::State::kInWarp, mask);
  T y;
  std::memcpy(&y, &host_block.slot(threadIdx.x ^ static_cast<unsigned>(distance)), sizeof y);
  host_block.wait(HostBlock::State::kInWarp, mask);
  return y;
}

template <class Kernel>
void run_blocks(long long blocks, int threads, bool has_barriers, const Kernel& kernel) {
  for (long long b = 0; b < blocks; ++b) {
    blockIdx.x = static_cast<unsigned>(b);
    if (has_barriers) {
      host_block.run(threads,
                     {[](const void* of) { (*static_cast<const Kernel*>(of))(); }, &kernel});
      continue;
    }
    for (int t = 0; t < threads; ++t) {
      threadIdx.x = static_cast<unsigned>(t);
      kernel();
    }
  }
}
