// See float_types.h.
#include "verifier/float_types.h"

#include <algorithm>

namespace soapstone::verifier {
namespace {

bool names_types(const core::Graph& side) {
  const auto is_named = [&](core::TensorId id) {
    const core::DataType type = side.tensor(id).type.data_type;
    return core::is_floating(type) && type != core::DataType::kFloat32;
  };
  return std::ranges::any_of(side.inputs(), is_named) ||
         std::ranges::any_of(side.order(), [&](core::NodeId id) {
           const core::Node& node = side.node(id);
           return node.op->name == "cast" || std::ranges::any_of(node.outputs, is_named);
         });
}

}  // namespace

rules::FloatTypes float_types_of(const rules::Rule& rule) {
  if (names_types(rule.source) || names_types(rule.target))
    return rules::FloatTypes::only({core::DataType::kFloat32});
  return rules::FloatTypes::any();
}

}  // namespace soapstone::verifier
