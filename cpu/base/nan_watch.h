// Notices at no cost that a kernel may have taken NaN for a number. Vector maxima, of which relu
// and clip are made, give their second operand where the first is NaN; the processor then marks
// that an operation was invalid, as it does where NaN arises (∞ - ∞, 0 · ∞).
#pragma once

#include <atomic>
#include <cfenv>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "cpu/base/threads.h"

namespace soapstone::cpu {

class NanWatch {
 public:
  /// `is_needed`: the kernel computes functions that may lose NaN. Then run() watches.
  NanWatch(bool is_needed, int threads) : is_needed_(is_needed), threads_(threads) {}

  /// Calls `work`, which does its work in the calling thread and in those of OpenMP.
  template <class Work>
  void run(const Work& work) {
    if (!is_needed_) return work();
    on_each_thread([] { forget(); });
    work();
    std::atomic<bool> found = false;
    on_each_thread([&] {
      if (is_marked()) found.store(true, std::memory_order_relaxed);
    });
    found_ = found;
  }
  /// True if NaN was met, or arose, in the last run.
  bool found() const { return found_; }

 private:
#if defined(__x86_64__)
  // The C library's functions look at the old floating-point unit, too, and take ten times as long.
  static constexpr unsigned kInvalid = 1;
  static void forget() { _mm_setcsr(_mm_getcsr() & ~kInvalid); }
  static bool is_marked() { return (_mm_getcsr() & kInvalid) != 0; }
#else
  static void forget() { std::feclearexcept(FE_INVALID); }
  static bool is_marked() { return std::fetestexcept(FE_INVALID) != 0; }
#endif

  /// The marks are those of a thread. OpenMP keeps its threads from one parallel region to the
  /// next.
  template <class Work>
  void on_each_thread(const Work& work) const {
#if !defined(__SANITIZE_THREAD__)  // The sanitizer does not see the barriers of OpenMP.
    if (threads_ > 1) {
#pragma omp parallel num_threads(threads_)
      work();
      return;
    }
#endif
    work();
  }

  bool is_needed_;
  int threads_;
  bool found_ = false;
};

}  // namespace soapstone::cpu
