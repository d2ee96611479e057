// What is asked of a runtime that is not ours, and what it tells: plain values.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/graph/literal.h"

namespace soapstone::workers {

struct NamedTensor {
  std::string name;
  core::Literal value;
};

struct RuntimeIdentity {
  std::string name;                    ///< "ONNX Runtime"
  std::string version;                 ///< "1.31.1"
  std::vector<std::string> providers;  ///< What it can run on, best first; may be empty.
};

struct LoadOptions {
  bool optimizations = false;  ///< Whether the runtime may optimize the graph.
  int threads = 1;
  std::string provider;  ///< Empty: the runtime's default on the CPU.
  /// Options of the runtime, by its own names and in its own words; they are set in this order.
  std::vector<std::pair<std::string, std::string>> options;
};

/// One kernel that the runtime runs, after its own optimizations.
struct RuntimeKernel {
  std::string name, op;  ///< "fused Add_12", "com.microsoft.nchwc.Conv"
  /// Tensors by their names in the runtime's own graph; empty if the runtime does not tell.
  std::vector<std::string> inputs, outputs;
  std::vector<std::string> origins;  ///< Nodes of the model that it does, if the runtime says.
  double us = 0;                     ///< Per run of the model: the sum over its calls.
};

struct RuntimeProfile {
  std::vector<RuntimeKernel> kernels;  ///< In the order in which they run.
  double total_us = 0;                 ///< The median of runs without profiling.
};

/// One entry a round: the time of one run of the model.
struct Samples {
  std::vector<double> wall_us;
  std::vector<double> cpu_us;  ///< Of all threads of the runtime.
};

}  // namespace soapstone::workers
