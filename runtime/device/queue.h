// How kernels are run: put into a queue of the device, which works through it while the host goes
// on, and timed by the device's own clock.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "runtime/device/device_memory.h"

namespace soapstone::runtime {

/// A launch made ready to run any number of times, in queues of the backend that made it. How it is
/// run is between it and those queues. Not thread-safe.
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual std::size_t scratch_bytes() const { return 0; }
  /// The input over which output 0 may be written, which saves a copy: a call then has the same
  /// address for both. The executor does so where nothing reads that input later; who times
  /// kernels should do so too.
  virtual std::optional<std::size_t> in_place_input() const { return std::nullopt; }
  /// True if its last call may have taken NaN for a number, as vector maxima do. Whoever needs the
  /// NaN then runs the nodes of the launch one by one, which keeps it. Asked when the queue is
  /// idle.
  virtual bool may_have_lost_nan() const { return false; }
  /// For reports: "oneDNN jit:avx512_core", "reference".
  virtual std::string implementation() const = 0;
};

/// A kernel with everything that it reads and writes.
struct KernelCall {
  Kernel* kernel = nullptr;
  /// Parallel to Launch::inputs and outputs. The kernel holds the constants that Backend::compile
  /// was given; their addresses may be nowhere.
  std::vector<DeviceAddress> inputs = {}, outputs = {};
  DeviceAddress scratch = {};
  /// Parallel to the above: how many bytes lie there. Left empty: nobody said.
  std::vector<std::size_t> input_bytes = {}, output_bytes = {};
  std::string where = {};  ///< The node that errors of this call name; may be empty.
};

/// Microseconds that the device spends on a part of what is put into one queue.
class Stopwatch {
 public:
  virtual ~Stopwatch() = default;
  /// From here on what is enqueued counts.
  virtual void start() = 0;
  /// Waits for everything that was enqueued since start(). To be called by the same thread.
  virtual double stop_us() = 0;
};

/// Calls that run again and again, as a queue prepared them.
class Recording {
 public:
  explicit Recording(std::vector<KernelCall> calls) : calls_(std::move(calls)) {}
  virtual ~Recording() = default;
  std::span<const KernelCall> calls() const { return calls_; }

 private:
  std::vector<KernelCall> calls_;
};

/// Runs calls one after the other, in the order in which they come. Used by one thread at a time.
class Queue {
 public:
  virtual ~Queue() = default;
  /// May return before the calls have run, so they, their kernels and their memory must stay as
  /// they are until wait(). What stands behind a call that failed need not run.
  virtual void enqueue(std::span<const KernelCall> calls) = 0;
  /// Waits for everything that was enqueued; then the queue can be used again, whatever happened.
  /// Errors: the first one since the last wait(). kInvalidInput if inputs break a requirement of
  /// an operator, such as the range of an index.
  virtual core::Status wait() = 0;
  virtual std::unique_ptr<Stopwatch> make_stopwatch() = 0;
  /// Prepares calls for replay() in this queue: a device may run those side by side that do not
  /// touch each other's bytes. Their kernels, memory and the queue must outlive the result.
  /// Errors: kUnavailable if the device fails.
  virtual core::Result<std::unique_ptr<Recording>> record(std::vector<KernelCall> calls);
  /// enqueue() of all calls of a recording that this queue made.
  virtual void replay(Recording& recording);
};

}  // namespace soapstone::runtime
