// See long_rows.h.
#include "gpu/making/long_rows.h"

#include <algorithm>
#include <set>

namespace soapstone::gpu {
namespace {

using ops::evaluation::Affine;
using ops::evaluation::Domain;
using ops::evaluation::NodeKind;
using runtime::generated::RegionStage;
using runtime::generated::RegionTensor;
using runtime::generated::Scalar;
using runtime::generated::StageTree;
using runtime::generated::TreeNode;

constexpr std::int64_t kLongRow = std::int64_t{1} << 14;
constexpr std::int64_t kManyRows = 256;   ///< They fill a card by themselves.
constexpr std::int64_t kMostParts = 512;  ///< Of all rows together.
constexpr std::int64_t kShortestPart = 1024;

bool is_loop(const TreeNode& node) {
  return node.kind == NodeKind::kSum || node.kind == NodeKind::kMax;
}

/// The only loop of the tree, if it is long and over one variable.
TreeNode* only_long_loop(TreeNode& node) {
  TreeNode* found = nullptr;
  int loops = 0;
  const auto visit = [&](const auto& self, TreeNode& at) -> void {
    if (is_loop(at) || at.kind == NodeKind::kLookup || at.kind == NodeKind::kGuard) {
      ++loops;
      found = &at;
    }
    for (TreeNode& child : at.children) self(self, child);
  };
  visit(visit, node);
  const bool is_plain = loops == 1 && is_loop(*found) && found->children.size() == 1 &&
                        found->domains[0].ranges.size() == 1 &&
                        found->domains[0].constraints.empty();
  if (!is_plain) return nullptr;
  const auto& range = found->domains[0].ranges[0];
  return range.low == 0 && range.high >= kLongRow ? found : nullptr;
}

/// Into so many parts rows of that length are divided; 1: not at all.
std::int64_t parts_of(std::int64_t rows, std::int64_t length) {
  const std::int64_t most = std::min(kMostParts / rows, length / kShortestPart);
  for (std::int64_t parts = most; parts > 1; --parts)
    if (length % parts == 0) return parts;
  return 1;
}

std::uint32_t fresh_variable(const StageTree& tree) {
  std::uint32_t next = 0;
  const auto note = [&](std::uint32_t variable) { next = std::max(next, variable + 1); };
  for (const auto& range : tree.index) note(range.variable);
  const auto visit = [&](const auto& self, const TreeNode& node) -> void {
    for (const Domain& domain : node.domains)
      for (const auto& range : domain.ranges) note(range.variable);
    for (const TreeNode& child : node.children) self(self, child);
  };
  visit(visit, tree.body);
  return next;
}

/// A stage with an element for each part of each sum of `whole`, whose loop is `loop`.
StageTree tree_of_parts(const StageTree& whole, TreeNode loop, std::int64_t parts) {
  StageTree tree = whole;
  auto& range = loop.domains[0].ranges[0];
  const std::uint32_t part = fresh_variable(whole);
  const std::int64_t length = range.high / parts;
  range.high = length;
  ops::evaluation::for_each_form(loop, [&](Affine& form) {
    const std::int64_t step = form.coefficient(range.variable);
    if (step != 0) form.add(Affine{0, {{part, 1}}}, step * length);
  });
  Affine position;
  position.add(tree.position, parts);
  position.add(Affine{0, {{part, 1}}}, 1);
  tree.position = position;
  tree.index.push_back({part, 0, parts});
  tree.body = std::move(loop);
  return tree;
}

/// The loop over parts in place of the long one.
void join_parts(StageTree& tree, TreeNode& loop, std::uint32_t tensor, std::int64_t parts) {
  auto& range = loop.domains[0].ranges[0];
  range.high = parts;
  TreeNode read;
  read.kind = NodeKind::kRead;
  read.tensor = tensor;
  read.position.add(tree.position, parts);
  read.position.add(Affine{0, {{range.variable, 1}}}, 1);
  loop.children[0] = std::move(read);
}

/// Leaves out stages that no output needs, and finds what is read from memory.
void keep_what_is_needed(Region& region) {
  std::set<std::uint32_t> needed, inputs;
  const auto visit = [&](const auto& self, std::uint32_t tensor) -> void {
    if (!region.tensors[tensor].stage) {
      inputs.insert(tensor);
      return;
    }
    if (!needed.insert(tensor).second) return;
    const auto read = [&](const auto& again, const TreeNode& node) -> void {
      if (node.kind == NodeKind::kRead) self(self, node.tensor);
      for (const TreeNode& child : node.children) again(again, child);
    };
    read(read, region.stages[*region.tensors[tensor].stage].tree.body);
  };
  for (const std::uint32_t output : region.outputs) visit(visit, output);
  std::vector<RegionStage> stages;
  for (RegionStage& stage : region.stages) {
    if (!needed.contains(stage.tensor)) continue;
    region.tensors[stage.tensor].stage = stages.size();
    stages.push_back(std::move(stage));
  }
  region.stages = std::move(stages);
  region.inputs.assign(inputs.begin(), inputs.end());
}

/// A tensor in memory that is not rounded.
RegionTensor stored_tensor(core::TensorId id, Scalar scalar, std::int64_t elements) {
  const bool is_double = scalar == Scalar::kDouble;
  return {id, is_double ? core::DataType::kFloat64 : core::DataType::kFloat32, scalar, elements,
          std::nullopt};
}

std::size_t stored_bytes(const RegionTensor& tensor) {
  return static_cast<std::size_t>(tensor.elements) * core::size_bytes(tensor.data_type);
}

/// The region divided at stage `s`, whose tree with the loop over parts is `joined`.
DividedRegion divide_at(const Region& region, std::size_t s, const TreeNode& long_loop,
                        std::int64_t parts, core::TensorId parts_id, core::TensorId joined_id) {
  const RegionStage& stage = region.stages[s];
  const RegionTensor& whole = region.tensors[stage.tensor];
  const auto number = static_cast<std::uint32_t>(region.tensors.size());
  DividedRegion divided{region, region, std::nullopt};
  divided.parts.tensors.push_back(stored_tensor(parts_id, whole.scalar, whole.elements * parts));
  divided.joined.tensors.push_back(divided.parts.tensors.back());
  divided.parts_bytes = stored_bytes(divided.parts.tensors.back());
  divided.parts.tensors.back().stage = s;
  RegionStage& of_parts = divided.parts.stages[s];
  of_parts.tensor = number;
  of_parts.tree = tree_of_parts(stage.tree, long_loop, parts);
  of_parts.longest_loop = stage.longest_loop / parts;
  divided.parts.outputs = {number};
  RegionStage& of_joined = divided.joined.stages[s];
  join_parts(of_joined.tree, *only_long_loop(of_joined.tree.body), number, parts);
  of_joined.longest_loop = parts;
  const bool has_many = std::ranges::any_of(region.outputs, [&](std::uint32_t output) {
    return region.tensors[output].elements > whole.elements;
  });
  if (has_many) {
    divided.rest = region;
    RegionTensor& read = divided.rest->tensors[stage.tensor];
    read = stored_tensor(joined_id, whole.scalar, whole.elements);
    divided.joined_bytes = stored_bytes(read);
    divided.joined.tensors[stage.tensor] = read;
    divided.joined.tensors[stage.tensor].stage = s;
    divided.joined.outputs = {stage.tensor};
    keep_what_is_needed(*divided.rest);
  }
  keep_what_is_needed(divided.parts);
  keep_what_is_needed(divided.joined);
  return divided;
}

}  // namespace

std::optional<DividedRegion> divide_long_rows(const Region& region, core::TensorId parts_id,
                                              core::TensorId joined_id) {
  for (std::size_t s = 0; s < region.stages.size(); ++s) {
    const RegionStage& stage = region.stages[s];
    const RegionTensor& whole = region.tensors[stage.tensor];
    RegionStage copy = stage;
    const TreeNode* const loop = only_long_loop(copy.tree.body);
    const bool is_one_of_several = region.outputs.size() > 1 && region.is_output(stage.tensor);
    if (!loop || stage.is_contraction || whole.elements > kManyRows || is_one_of_several ||
        whole.scalar == Scalar::kInteger)
      continue;
    const std::int64_t parts = parts_of(whole.elements, loop->domains[0].ranges[0].high);
    if (parts > 1) return divide_at(region, s, *loop, parts, parts_id, joined_id);
  }
  return std::nullopt;
}

}  // namespace soapstone::gpu
