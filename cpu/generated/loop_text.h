// Fused loops as C++: a function that any C++ compiler turns into vector code, for the kernels of a
// CPU.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/generated/kernel_plan.h"

namespace soapstone::cpu {

/// One loop nest. Its outermost loop is cut into ranges, which may run side by side.
struct LoopPhase {
  std::int64_t count = 0;     ///< Of the outermost loop.
  std::int64_t elements = 1;  ///< Stored by one turn of it.
};

/// extern "C" void NAME(void* const* tensors, long phase, long begin, long end)
struct LoopText {
  std::string source;                     ///< Behind the prelude; @ stands for the name.
  std::vector<core::TensorId> arguments;  ///< Inputs, then outputs.
  std::vector<LoopPhase> phases;
  /// False: a loop reads memory unevenly or has conditions, and is hardly faster than plain code.
  bool is_vectorized = true;
};

/// Without lanes, as one thread computes a row.
inline constexpr runtime::generated::KernelOptions kLoopOptions = {
    .lanes = 1, .width = 1, .values = runtime::generated::RowValues::kReadAgain};
/// Always has an answer.
runtime::generated::KernelPlan plan_loops(const runtime::generated::Region& region);

LoopText loop_text(const runtime::generated::Region& region,
                   const runtime::generated::KernelPlan& plan);

}  // namespace soapstone::cpu
