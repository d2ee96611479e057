// See by_role.h.
#include "ops/definition/by_role.h"

#include "core/base/check.h"

namespace soapstone::ops {
namespace {

const std::string& name_by_role(const core::Node& node, core::AttributeRole role) {
  const core::AttributeSchema* schema = node.op->find_role(role);
  CHECK(schema, node.op->name + " has no attribute with the role");
  return schema->name;
}

}  // namespace

const std::vector<core::Polynomial>& sizes_by_role(const core::Node& node,
                                                   core::AttributeRole role) {
  return node.attributes.get_sizes(name_by_role(node, role));
}

std::size_t axis_by_role(const core::Node& node) {
  const std::string& name = name_by_role(node, core::AttributeRole::kAxis);
  return static_cast<std::size_t>(node.attributes.get_int(name));
}

double fill_value(const core::Node& node) {
  return node.attributes.get_real(name_by_role(node, core::AttributeRole::kReal));
}

}  // namespace soapstone::ops
