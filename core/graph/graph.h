// The computation graph: immutable, cheap to derive from another graph, hashed by structure.
// It knows no operator's meaning. A rewritten graph shares all nodes that did not change with the
// graph it came from, and their ids stay the same.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/ids.h"
#include "core/base/result.h"
#include "core/graph/literal.h"
#include "core/graph/op_schema.h"
#include "core/graph/tensor_type.h"

namespace soapstone::core {

/// An edge of the graph. Exactly one of these holds: it is a graph input (no producer, no value),
/// a constant (`value`), or output number `output_index` of `producer`.
struct Tensor {
  TensorType type;
  std::string name;  ///< The name in the file it came from, or empty. Not part of the structure.
  NodeId producer;
  std::uint32_t output_index = 0;
  LiteralPtr value;
  std::uint64_t local_hash = 0;  ///< Hash of type and value. GraphBuilder fills it in.
  bool is_input() const { return !producer.valid() && !value; }
};

struct Node {
  const OpSchema* op = nullptr;  ///< Owned by a catalog that outlives all graphs.
  Attributes attributes;
  std::vector<TensorId> inputs;  ///< TensorId::none() where an optional input is left out.
  std::vector<TensorId> outputs;
  std::string name;  ///< Not part of the structure.
  std::uint64_t local_hash =
      0;  ///< Hash of operator, attributes, result types. GraphBuilder fills it in, too.
};

class Graph {
 public:
  std::span<const TensorId> inputs() const { return inputs_; }
  std::span<const TensorId> outputs() const { return outputs_; }
  /// The live nodes in a topological order that depends on the structure and ids alone.
  std::span<const NodeId> order() const { return order_; }
  const Node& node(NodeId id) const { return *nodes_[id.index()]; }
  const Tensor& tensor(TensorId id) const { return *tensors_[id.index()]; }
  bool contains(NodeId id) const { return id.index() < nodes_.size() && nodes_[id.index()]; }
  bool contains(TensorId id) const { return id.index() < tensors_.size() && tensors_[id.index()]; }
  /// The nodes that read the tensor, each once, ascending.
  std::span<const NodeId> consumers(TensorId id) const;
  bool is_output(TensorId id) const;
  /// Computed from constants alone: free at inference, folded when the model is written. Opaque
  /// nodes never are, because nobody can compute them.
  bool is_constant_expression(TensorId id) const { return constant_[id.index()]; }
  bool is_constant_expression(NodeId id) const;

  /// One past the largest id ever used; for arrays indexed by id.
  std::size_t node_bound() const { return nodes_.size(); }
  std::size_t tensor_bound() const { return tensors_.size(); }
  const std::string& name() const { return name_; }
  const SymbolTable& symbols() const { return symbols_; }

  /// A hash of the structure (operators, attributes, types, constants, order of inputs and
  /// outputs), not of ids or names. Equal graphs have equal hashes, in every run and on every
  /// thread.
  std::uint64_t hash() const { return hash_; }
  /// Same structure, confirmed node by node. Complexity: linear.
  friend bool same_structure(const Graph& a, const Graph& b);

 private:
  friend class GraphBuilder;
  friend class GraphFinisher;
  std::string name_;
  SymbolTable symbols_;
  std::vector<std::shared_ptr<const Node>> nodes_;      // null: removed
  std::vector<std::shared_ptr<const Tensor>> tensors_;  // null: removed
  std::vector<TensorId> inputs_, outputs_;
  std::vector<NodeId> order_;
  std::vector<std::uint32_t> consumer_begin_;  // per tensor, into consumers_; one more at the end
  std::vector<NodeId> consumers_;
  std::vector<bool> constant_;
  std::uint64_t hash_ = 0;
};

/// Makes a graph from nothing or from an existing graph.
class GraphBuilder {
 public:
  explicit GraphBuilder(std::string name = {}, SymbolTable symbols = {});
  explicit GraphBuilder(const Graph& base);

  SymbolTable& symbols();
  TensorId add_input(std::string name, TensorType type);
  TensorId add_constant(LiteralPtr value, std::string name = {});
  /// Adds a node whose result types are known; ops::append infers them.
  /// Preconditions: inputs exist; `attributes` has all that the schema asks for.
  std::vector<TensorId> add_node(const OpSchema& op, Attributes attributes,
                                 std::vector<TensorId> inputs, std::vector<TensorType> results,
                                 std::string name = {});
  /// Every reader of `from`, and the graph outputs, read `to` instead. The output keeps its name,
  /// unless `to` is a graph input, a constant or an output already, which keep their own.
  void replace_uses(TensorId from, TensorId to);
  void set_name(TensorId id, std::string name);
  void set_outputs(std::vector<TensorId> outputs);
  void set_graph_name(std::string name);

  const Tensor& tensor(TensorId id) const;
  const Node& node(NodeId id) const;

  /// Drops what no output needs (graph inputs stay), orders and hashes. Complexity: linear.
  /// Errors: kInvalidInput if there is a cycle; the message names its nodes.
  Result<Graph> finish() &&;

 private:
  void redirect_inputs(NodeId reader, TensorId from, TensorId to);
  void take_over_name(TensorId from, TensorId to);

  Graph graph_;
  std::vector<NodeId> touched_;  ///< Added or edited since the base, whose consumers() miss them.
};

}  // namespace soapstone::core
