// See step_header.h.
#include "models/onnx/writing/step_header.h"

#include <algorithm>

#include "models/onnx/format/model_header.h"

namespace soapstone::models {

WrittenHeader step_header(const ModelHeader& model, const StepHeader& step) {
  auto header = std::make_shared<ModelHeader>(model);
  onnx::ModelProto& skeleton = header->skeleton;
  skeleton.mutable_graph()->clear_output();
  header->folded = nullptr;
  for (const auto& [name, value] : step.defaults) header->defaults.insert_or_assign(name, value);
  for (const auto& [key, value] : step.metadata) {
    auto& entry = *skeleton.add_metadata_props();
    entry.set_key(key);
    entry.set_value(value);
  }
  const bool is_old = default_opset(skeleton) < step.lowest_opset;
  if (is_old) {
    for (auto& import : *skeleton.mutable_opset_import())
      if (import.domain().empty() || import.domain() == "ai.onnx")
        import.set_version(step.lowest_opset);
    const auto current = new_header(step.lowest_opset);
    skeleton.set_ir_version(std::max(skeleton.ir_version(), current->skeleton.ir_version()));
  }
  return {std::move(header), !is_old};
}

}  // namespace soapstone::models
