// See roles.h.
#include "generator/sides/roles.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/base/check.h"

namespace soapstone::generator {
namespace {

using core::Graph;
using core::GraphBuilder;
using core::OperandRole;

/// How many operands of either side with that role are this input.
std::size_t reads_as(const Sides& sides, std::size_t input, OperandRole role) {
  std::size_t count = 0;
  for (const Graph* side : {&sides.source, &sides.target}) {
    const core::TensorId id = side->inputs()[input];
    for (core::NodeId reader : side->consumers(id)) {
      const core::Node& node = side->node(reader);
      for (std::size_t k = 0; k < node.inputs.size(); ++k)
        count += node.inputs[k] == id && node.op->operand_role(k) == role ? 1 : 0;
    }
  }
  return count;
}

/// The first role that applies names the input.
std::string stem_of(const Sides& sides, std::size_t input) {
  static constexpr std::array<std::pair<OperandRole, const char*>, 6> kStems{{
      {OperandRole::kIndices, "i"},
      {OperandRole::kKernel, "w"},
      {OperandRole::kImage, "x"},
      {OperandRole::kChannels, "c"},
      {OperandRole::kFeatures, "c"},
      {OperandRole::kRightMatrix, "w"},
  }};
  for (const auto& [role, stem] : kStems)
    if (reads_as(sides, input, role) > 0) return stem;
  return sides.source.tensor(sides.source.inputs()[input]).type.shape.empty() ? "s" : "x";
}

Graph with_names(const Graph& side, const std::vector<std::string>& names) {
  GraphBuilder builder(side);
  // Names are taken in turn: an old one may be the new one of another input.
  for (std::size_t k = 0; k < names.size(); ++k) builder.set_name(side.inputs()[k], {});
  for (std::size_t k = 0; k < names.size(); ++k) builder.set_name(side.inputs()[k], names[k]);
  auto named = std::move(builder).finish();
  CHECK(named.ok(), "other names make no cycle");
  return *std::move(named);
}

}  // namespace

Sides named_by_role(const Sides& sides) {
  std::vector<std::string> names;
  std::map<std::string, int> total, used;
  for (std::size_t k = 0; k < sides.source.inputs().size(); ++k) {
    names.push_back(stem_of(sides, k));
    ++total[names.back()];
  }
  for (std::string& name : names)
    if (total[name] > 1) name += std::to_string(++used[name]);
  return {with_names(sides.source, names), with_names(sides.target, names)};
}

}  // namespace soapstone::generator
