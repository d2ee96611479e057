// One side of a rule while it is read: names to tensors, and which of them are of use.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/text/statements.h"
#include "rules/rule/rule.h"

namespace soapstone::rules {

class RuleSide {
 public:
  /// `computes`: real attributes may be sums and products of what the other side has matched.
  explicit RuleSide(bool computes) : computes_(computes) {}

  core::GraphBuilder builder;

  /// Errors: kInvalidInput: the name is taken.
  core::Status define(const core::NameSyntax& name, TensorId id);
  /// The tensor of that name, which from now on is read. Errors: kInvalidInput.
  Result<TensorId> use(const core::NameSyntax& name);
  /// Adds the node; its results have unknown shapes. Errors: kInvalidInput.
  core::Status add_node(const core::NodeSyntax& written);
  /// A further name for a tensor: `y = x`.
  core::Status add_alias(const core::NameSyntax& name, const core::NameSyntax& value);

  /// Precondition: it is defined.
  TensorId tensor(std::string_view name) const { return tensors_.find(name)->second; }
  bool is_result(std::string_view name) const { return results_.find(name) != results_.end(); }
  /// Names of results of nodes and aliases, in the order of the text.
  std::vector<core::NameSyntax> results() const;
  /// Whether a node of this side reads the tensor of that name.
  bool is_read_by_node(std::string_view name) const {
    return operands_.find(name) != operands_.end();
  }
  std::size_t result_count() const { return results_.size(); }
  void mark_read(TensorId id);
  bool is_read(TensorId id) const { return id.index() < read_.size() && read_[id.index()]; }
  /// Read, or beside a result of the same node that is read.
  bool is_of_use(TensorId id) const;
  /// The operator of a node, for messages.
  const core::Token& operator_at(NodeId id) const { return operators_[id.index()]; }

 private:
  core::Result<core::NodeSyntax> add_chain(const core::NodeSyntax& node);

  std::map<std::string, TensorId, std::less<>> tensors_;
  std::map<std::string, core::Token, std::less<>> results_;  // where each was defined
  std::vector<core::Token> operators_;                       // by node id
  std::vector<bool> read_;                                   // by tensor id
  std::set<std::string, std::less<>> operands_;              // names that nodes read
  bool computes_;
};

}  // namespace soapstone::rules
