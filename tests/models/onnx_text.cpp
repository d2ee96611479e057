// See onnx_text.h.
#include "tests/models/onnx_text.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <stdexcept>

#include "onnx/checker.h"
#include "onnx/defs/parser.h"
#include "ops/definition/registry.h"

namespace soapstone::models {

onnx::ModelProto model_from_text(const std::string& text) {
  onnx::ModelProto model;
  const auto status = onnx::OnnxParser::Parse(model, text.c_str());
  if (!status.IsOK()) throw std::runtime_error(status.ErrorMessage() + "\n" + text);
  return model;
}

std::string bytes_from_text(const std::string& text) {
  return model_from_text(text).SerializeAsString();
}

onnx::ModelProto parse_proto(const std::string& bytes) {
  onnx::ModelProto model;
  EXPECT_TRUE(model.ParseFromString(bytes));
  return model;
}

OnnxModel read_text(const std::string& text, const ImportOptions& options) {
  auto model = parse_onnx(bytes_from_text(text), options);
  if (!model) throw std::runtime_error(model.error().to_string() + "\n" + text);
  return *std::move(model);
}

std::string error_of_bytes(std::string_view bytes, const ImportOptions& options) {
  const auto model = parse_onnx(bytes, options);
  return model ? "no error" : model.error().to_string();
}

std::string error_of_text(const std::string& text, const ImportOptions& options) {
  return error_of_bytes(bytes_from_text(text), options);
}

std::string write_checked(const core::Graph& graph, const ModelHeader& header,
                          const WriteOptions& options) {
  const auto bytes = serialize_onnx(graph, header, options);
  if (!bytes) throw std::runtime_error(bytes.error().to_string());
  try {
    onnx::checker::check_model(parse_proto(*bytes), true);
  } catch (const std::exception& error) {
    ADD_FAILURE() << error.what() << "\n" << parse_proto(*bytes).DebugString();
  }
  return *bytes;
}

std::string write_checked(const OnnxModel& model) {
  return write_checked(model.graph, *model.header);
}

std::string write_mapped(const OnnxModel& model) {
  return write_checked(model.graph, *model.header, {.keep_original_nodes = false});
}

std::string operators(const core::Graph& graph) {
  std::string text;
  for (core::NodeId id : graph.order()) {
    const core::Node& node = graph.node(id);
    if (!text.empty()) text += ' ';
    text += node.op->name;
    if (ops::is_opaque(node)) text += ":" + node.attributes.get_text("op_type");
  }
  return text;
}

std::string op_types(const onnx::ModelProto& model) {
  std::string text;
  for (const auto& node : model.graph().node()) text += (text.empty() ? "" : " ") + node.op_type();
  return text;
}

void write_file(const std::filesystem::path& path, std::string_view contents) {
  std::ofstream file(path, std::ios::binary);
  file << contents;
  ASSERT_TRUE(file.good()) << path;
}

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  std::stringstream contents;
  contents << file.rdbuf();
  return contents.str();
}

}  // namespace soapstone::models
