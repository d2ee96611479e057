// Reads models for commands: shapes from flags, warnings to the console.
#pragma once

#include <string>
#include <vector>

#include "cli/run_main.h"
#include "core/base/result.h"
#include "models/onnx/format/onnx_model.h"

namespace soapstone::cli {

/// `shapes` as from add_shape_option. Errors: kUsage.
core::Result<models::ImportOptions> import_options(const std::vector<std::string>& shapes);

/// Errors: those of models::read_onnx.
core::Result<models::OnnxModel>
read_model(const std::string& path, const std::vector<std::string>& shapes, Session& session);
/// The same of a model that was made from the one to which the shapes belong: names that it does
/// not have any more are skipped.
core::Result<models::OnnxModel>
read_result(const std::string& path, const std::vector<std::string>& shapes, Session& session);

/// Before it is run: does the model fit into the limits on memory and work?
/// Errors: kUnsupported, with the file.
core::Status check_can_run(const std::string& path, const core::Graph& graph);

/// The arrays of a .npz archive, one for each input of the graph, by name.
/// Errors: kInvalidInput if one is missing or has another type or shape.
core::Result<std::vector<core::Literal>> read_inputs(const std::string& path,
                                                     const core::Graph& graph);

/// `conv1: f32[1, 3, 224, 224]`.
std::string tensor_text(const core::Graph& graph, core::TensorId id);

}  // namespace soapstone::cli
