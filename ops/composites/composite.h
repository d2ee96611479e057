// Operators that stand for a few others: kernels that a runtime has for several operators at once.
// Their definition is their expansion; shape rule and comprehension are put together from those of
// the operators in it. ONNX has them in a domain of ONNX Runtime's own.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/graph/graph.h"
#include "ops/definition/op_definition.h"
#include "ops/onnx/onnx_reading.h"
#include "ops/onnx/onnx_writing.h"

namespace soapstone::ops {

/// Where the operators of one node are put, be it types, meanings or nodes that are collected.
class Expansion {
 public:
  virtual ~Expansion() = default;
  /// Of the operator that is expanded.
  virtual const Attributes& attributes() const = 0;
  virtual std::size_t input_count() const = 0;
  /// TensorId::none() for an input that is left out.
  virtual TensorId input(std::size_t k) const = 0;
  /// Precondition: `id` is an input that is there, or an earlier result.
  virtual const TensorType& type(TensorId id) const = 0;
  /// The first result of the operator; none after a failure.
  virtual TensorId append(std::string_view op, std::vector<TensorId> inputs,
                          Attributes attributes = {}) = 0;

  bool has_input(std::size_t k) const { return k < input_count() && input(k).valid(); }
};
/// The tensors that the operator's results are.
using ExpandFunction = std::function<std::vector<TensorId>(Expansion&)>;

struct CompositeFacets {
  std::string name;
  std::string equation;  ///< One line: shapes and meaning.
  std::vector<core::AttributeSchema> attributes;
  Arity inputs;
  OpClass op_class;
  std::function<void(InferContext&)> check;  ///< Records what the expansion relies on.
  ExpandFunction expand;
  OnnxMapping onnx;
};
OpDefinition composite(CompositeFacets facets);

/// factor·x. Precondition: x has floating-point elements.
TensorId scaled(Expansion& expansion, TensorId x, double factor);

/// The graph with expansions in place of all composite operators; everything else keeps its ids.
core::Graph expanded(const core::Graph& graph);

/// The domain of the operators that ONNX Runtime adds to those of ONNX.
inline constexpr const char* kContribDomain = "com.microsoft";
/// reader() for an operator of that domain.
OnnxReader contrib_reader(std::string op_type, Elements elements, ReadFunction read);
/// Reads a node as what is expanded with these inputs and attributes.
/// Errors: input k has other dimensions than the only ones that ONNX Runtime's kernel takes. Most
/// of them repeat nothing, as ONNX's operators would.
core::Status require_dims(const OnnxImport& import, std::size_t k, const core::Dims& dims);
ReadResult read_expanded(OnnxImport& import, const ExpandFunction& expand,
                         std::vector<TensorId> inputs, const Attributes& attributes = {});
/// Writes a node of that domain, whose results are those of our node, or have these names.
core::Status write_contrib(OnnxExport& out, std::string op_type, std::vector<std::string> inputs,
                           OnnxAttributes attributes = {});
void emit_contrib(OnnxExport& out, std::string op_type, std::vector<std::string> inputs,
                  std::vector<std::string> outputs, OnnxAttributes attributes = {});

}  // namespace soapstone::ops
