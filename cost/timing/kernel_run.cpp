// See kernel_run.h.
#include "cost/timing/kernel_run.h"

#include <algorithm>
#include <cstring>

#include "cost/timing/random_data.h"
#include "runtime/launches/layout.h"

namespace soapstone::cost {
namespace {

/// A kernel that writes over its input meets its own results. After so many runs the input is
/// restored, before they have shrunk to denormals or grown without bound.
constexpr std::int64_t kRunsInPlace = 16;

}  // namespace

core::Result<KernelRun> KernelRun::make(std::vector<std::unique_ptr<runtime::Kernel>> kernels,
                                        const std::vector<TimedTensor>& inputs,
                                        const std::vector<TimedTensor>& outputs) {
  KernelRun run;
  run.kernels_ = std::move(kernels);
  for (Set& set : run.sets_) SOAPSTONE_RETURN_IF_ERROR(run.fill(set, inputs, outputs));

  const std::size_t scratch_bytes = run.kernels_.front()->scratch_bytes();
  SOAPSTONE_ASSIGN_OR_RETURN(auto scratch, runtime::AlignedBlock::allocate(scratch_bytes));
  run.scratch_ = scratch.data();
  run.blocks_.push_back(std::move(scratch));

  const auto in_place = run.kernels_.front()->in_place_input();
  if (in_place && !inputs[*in_place].is_constant) {
    run.work_in_place(*in_place, runtime::storage_bytes(*inputs[*in_place].type));
  }
  return run;
}

double KernelRun::run(std::int64_t repetitions) {
  if (overwritten_.empty()) return run_some(repetitions);
  constexpr std::int64_t kAtOnce = kRunsInPlace * static_cast<std::int64_t>(kSets);
  double total_us = 0;
  for (; repetitions > 0; repetitions -= kAtOnce) {
    total_us += run_some(std::min(repetitions, kAtOnce));
    restore();
  }
  return total_us;
}

core::Result<std::byte*> KernelRun::add_block(const TimedTensor& tensor, std::uint64_t seed) {
  const std::size_t size = runtime::storage_bytes(*tensor.type);
  SOAPSTONE_ASSIGN_OR_RETURN(auto block, runtime::AlignedBlock::allocate(size));
  fill_random(tensor.type->data_type, {block.data(), size}, tensor.integer_bound, seed);
  blocks_.push_back(std::move(block));
  return blocks_.back().data();
}

core::Status KernelRun::fill(Set& set, const std::vector<TimedTensor>& inputs,
                             const std::vector<TimedTensor>& outputs) {
  for (const TimedTensor& input : inputs) {
    if (input.is_constant) {
      set.inputs.push_back(nullptr);
      continue;
    }
    SOAPSTONE_ASSIGN_OR_RETURN(std::byte* const data, add_block(input, set.inputs.size()));
    set.inputs.push_back(data);
  }
  for (const TimedTensor& output : outputs) {
    SOAPSTONE_ASSIGN_OR_RETURN(std::byte* const data, add_block(output, set.outputs.size()));
    set.outputs.push_back(data);
  }
  return core::Done{};
}

/// From now on output 0 lies where the input does; its old buffer saves what the input holds.
void KernelRun::work_in_place(std::size_t input, std::size_t bytes) {
  overwritten_bytes_ = bytes;
  for (Set& set : sets_) {
    auto* const data = const_cast<std::byte*>(set.inputs[input]);
    std::memcpy(set.outputs[0], data, bytes);
    overwritten_.emplace_back(data, std::exchange(set.outputs[0], data));
  }
}

void KernelRun::restore() {
  for (const auto& [data, saved] : overwritten_) std::memcpy(data, saved, overwritten_bytes_);
}

double KernelRun::run_some(std::int64_t repetitions) {
  return clock_.time_us([&] {
    for (std::int64_t i = 0; i < repetitions; ++i, ++turn_) {
      const Set& set = sets_[turn_ % kSets];
      // Random data is drawn from what the operators admit.
      [[maybe_unused]] const core::Status done =
          kernels_[turn_ % kernels_.size()]->run(set.inputs, set.outputs, scratch_);
    }
  });
}

}  // namespace soapstone::cost
