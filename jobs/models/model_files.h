// Reads models and inputs for jobs; warnings go to the progress sink.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "jobs/base/context.h"
#include "models/onnx/format/onnx_model.h"

namespace soapstone::jobs {

/// Sizes for inputs or named dimensions that a model file leaves open.
using Shapes = std::map<std::string, core::Dims>;

/// Whether the word for a model is the path of a file, and not the name of a built-in network.
bool is_model_file(const std::string& name);

/// Errors: those of models::read_onnx. `fold_default_inputs`: as in models::ImportOptions.
core::Result<models::OnnxModel> read_model(const std::string& path, const Shapes& shapes,
                                           const Context& context,
                                           bool fold_default_inputs = false);
/// Reads a model that was made from the one to which the shapes belong: names that it does not have
/// any more are skipped.
core::Result<models::OnnxModel> read_result(const std::string& path, const Shapes& shapes,
                                            const Context& context,
                                            bool fold_default_inputs = false);
/// A model that was built in memory; it will be written with that opset.
models::OnnxModel model_of(core::Graph graph, int opset = 17);

/// Errors: kInvalidInput if an input has an open size: "a plan needs numbers".
core::Status check_known_sizes(const core::Graph& graph, std::string_view who);

/// Checks before a model is run that it fits into the limits on memory and work.
/// Errors: kUnsupported, with the file.
core::Status check_can_run(const std::string& path, const core::Graph& graph);

/// The arrays of a .npz archive, one for each input of the model, by name; those with a default
/// value may be left out.
/// Errors: kInvalidInput if one is missing or has another type or shape.
core::Result<std::vector<core::Literal>> read_inputs(const std::string& path,
                                                     const models::OnnxModel& model);

/// `conv1: f32[1, 3, 224, 224]`.
std::string tensor_text(const core::Graph& graph, core::TensorId id);

}  // namespace soapstone::jobs
