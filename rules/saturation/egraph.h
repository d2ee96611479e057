// An e-graph: many equal graphs at once (Nelson and Oppen, JACM 1980; Willsey et al., POPL 2021). A
// class is a set of equal tensors, an e-node an operator on classes that makes one class a result.
// It knows no rules. Nothing depends on addresses or on the order of hash tables.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/graph/graph.h"

namespace soapstone::rules {

using ClassId = core::Id<struct EClassTag>;
using ENodeId = core::Id<struct ENodeTag>;
using OperationId = core::Id<struct OperationTag>;
using TypeId = core::Id<struct TensorTypeTag>;

/// The operation of an e-node on its operands. A leaf has no operator: it is a constant or an
/// input.
struct Operation {
  const core::OpSchema* op = nullptr;
  core::Attributes attributes;
  core::LiteralPtr literal;
  std::uint32_t number = 0;  ///< An input's; or tells opaque nodes apart, which are never equal.
  std::uint64_t hash = 0;    ///< The e-graph fills it in.
  bool operator==(const Operation& other) const;
};

struct EClass {
  std::vector<ENodeId> nodes;    ///< They make a tensor of the class; ascending after rebuild().
  std::vector<ENodeId> readers;  ///< They have it as an operand; likewise.
  TypeId type;
  core::LiteralPtr literal;  ///< If one of its tensors is a constant that is given.
  bool constant = false;     ///< One of its tensors is computed from constants alone.
  /// A bit for each operator among `nodes` and `readers`, by its hash: not set, none is there.
  std::uint64_t made_by = 0, read_by = 0;
};

/// One of 64 bits, for sets of operators that may hold too many. None: an input.
std::uint64_t op_bit(const core::OpSchema* op);

class EGraph {
 public:
  EGraph();
  EGraph(const EGraph&) = delete;
  EGraph& operator=(const EGraph&) = delete;

  OperationId intern(Operation operation);
  TypeId intern(const core::TensorType& type);

  /// `constant`: it counts as computed from constants.
  ClassId add_input(std::uint32_t number, const core::TensorType& type, bool constant = false);
  ClassId add_constant(core::LiteralPtr literal);
  /// The classes of its results; an e-node that is there already if possible. `maker` is kept with
  /// a new one. Precondition: as many types as results; operands may be none() where left out.
  std::span<const ClassId> add(OperationId operation, std::span<const ClassId> operands,
                               std::span<const TypeId> types, std::uint32_t maker = kGiven);
  /// Adds all nodes; `inputs` are the classes of its inputs. The classes of all tensors, by id.
  std::vector<ClassId> add_graph(const core::Graph& graph, std::span<const ClassId> inputs);
  /// Says that all tensors of both are equal. False: they were the same class, or their types
  /// differ. Afterwards rebuild() restores what else follows.
  bool merge(ClassId a, ClassId b);
  /// Merges the results of e-nodes whose operands have become equal, until none is left.
  void rebuild();

  ClassId find(ClassId id) const;
  const EClass& operator[](ClassId id) const { return classes_[find(id).index()]; }
  const core::TensorType& type(ClassId id) const { return types_[(*this)[id].type.index()]; }
  const core::TensorType& type(TypeId id) const { return types_[id.index()]; }
  const Operation& operation(OperationId id) const { return operations_[id.index()]; }
  const Operation& operation(ENodeId id) const { return operation(nodes_[id.index()].operation); }
  const core::OpSchema* op(ENodeId id) const { return nodes_[id.index()].op; }
  /// The classes as they were at the last rebuild() or later; find() tells what they are now.
  std::span<const ClassId> operands(ENodeId id) const;
  std::span<const ClassId> results(ENodeId id) const;
  /// False for an e-node that has become equal to an earlier one.
  bool is_live(ENodeId id) const { return !nodes_[id.index()].dead; }
  std::uint32_t maker(ENodeId id) const { return nodes_[id.index()].maker; }
  /// The origin of e-nodes that no rule has made.
  static constexpr std::uint32_t kGiven = ~std::uint32_t{0};

  std::size_t node_count() const { return live_nodes_; }
  std::size_t node_bound() const { return nodes_.size(); }
  std::size_t class_count() const { return live_classes_; }
  std::size_t class_bound() const { return classes_.size(); }
  /// An estimate of the memory that it holds.
  std::size_t size_bytes() const;

  /// The live e-nodes, ascending, that any new match since the last call has to include.
  /// Precondition: rebuilt.
  std::vector<ENodeId> take_changed();

 private:
  struct ENode {
    const core::OpSchema* op = nullptr;
    OperationId operation;
    std::uint32_t maker = kGiven;
    std::uint32_t operands_begin = 0, results_begin = 0;  // into pool_
    std::uint32_t operand_count = 0, result_count = 0;
    bool dead = false;
    std::uint64_t hash = 0;
  };
  struct Hash {
    const EGraph* graph;
    std::size_t operator()(ENodeId id) const { return graph->nodes_[id.index()].hash; }
  };
  struct Equal {
    const EGraph* graph;
    bool operator()(ENodeId a, ENodeId b) const;
  };

  ENodeId append(OperationId operation, std::span<const ClassId> operands);
  void canonicalize(ENodeId id);
  ClassId new_class(TypeId type, ENodeId node);
  void make_constant(ClassId id);
  void repair(ENodeId id);
  void tidy(EClass& group);

  std::deque<Operation> operations_;  // references to them stay
  std::unordered_multimap<std::uint64_t, OperationId> operation_table_;
  std::deque<core::TensorType> types_;
  std::unordered_multimap<std::uint64_t, TypeId> type_table_;
  std::vector<ENode> nodes_;
  std::vector<ClassId> pool_;  // operands and results of e-nodes
  std::unordered_set<ENodeId, Hash, Equal> known_;
  mutable std::vector<ClassId> parents_;  // union-find
  std::vector<EClass> classes_;
  std::vector<ENodeId> to_repair_;
  std::vector<ClassId> changed_;
  std::size_t first_new_node_ = 0;  // since take_changed()
  std::size_t live_nodes_ = 0, live_classes_ = 0, list_entries_ = 0;
  std::uint32_t opaque_nodes_ = 0;
};

}  // namespace soapstone::rules
