// One file for all sizes from files that were written at several: what differs in them are sizes in
// constants, which the one file computes from the shapes of its inputs.
#pragma once

#include <span>
#include <string>

#include "models/onnx/writing/onnx_export.h"

namespace soapstone::models {

/// The first of the files with its nodes as they have to be at every size: a Reshape copies and
/// infers sizes, other lists of sizes are computed. Shapes are declared as the first file has them.
/// Errors: kUnsupported: the files differ in more than sizes; the message says in what.
core::Result<ExportedModel> with_open_constants(std::span<const ExportedModel> files);

}  // namespace soapstone::models
