// The header of a file that is one step of training: what the model's own header says but for
// inputs and outputs, defaults for weights and states, and notes of what replaces what.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/graph/literal.h"
#include "models/onnx/format/onnx_model.h"

namespace soapstone::models {

struct StepHeader {
  std::map<std::string, core::LiteralPtr> defaults;  ///< By input of the step.
  /// Keys and values of the file's metadata_props.
  std::vector<std::pair<std::string, std::string>> metadata;
  int lowest_opset = 17;  ///< A model of an older one is written in this one.
};

/// A header for write_onnx(), and what WriteOptions::keep_original_nodes has to be with it.
struct WrittenHeader {
  std::shared_ptr<const ModelHeader> header;
  bool keeps_original_nodes = true;  ///< False: the opset is another than that of the file.
};
WrittenHeader step_header(const ModelHeader& model, const StepHeader& step);

}  // namespace soapstone::models
