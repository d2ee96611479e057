// See node_kernel.h.
#include "runtime/launches/node_kernel.h"

#include "runtime/launches/launch_plan.h"

namespace soapstone::runtime {

core::Result<std::string> implementation_of(const core::Graph& graph, core::NodeId node,
                                            Backend& backend) {
  const Launch launch = grow_launch(graph, node, generic_fusion(Fusion::kNone));
  const std::vector<Layout> stored(launch.inputs.size(), Layout::kRowMajor);
  LaunchLayouts layouts{stored, std::vector<Layout>(launch.outputs.size(), Layout::kRowMajor)};
  backend.choose_layouts(graph, launch, stored, layouts);
  SOAPSTONE_ASSIGN_OR_RETURN(const auto kernel,
                             backend.compile(graph, launch, layouts, nullptr, nullptr));
  return kernel->implementation();
}

}  // namespace soapstone::runtime
