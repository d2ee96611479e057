// The last step of building a graph: what is live, in which order, who reads what, what is
// constant, and the hash. Private to core/; it runs for every candidate of a search, so it visits
// each node and tensor once, to gather what it needs into arrays, and works on these.
#pragma once

#include "core/graph/graph.h"

namespace soapstone::core {

class GraphFinisher {
 public:
  explicit GraphFinisher(Graph& graph) : graph_(graph) {}
  /// Errors: kInvalidInput if live nodes form a cycle.
  Status run();

 private:
  enum class Mark : std::uint8_t { kDead, kLive, kOpen, kOrdered };
  /// The facts about a node that the passes need.
  struct Facts {
    std::uint64_t local_hash = 0;
    std::uint32_t inputs_begin = 0, inputs_end = 0;  // into inputs_
    std::uint32_t first_output = 0, output_count = 0;
    Mark mark = Mark::kDead;
    bool opaque = false;
  };
  struct Visit {
    NodeId node;
    std::uint32_t next_input;  // into inputs_
  };

  void gather();
  void mark_live();
  Status order();
  Status visit(NodeId root);
  Error cycle(NodeId repeated) const;
  void list_consumers();
  void remove_dead();
  void find_constants();
  void hash();
  std::uint64_t hash_inputs();

  Facts& facts(NodeId id) { return facts_[id.index()]; }
  std::span<const TensorId> inputs(const Facts& facts) const {
    return std::span(inputs_).subspan(facts.inputs_begin, facts.inputs_end - facts.inputs_begin);
  }
  /// The node that makes the tensor, or none.
  NodeId producer(TensorId id) const { return id.valid() ? producers_[id.index()] : NodeId(); }

  Graph& graph_;
  std::vector<Facts> facts_;            // by node
  std::vector<TensorId> inputs_;        // of all nodes
  std::vector<NodeId> producers_;       // by tensor
  std::vector<std::uint64_t> meaning_;  // by tensor: the hash of what it computes
  std::vector<Visit> path_;             // from the root of the present visit to where it is
};

}  // namespace soapstone::core
