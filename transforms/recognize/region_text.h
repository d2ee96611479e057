// The text of a rule whose source is a part of the graph that reads few tensors and constants.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "core/graph/graph.h"
#include "ops/definition/by_role.h"
#include "transforms/views/side_text.h"

namespace soapstone::transforms {

using ops::number_of;

/// The number as a rule states it: of what is nearly a whole one, that.
std::string text_of(double number);

class RegionText {
 public:
  /// The tensor is `x`.
  RegionText(const core::Graph& graph, core::TensorId x);

  /// Another tensor that is read, whatever computes it. Its name.
  std::string input(core::TensorId id);

  /// What computes the tensor, down to inputs and constants, becomes part of the source. The name
  /// of the tensor in it.
  std::string add(core::TensorId id);

  /// Something else computes the tensor: lines of the source with a result of that name.
  void replace(core::TensorId id, std::string name) { names_.emplace(id, std::move(name)); }
  SideText& source() { return source_; }

  std::string rule(const std::string& name, const std::string& source_result,
                   const SideText& target, const std::string& target_result) const;

 private:
  std::string declare(core::TensorId id);

  const core::Graph& graph_;
  std::map<core::TensorId, std::string> names_;
  std::string head_;
  SideText source_;
};

}  // namespace soapstone::transforms
