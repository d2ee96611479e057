// ONNX's own shape inference, asked in a process of its own. It divides by attributes, expands
// function bodies and allocates what a file claims without looking; there that ends the process
// that was asked, and here it is an error like any other.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "models/onnx/format/onnx_protobuf.h"

namespace soapstone::models {

/// Started at the first question, and anew after one that ended it. For one thread.
class InferenceProcess {
 public:
  struct Limits {
    int cpu_s = 5;  ///< For one question.
    std::size_t memory_bytes = std::size_t{1} << 30;
  };
  InferenceProcess() : InferenceProcess(Limits()) {}
  explicit InferenceProcess(const Limits& limits) : limits_(limits) {}
  ~InferenceProcess();
  InferenceProcess(const InferenceProcess&) = delete;
  InferenceProcess& operator=(const InferenceProcess&) = delete;

  struct Answer {
    onnx::GraphProto graph;  ///< With the types that were found as its value_info.
    std::string refusal;     ///< Why ONNX says that the graph is wrong, or empty.
  };
  /// `strict`: what cannot be right is refused; else as much is found as can be.
  /// Errors: kInvalidInput if the question ends the process (a division by zero, say), kUnsupported
  /// if it takes more time or memory than `limits`, kUnavailable if none can be started.
  core::Result<Answer> infer(const onnx::ModelProto& model, bool strict);

 private:
  core::Status start();
  void stop();
  core::Error why_it_ended();

  Limits limits_;
  pid_t process_ = -1;
  int socket_ = -1;
};

}  // namespace soapstone::models
