// Everything that the repetitions of one launch rotate through, and the repetitions themselves.
//
// Activations rotate through a few sets, because in a network the input of a launch was written a
// moment ago and its output goes to memory that was read a moment ago. Weights rotate through
// copies of the kernel, because in a network all other weights are used in between.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/result.h"
#include "runtime/launches/backend.h"

namespace soapstone::cost {

/// A tensor of the launch, as far as timing is concerned.
struct TimedTensor {
  const core::TensorType* type;
  bool is_constant = false;  ///< The kernels hold it already.
  std::int64_t integer_bound = 2;
};

class KernelRun {
 public:
  /// Makes and fills the data. Precondition: `kernels` are copies of one that `backend` made, at
  /// least one; `backend` outlives the result.
  /// Errors: kUnavailable if there is not enough memory.
  static core::Result<KernelRun> make(runtime::Backend& backend,
                                      std::vector<std::unique_ptr<runtime::Kernel>> kernels,
                                      const std::vector<TimedTensor>& inputs,
                                      const std::vector<TimedTensor>& outputs);

  /// Microseconds that so many runs take together; kFailedUs once one failed.
  double run(std::int64_t repetitions);
  /// The first error of a run. A kernel that the device refused to run takes no time at all.
  const core::Status& status() const { return result_; }
  std::string implementation() const { return kernels_.front()->implementation(); }

 private:
  static constexpr std::size_t kSets = 3;
  struct Set {
    std::vector<runtime::DeviceAddress> inputs, outputs;
  };
  /// An input over which a kernel writes, and a copy of what it held at first.
  struct Overwritten {
    runtime::DeviceAddress data, saved;
  };

  explicit KernelRun(runtime::DeviceMemory& memory) : memory_(&memory) {}
  core::Result<runtime::DeviceAddress> add_block(const TimedTensor& tensor, std::uint64_t seed);
  core::Status fill(Set& set, const std::vector<TimedTensor>& inputs,
                    const std::vector<TimedTensor>& outputs);
  core::Status work_in_place(std::size_t input, std::size_t bytes);
  void make_calls(runtime::DeviceAddress scratch);
  core::Status restore();
  double run_some(std::int64_t repetitions);

  runtime::DeviceMemory* memory_;
  std::vector<std::unique_ptr<runtime::Kernel>> kernels_;
  Set sets_[kSets];
  std::vector<runtime::DeviceBlock> blocks_;
  std::vector<Overwritten> overwritten_;
  std::size_t overwritten_bytes_ = 0;
  std::vector<runtime::KernelCall> calls_;  ///< Every pair of kernel and set in turn.
  std::size_t turn_ = 0;
  core::Status result_ = core::Done{};
  std::unique_ptr<runtime::Queue> queue_;
  std::unique_ptr<runtime::Stopwatch> stopwatch_;
};

}  // namespace soapstone::cost
