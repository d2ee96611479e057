// The table of all operators. It is made once, in the order of the family files, from the lists
// that they return; nothing registers itself.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "ops/definition/op_definition.h"

namespace soapstone::ops {

class Registry final : public core::OpCatalog {
 public:
  explicit Registry(std::vector<std::vector<OpDefinition>> families);

  /// Also finds `opaque`, which is no OpDefinition.
  const core::OpSchema* find(std::string_view name) const override;
  /// Null for `opaque` and for what is unknown.
  const OpDefinition* definition(std::string_view name) const;
  /// Those of the families, in their order; not what is derived from them.
  std::span<const std::unique_ptr<OpDefinition>> all() const { return definitions_; }

 private:
  void add(OpDefinition op, std::vector<std::unique_ptr<OpDefinition>>& list);

  std::vector<std::unique_ptr<OpDefinition>> definitions_, derived_;
  std::map<std::string_view, const OpDefinition*> by_name_;  // keys live in the definitions
};

/// All operators of this library. Immutable; made on first use; safe from any thread.
const Registry& registry();

/// The schema of nodes whose meaning we do not know. Their attributes: `domain`, `op_type`,
/// `proto` (the serialized ONNX node). Kept, costed if that is possible, never rewritten.
const core::OpSchema& opaque_schema();
inline bool is_opaque(const core::Node& node) { return node.op == &opaque_schema(); }
/// Null for an opaque node.
const OpDefinition* definition_of(const core::Node& node);

/// Attributes with defaults filled in. Errors: unknown, missing, or of the wrong kind.
core::Result<core::Attributes> complete_attributes(const core::OpSchema& op,
                                                   const core::Attributes& given);
/// Errors: kInvalidInput with the label of the violated constraint in the message.
core::Result<std::vector<core::TensorType>> infer_types(const core::OpSchema& op,
                                                        const core::Attributes& attributes,
                                                        std::span<const core::TensorType> inputs);
/// Infers, and adds the node. The usual way to build a graph.
core::Result<std::vector<core::TensorId>> append(core::GraphBuilder& builder, std::string_view op,
                                                 std::vector<core::TensorId> inputs,
                                                 const core::Attributes& attributes = {},
                                                 std::string name = {});
/// The meaning of a node of a graph. Precondition: not opaque, all shapes known.
Semantics semantics_of(const core::Graph& graph, core::NodeId node);

/// The lists of the family files: ops/operators/NAME.cpp defines NAME_ops(). The build writes the
/// source of this function from the names of those files (cmake/operator_families.cmake). As the
/// library is static, an executable may define it instead and so add operators of its own.
std::vector<std::vector<OpDefinition>> operator_families();

/// The operators that follow from those given and are found by their names alone: a gradient of
/// each (ops/gradients/gradient_operator.h). Those given outlive them.
std::vector<OpDefinition>
derived_operators(std::span<const std::unique_ptr<OpDefinition>> operators);

/// ONNX operators that are read as several of ours and have no definition of their own: Gemm,
/// Identity, Dropout, Flatten, Squeeze, ….
std::vector<OnnxReader> composite_readers();

}  // namespace soapstone::ops
