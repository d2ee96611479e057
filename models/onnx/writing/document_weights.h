// A model file as it is, with its weights taken out: for changes that ask nothing of operators.
#pragma once

#include <filesystem>

#include "core/base/result.h"
#include "models/onnx/writing/onnx_export.h"

namespace soapstone::models {

/// External weights are followed, and those inside nodes embedded. Initializers that no Literal
/// holds stay in the model. Errors: those of parse_document() and to_literal(), with the file.
core::Result<ExportedModel> read_document(const std::filesystem::path& path);
/// In one file, or with its weights beside it if they are too large. Errors: those of writing.
core::Status write_document(ExportedModel document, const std::filesystem::path& path);

}  // namespace soapstone::models
