// Joins of pieces of one tensor, all of them: splits or cuts, moved each in the same way.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/graph/graph.h"
#include "transforms/views/side_text.h"
#include "transforms/views/view.h"

namespace soapstone::transforms {

class PiecesOfJoins {
 public:
  struct Join {
    core::TensorId origin;  ///< Of which all is joined.
    View view;              ///< Of that tensor.
  };

  explicit PiecesOfJoins(const core::Graph& graph);

  /// Null: the tensor is no such join.
  const Join* find(core::TensorId id) const;
  /// A join of the pieces of that tensor, and what it joins.
  std::optional<std::pair<core::TensorId, const Join*>> find_behind(core::TensorId origin) const;
  /// False: only joins read what the node computes, and need it no longer.
  bool is_needed(core::NodeId id) const { return needed_.contains(id); }
  /// Rules that make a view of the join with that result: for any sizes of the dimensions that are
  /// not cut, for those of the graph.
  std::vector<std::string> rules(core::TensorId id) const;
  /// Joins of all pieces of a tensor, one behind the other, with other tensors: for each a rule by
  /// which that tensor is joined.
  const std::map<core::TensorId, std::string>& rules_of_groups() const { return rules_of_groups_; }

 private:
  void visit(const core::Node& node);
  void join(const core::Node& node);
  void join_groups(const core::Node& node);
  /// The view of one tensor that these operands of a join are together. None: there is none.
  std::optional<Join> joined(const core::Node& node, std::size_t first, std::size_t end) const;
  Join piece_at(core::TensorId id) const;
  void find_needed();
  /// The nodes from the origin, which has that name, to the tensor.
  std::string written(core::TensorId id, core::TensorId origin, const std::string& name,
                      const std::vector<bool>& any_size, SideText& side) const;
  void leave_undivided(core::TensorId id, core::TensorId origin, std::vector<bool>& dims) const;

  const core::Graph& graph_;
  std::map<core::TensorId, Join> pieces_, joins_;  // by tensor
  std::set<core::NodeId> needed_;
  std::map<core::TensorId, std::string> rules_of_groups_;
};

}  // namespace soapstone::transforms
