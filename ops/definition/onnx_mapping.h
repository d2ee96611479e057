// How an operator is read from and written to ONNX, as plain data: no ONNX header is needed here.
// models/ turns protobuf messages into these structs and back.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/result.h"
#include "core/graph/graph.h"

namespace soapstone::ops {

using OnnxAttribute = std::variant<std::int64_t, float, std::string, std::vector<std::int64_t>,
                                   std::vector<float>, core::LiteralPtr>;

/// Reads one ONNX node and appends what it means to the graph under construction.
class OnnxImport {
 public:
  virtual ~OnnxImport() = default;
  virtual int opset() const = 0;  ///< The version of the node's domain.
  virtual std::string_view op_type() const = 0;
  virtual const OnnxAttribute* attribute(std::string_view name) const = 0;
  virtual std::size_t input_count() const = 0;
  virtual std::size_t output_count() const = 0;
  /// TensorId::none() for an input that is left out.
  virtual core::TensorId input(std::size_t k) const = 0;
  /// The value of input k if it is known at import time (a constant, or computed from shapes).
  virtual core::LiteralPtr constant_input(std::size_t k) const = 0;
  virtual const core::TensorType& type(core::TensorId id) const = 0;
  virtual core::TensorId constant(core::Literal value) = 0;
  /// Appends an operator of ours; types are inferred.
  virtual core::Result<std::vector<core::TensorId>>
  append(std::string_view op, std::vector<core::TensorId> inputs, core::Attributes attributes) = 0;

  /// The attribute or a default. Wrong kind: the default.
  std::int64_t int_or(std::string_view name, std::int64_t fallback) const;
  double real_or(std::string_view name, double fallback) const;
  std::string text_or(std::string_view name, std::string_view fallback) const;
  std::optional<std::vector<std::int64_t>> ints(std::string_view name) const;
  /// An integer list that is an attribute in old opsets and constant input k in new ones.
  /// Errors: kUnsupported if it is an input whose value is not known.
  core::Result<std::optional<std::vector<std::int64_t>>> ints_or_input(std::string_view name,
                                                                       std::size_t k) const;
};

/// One ONNX node to be written. Names are tensor names.
struct OnnxNode {
  std::string op_type;
  std::string domain;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::vector<std::pair<std::string, OnnxAttribute>> attributes;
};

/// Writes one of our nodes as ONNX nodes.
class OnnxExport {
 public:
  virtual ~OnnxExport() = default;
  virtual int opset() const = 0;  ///< The version of the default domain, as the input model had it.
  virtual const core::Graph& graph() const = 0;
  virtual const core::Node& node() const = 0;
  virtual std::string name(core::TensorId id) const = 0;  ///< Empty for none.
  virtual std::string constant(core::Literal value) = 0;  ///< A new initializer; its name.
  virtual std::string fresh_name(std::string_view hint) = 0;
  virtual void emit(OnnxNode node) = 0;

  /// emit() of a node with exactly our node's inputs and outputs.
  void emit_same(std::string op_type,
                 std::vector<std::pair<std::string, OnnxAttribute>> attributes = {});
};

/// An ONNX operator that is read as ours.
struct OnnxReader {
  std::string op_type;
  int since_opset = 1;
  int until_opset = 1000;  ///< Inclusive.
  /// The tensors that the ONNX node's outputs become. kUnsupported: kept as an opaque node.
  std::function<core::Result<std::vector<core::TensorId>>(OnnxImport&)> read;
  std::string domain;
};

struct OnnxMapping {
  std::vector<OnnxReader> readers;
  /// Errors: kUnsupported if this opset cannot express it.
  std::function<core::Status(OnnxExport&)> write;
};

}  // namespace soapstone::ops
