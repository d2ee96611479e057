// Models for tests, written in ONNX's own text format and turned into bytes.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "models/onnx/format/onnx_model.h"
#include "models/onnx/format/onnx_protobuf.h"
#include "tests/support/temporary_folder.h"

namespace soapstone::models {

/// All of these throw, which fails the test, if the text is no model.
onnx::ModelProto model_from_text(const std::string& text);
std::string bytes_from_text(const std::string& text);
onnx::ModelProto parse_proto(const std::string& bytes);

/// Throws if it cannot be read.
OnnxModel read_text(const std::string& text, const ImportOptions& options = {});
/// The error of reading it, or "no error".
std::string error_of_text(const std::string& text, const ImportOptions& options = {});
std::string error_of_bytes(std::string_view bytes, const ImportOptions& options = {});

/// Serialized, accepted by ONNX's checker with full shape inference.
std::string write_checked(const OnnxModel& model);
std::string write_checked(const core::Graph& graph, const ModelHeader& header,
                          const WriteOptions& options = {});
/// The same with every node written by its operator's mapping.
std::string write_mapped(const OnnxModel& model);

/// Names of the operators in order: `conv relu opaque:TopK`.
std::string operators(const core::Graph& graph);
/// Operator types of a written model, in order.
std::string op_types(const onnx::ModelProto& model);

void write_file(const std::filesystem::path& path, std::string_view contents);
std::string read_file(const std::filesystem::path& path);

}  // namespace soapstone::models
