// See kernel_run.h.
#include "cost/timing/kernel_run.h"

#include <algorithm>
#include <numeric>
#include <span>

#include "cost/timing/random_data.h"
#include "cost/timing/timing.h"
#include "runtime/launches/layout.h"

namespace soapstone::cost {
namespace {

/// A kernel that writes over its input meets its own results. After so many runs the input is
/// restored, before they have shrunk to denormals or grown without bound.
constexpr std::int64_t kRunsInPlace = 16;

}  // namespace

core::Result<KernelRun> KernelRun::make(runtime::Backend& backend,
                                        std::vector<std::unique_ptr<runtime::Kernel>> kernels,
                                        const std::vector<TimedTensor>& inputs,
                                        const std::vector<TimedTensor>& outputs) {
  KernelRun run(backend.memory());
  SOAPSTONE_ASSIGN_OR_RETURN(run.queue_, backend.make_queue());
  run.stopwatch_ = run.queue_->make_stopwatch();
  run.kernels_ = std::move(kernels);
  for (Set& set : run.sets_) SOAPSTONE_RETURN_IF_ERROR(run.fill(set, inputs, outputs));

  const std::size_t scratch_bytes = run.kernels_.front()->scratch_bytes();
  SOAPSTONE_ASSIGN_OR_RETURN(auto scratch,
                             runtime::DeviceBlock::allocate(*run.memory_, scratch_bytes));
  const runtime::DeviceAddress scratch_address = scratch.address();
  run.blocks_.push_back(std::move(scratch));

  const auto in_place = run.kernels_.front()->in_place_input();
  if (in_place && !inputs[*in_place].is_constant) {
    SOAPSTONE_RETURN_IF_ERROR(
        run.work_in_place(*in_place, runtime::storage_bytes(*inputs[*in_place].type)));
  }
  run.make_calls(scratch_address);
  return run;
}

double KernelRun::run(std::int64_t repetitions) {
  if (!result_) return kFailedUs;
  if (overwritten_.empty()) return run_some(repetitions);
  constexpr std::int64_t kAtOnce = kRunsInPlace * static_cast<std::int64_t>(kSets);
  double total_us = 0;
  for (; repetitions > 0; repetitions -= kAtOnce) {
    total_us += run_some(std::min(repetitions, kAtOnce));
    if (result_) result_ = restore();
    if (!result_) return kFailedUs;
  }
  return total_us;
}

core::Result<runtime::DeviceAddress> KernelRun::add_block(const TimedTensor& tensor,
                                                          std::uint64_t seed) {
  std::vector<std::byte> bytes(runtime::storage_bytes(*tensor.type));
  SOAPSTONE_ASSIGN_OR_RETURN(auto block, runtime::DeviceBlock::allocate(*memory_, bytes.size()));
  fill_random(tensor.type->data_type, bytes, tensor.integer_bound, seed);
  if (!bytes.empty()) SOAPSTONE_RETURN_IF_ERROR(memory_->copy_in(block.address(), bytes));
  blocks_.push_back(std::move(block));
  return blocks_.back().address();
}

core::Status KernelRun::fill(Set& set, const std::vector<TimedTensor>& inputs,
                             const std::vector<TimedTensor>& outputs) {
  for (const TimedTensor& input : inputs) {
    if (input.is_constant) {
      set.inputs.emplace_back();
      continue;
    }
    SOAPSTONE_ASSIGN_OR_RETURN(const auto data, add_block(input, set.inputs.size()));
    set.inputs.push_back(data);
  }
  for (const TimedTensor& output : outputs) {
    SOAPSTONE_ASSIGN_OR_RETURN(const auto data, add_block(output, set.outputs.size()));
    set.outputs.push_back(data);
  }
  return core::Done{};
}

/// From now on output 0 lies where the input does; its old place saves what the input holds.
core::Status KernelRun::work_in_place(std::size_t input, std::size_t bytes) {
  overwritten_bytes_ = bytes;
  for (Set& set : sets_) {
    const Overwritten overwritten{.data = set.inputs[input], .saved = set.outputs[0]};
    SOAPSTONE_RETURN_IF_ERROR(memory_->copy(overwritten.data, overwritten.saved, bytes));
    set.outputs[0] = overwritten.data;
    overwritten_.push_back(overwritten);
  }
  return core::Done{};
}

void KernelRun::make_calls(runtime::DeviceAddress scratch) {
  const std::size_t pairs = std::lcm(kSets, kernels_.size());
  for (std::size_t turn = 0; turn < pairs; ++turn) {
    const Set& set = sets_[turn % kSets];
    calls_.push_back({.kernel = kernels_[turn % kernels_.size()].get(),
                      .inputs = set.inputs,
                      .outputs = set.outputs,
                      .scratch = scratch});
  }
}

core::Status KernelRun::restore() {
  for (const Overwritten& overwritten : overwritten_)
    SOAPSTONE_RETURN_IF_ERROR(
        memory_->copy(overwritten.saved, overwritten.data, overwritten_bytes_));
  return core::Done{};
}

double KernelRun::run_some(std::int64_t repetitions) {
  stopwatch_->start();
  for (auto left = static_cast<std::size_t>(repetitions); left > 0;) {
    const std::size_t count = std::min(left, calls_.size() - turn_);
    queue_->enqueue(std::span(calls_).subspan(turn_, count));
    turn_ = (turn_ + count) % calls_.size();
    left -= count;
  }
  const double us = stopwatch_->stop_us();
  result_ = queue_->wait();
  return result_ ? us : kFailedUs;
}

}  // namespace soapstone::cost
