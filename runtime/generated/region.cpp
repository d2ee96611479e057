// See region.h.
#include "runtime/generated/region.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include "ops/definition/registry.h"

namespace soapstone::runtime::generated {
namespace {

using ops::Function;
using ops::evaluation::NodeKind;

constexpr std::int64_t kMostElements = std::int64_t{1} << 30;  // positions and loops are ints

/// Calls visit(node) for the whole tree, parents first.
template <class Tree, class Visit>
void for_each_node(Tree& node, const Visit& visit) {
  visit(node);
  for (auto& child : node.children) for_each_node(child, visit);
}

std::int64_t terms_of(const ops::evaluation::Domain& domain) {
  std::int64_t terms = 1;
  for (const auto& range : domain.ranges)
    terms *= std::max<std::int64_t>(range.high - range.low, 0);
  return terms;
}

bool depends_on(const TreeNode& read, const ops::evaluation::Domain& domain) {
  return std::any_of(domain.ranges.begin(), domain.ranges.end(), [&](const auto& range) {
    return read.position.coefficient(range.variable) != 0;
  });
}

bool is_sum_of_products(const TreeNode& sum) {
  if (sum.kind != NodeKind::kSum || sum.children[0].kind != NodeKind::kMul) return false;
  std::set<std::uint32_t> factors;
  for (const TreeNode& factor : sum.children[0].children)
    if (factor.kind == NodeKind::kRead && depends_on(factor, sum.domains[0]))
      factors.insert(factor.tensor);
  return factors.size() > 1;
}

void describe(RegionStage& stage) {
  for_each_node(stage.tree.body, [&](const TreeNode& node) {
    if (node.kind == NodeKind::kSum || node.kind == NodeKind::kMax)
      for (const auto& domain : node.domains)
        stage.longest_loop = std::max(stage.longest_loop, terms_of(domain));
    if (node.kind == NodeKind::kAdd || node.kind == NodeKind::kMul)
      stage.work += static_cast<std::int64_t>(node.children.size()) - 1;
    if (node.kind == NodeKind::kApply || node.kind == NodeKind::kInverse) stage.work += 1;
    stage.has_costly_functions |= node.kind == NodeKind::kApply && is_costly(node.function);
    stage.is_contraction |= is_sum_of_products(node);
  });
}

class RegionBuilder {
 public:
  RegionBuilder(const core::Graph& graph, std::span<const core::TensorId> outputs)
      : graph_(graph), outputs_(outputs.begin(), outputs.end()) {}

  core::Result<Region> build(std::span<const core::NodeId> nodes) {
    for (core::NodeId id : nodes) SOAPSTONE_RETURN_IF_ERROR(add(id));
    return std::move(region_);
  }

 private:
  core::Result<std::uint32_t> tensor_of(core::TensorId id) {
    if (const auto found = numbers_.find(id); found != numbers_.end()) return found->second;
    const core::TensorType& type = graph_.tensor(id).type;
    const auto dims = type.shape_known ? core::concrete(type.shape) : std::nullopt;
    const auto count = dims ? core::checked_element_count(*dims) : std::nullopt;
    if (!count || *count > kMostElements || core::size_bytes(type.data_type) == 0)
      return core::unsupported(fmt::format("no kernel can be generated for elements of type {}{}",
                                           core::to_string(type.data_type),
                                           !count                   ? " of an unknown number"
                                           : *count > kMostElements ? ", more than 2^30"
                                                                    : ""));
    const auto number = static_cast<std::uint32_t>(region_.tensors.size());
    region_.tensors.push_back(
        {id, type.data_type, register_type(type.data_type), *count, std::nullopt});
    numbers_.emplace(id, number);
    return number;
  }

  /// The number that a constant of one element is.
  std::optional<ops::Rational> number_in(core::TensorId id) const {
    const core::LiteralPtr& value = graph_.tensor(id).value;
    if (!value || core::size_bytes(value->data_type()) == 0 || value->count() != 1)
      return std::nullopt;
    const double number = value->to_doubles()[0];
    if (!std::isfinite(number)) return std::nullopt;
    const ops::Rational rational = ops::to_rational(number);
    const bool is_exact =
        static_cast<double>(rational.numerator) / static_cast<double>(rational.denominator) ==
        number;
    return is_exact ? std::optional(rational) : std::nullopt;
  }

  core::Status add(core::NodeId id) {
    const core::Node& node = graph_.node(id);
    if (ops::is_opaque(node)) return core::unsupported("an operator without a meaning");
    std::vector<core::Dims> dims;
    std::vector<std::uint32_t> numbers;
    std::map<std::uint32_t, ops::Rational> constants;
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      dims.emplace_back();
      numbers.push_back(0);
      if (!node.inputs[k].valid()) continue;
      if (const auto number = number_in(node.inputs[k]))
        constants.emplace(static_cast<std::uint32_t>(k), *number);
      SOAPSTONE_ASSIGN_OR_RETURN(numbers.back(), tensor_of(node.inputs[k]));
      dims.back() = *core::concrete(graph_.tensor(node.inputs[k]).type.shape);
    }
    const ops::Semantics semantics = ops::semantics_of(graph_, id);
    for (const ops::Stage& stage : semantics.stages) {
      const auto shape = core::concrete(stage.shape);
      if (!shape) return core::unsupported("a shape that is no number");
      dims.push_back(*shape);
      SOAPSTONE_RETURN_IF_ERROR(add_stage(node, semantics, stage, dims, constants, numbers));
    }
    return core::Done{};
  }

  core::Status add_stage(const core::Node& node, const ops::Semantics& semantics,
                         const ops::Stage& stage, std::span<const core::Dims> dims,
                         const std::map<std::uint32_t, ops::Rational>& constants,
                         std::vector<std::uint32_t>& numbers) {
    RegionStage made;
    made.tree = ops::evaluation::make_tree(stage, dims);
    ops::evaluation::merge_loops(made.tree);
    for_each_node(made.tree.body, [&](TreeNode& e) {
      if (e.kind != NodeKind::kRead) return;
      const auto constant = constants.find(e.tensor);
      if (constant == constants.end()) {
        e.tensor = numbers[e.tensor];
        return;
      }
      TreeNode number;
      number.number = constant->second;
      e = std::move(number);
    });
    const auto own = static_cast<std::uint32_t>(dims.size() - 1);
    const auto output = std::find(semantics.outputs.begin(), semantics.outputs.end(), own);
    if (output != semantics.outputs.end()) {
      const core::TensorId id =
          node.outputs[static_cast<std::size_t>(output - semantics.outputs.begin())];
      SOAPSTONE_ASSIGN_OR_RETURN(made.tensor, tensor_of(id));
      if (outputs_.contains(id)) region_.outputs.push_back(made.tensor);
    } else {
      made.tensor = static_cast<std::uint32_t>(region_.tensors.size());
      region_.tensors.push_back({core::TensorId::none(), core::DataType::kFloat32,
                                 type_of(region_, made.tree.body), core::element_count(dims.back()),
                                 std::nullopt});
    }
    numbers.push_back(made.tensor);
    region_.tensors[made.tensor].stage = region_.stages.size();
    describe(made);
    region_.stages.push_back(std::move(made));
    return core::Done{};
  }

  const core::Graph& graph_;
  std::set<core::TensorId> outputs_;
  Region region_;
  std::map<core::TensorId, std::uint32_t> numbers_;
};

/// Adds what the stages read to the inputs, each tensor once.
void find_inputs(Region& region) {
  std::set<std::uint32_t> seen;
  for (const RegionStage& stage : region.stages)
    for_each_node(stage.tree.body, [&](const TreeNode& node) {
      if (node.kind == NodeKind::kRead && !region.tensors[node.tensor].stage &&
          seen.insert(node.tensor).second)
        region.inputs.push_back(node.tensor);
    });
}

Scalar type_of_function(Function function, std::span<const Scalar> arguments) {
  switch (function) {
  case Function::kLess:
  case Function::kLessOrEqual:
  case Function::kEqual:
  case Function::kIsZero:
  case Function::kIsNan:
  case Function::kIsInfinite:
    return Scalar::kInteger;
  case Function::kSelect:
    return std::max(arguments[1], arguments[2]);
  case Function::kRelu:
  case Function::kAbs:
  case Function::kFloor:
  case Function::kCeil:
  case Function::kRound:
  case Function::kTruncate:
    return arguments[0];
  default:
    const Scalar widest = *std::max_element(arguments.begin(), arguments.end());
    return widest == Scalar::kInteger ? Scalar::kDouble : widest;
  }
}

}  // namespace

bool is_costly(Function function) {
  switch (function) {
  case Function::kExp:
  case Function::kLog:
  case Function::kTanh:
  case Function::kSigmoid:
  case Function::kErf:
  case Function::kSin:
  case Function::kCos:
  case Function::kPow:
  case Function::kLog1p:
    return true;
  default:
    return false;
  }
}

Scalar register_type(core::DataType type) {
  if (type == core::DataType::kFloat64) return Scalar::kDouble;
  return core::is_floating(type) ? Scalar::kFloat : Scalar::kInteger;
}

bool Region::is_output(std::uint32_t tensor) const {
  return std::find(outputs.begin(), outputs.end(), tensor) != outputs.end();
}

std::vector<std::int64_t> Region::sizes_of(const StageTree& tree) {
  std::vector<std::int64_t> sizes;
  for (const auto& range : tree.index) sizes.push_back(range.high);
  return sizes;
}

Scalar type_of(const Region& region, const TreeNode& node) {
  std::vector<Scalar> types;
  for (const TreeNode& child : node.children) types.push_back(type_of(region, child));
  switch (node.kind) {
  case NodeKind::kNumber:
    return node.number.denominator == 1 ? Scalar::kInteger : Scalar::kFloat;
  case NodeKind::kIndexValue:
    return Scalar::kInteger;
  case NodeKind::kRead:
    return region.tensors[node.tensor].scalar;
  case NodeKind::kInverse:
    return types[0] == Scalar::kInteger ? Scalar::kDouble : types[0];
  case NodeKind::kApply:
    return type_of_function(node.function, types);
  case NodeKind::kLookup:
    return types[0];
  default:
    return types.empty() ? Scalar::kFloat : *std::max_element(types.begin(), types.end());
  }
}

core::Result<Region> make_region(const core::Graph& graph, std::span<const core::NodeId> nodes,
                                 std::span<const core::TensorId> outputs) {
  SOAPSTONE_ASSIGN_OR_RETURN(Region region, RegionBuilder(graph, outputs).build(nodes));
  find_inputs(region);
  return region;
}

}  // namespace soapstone::runtime::generated
