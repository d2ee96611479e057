// A rule that was made for one graph names the sizes of that graph. The same rewrite at other sizes
// is another rule, which is found here and believed by nobody: whoever applies it has it proved.
#pragma once

#include <span>
#include <vector>

#include "rules/rule/rule.h"

namespace soapstone::search {

/// Rules whose source is what these nodes compute from these inputs, which are those of `rule` at
/// other sizes; the numbers of the targets follow from the sizes that they are in `rule`. Where one
/// number stands for several sizes there are several ways, the likeliest first; few are returned.
/// Empty: the operators are others, or the rule has parameters.
std::vector<rules::Rule> resized(const rules::Rule& rule, const core::Graph& graph,
                                 std::span<const core::NodeId> nodes,
                                 std::span<const core::TensorId> inputs);

}  // namespace soapstone::search
