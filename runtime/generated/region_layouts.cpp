// See region_layouts.h.
#include "runtime/generated/region_layouts.h"

#include <algorithm>

namespace soapstone::runtime::generated {
namespace {

using ops::evaluation::NodeKind;

/// Element (i, j, …) of the result, in memory at `to`, is the element at `from` of another tensor.
StageTree copy_tree(const core::Dims& dims, const core::Dims& from, const core::Dims& to,
                    std::uint32_t source) {
  std::vector<std::size_t> order(dims.size());
  for (std::size_t d = 0; d < order.size(); ++d) order[d] = d;
  std::ranges::stable_sort(order, std::greater(), [&](std::size_t d) { return to[d]; });
  StageTree tree;
  tree.body.kind = NodeKind::kRead;
  tree.body.tensor = source;
  for (const std::size_t d : order) {
    if (dims[d] == 1) continue;
    const auto variable = static_cast<std::uint32_t>(d);
    tree.index.push_back({variable, 0, dims[d]});
    tree.position.coefficients[variable] = to[d];
    tree.body.position.coefficients[variable] = from[d];
  }
  ops::evaluation::merge_loops(tree);
  return tree;
}

std::uint32_t add_copy(Region& region, std::uint32_t tensor) {
  region.tensors.push_back(region.tensors[tensor]);
  return static_cast<std::uint32_t>(region.tensors.size() - 1);
}

void compute(Region& region, std::uint32_t tensor, StageTree tree, std::size_t at) {
  for (RegionTensor& other : region.tensors)
    if (other.stage && *other.stage >= at) ++*other.stage;
  RegionStage stage;
  stage.tensor = tensor;
  stage.tree = std::move(tree);
  region.stages.insert(region.stages.begin() + static_cast<std::ptrdiff_t>(at), std::move(stage));
  region.tensors[tensor].stage = at;
}

}  // namespace

void arrange(Region& region, core::TensorId id, const core::Dims& dims, runtime::Layout layout) {
  const core::Dims memory = runtime::strides_of(dims, layout),
                   row_major = runtime::strides_of(dims, runtime::Layout::kRowMajor);
  const auto count = static_cast<std::uint32_t>(region.tensors.size());
  for (std::uint32_t logical = 0; logical < count; ++logical) {
    if (region.tensors[logical].id != id) continue;
    // A copy stands for the memory; the tensor that stages know is an intermediate one from now on.
    const std::uint32_t stored = add_copy(region, logical);
    region.tensors[logical].id = core::TensorId::none();
    if (region.tensors[logical].stage) {
      region.tensors[stored].stage.reset();
      compute(region, stored, copy_tree(dims, row_major, memory, logical), region.stages.size());
      std::ranges::replace(region.outputs, logical, stored);
    } else {
      compute(region, logical, copy_tree(dims, memory, row_major, stored), 0);
      std::ranges::replace(region.inputs, logical, stored);
    }
    return;
  }
}

Region conversion_region(const core::TensorType& type, core::TensorId from_id, runtime::Layout from,
                         core::TensorId to_id, runtime::Layout to) {
  const core::Dims dims = runtime::dims_of(type);
  Region region;
  for (const core::TensorId id : {from_id, to_id})
    region.tensors.push_back({id, type.data_type, register_type(type.data_type),
                              core::element_count(dims), std::nullopt});
  region.inputs = {0};
  region.outputs = {1};
  compute(region, 1,
          copy_tree(dims, runtime::strides_of(dims, from), runtime::strides_of(dims, to), 0), 0);
  return region;
}

}  // namespace soapstone::runtime::generated
