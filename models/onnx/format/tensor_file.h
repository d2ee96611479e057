// ONNX's files of one tensor (.pb), in which its test suites keep inputs and results.
#pragma once

#include <filesystem>

#include "core/base/result.h"
#include "core/graph/literal.h"

namespace soapstone::models {

/// Errors: kInvalidInput: no such file, not a TensorProto, or a broken one; kUnsupported: elements
/// without an equivalent here.
core::Result<core::Literal> read_tensor(const std::filesystem::path& path);

}  // namespace soapstone::models
