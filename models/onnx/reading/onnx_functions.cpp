// Local functions of a model. ONNX's inliner does the work; before it may, it is shown that the
// result is finite and of bearable size, because the inliner itself does not look into subgraphs.
#include <fmt/format.h>
#include <onnx/inliner/inliner.h>

#include <algorithm>

#include "models/onnx/reading/onnx_document.h"

namespace soapstone::models {
namespace {

constexpr std::uint64_t kMostInlinedNodes = 2'000'000;
constexpr std::size_t kDeepestCalls = 100;
/// The deepest nesting of subgraphs, also through calls. Protobuf reads no more than 33 levels
/// back.
constexpr int kDeepestGraphs = 30;

std::string function_id(const std::string& domain, const std::string& name,
                        const std::string& overload) {
  return domain + "::" + name + "::" + overload;
}

struct Expanded {
  std::uint64_t nodes = 0;
  int depth = 0;  ///< How deep subgraphs are nested.
};

/// The size and depth that each call expands to, found from the innermost function outward.
class ExpandedSizes {
 public:
  explicit ExpandedSizes(const onnx::ModelProto& model) {
    for (const auto& function : model.functions()) {
      functions_[function_id(function.domain(), function.name(), function.overload())] = &function;
    }
  }

  core::Result<Expanded> of(const onnx::GraphProto& graph) { return of_nodes(graph.node()); }

 private:
  template <class Nodes>
  core::Result<Expanded> of_nodes(const Nodes& nodes) {
    Expanded sum;
    for (const onnx::NodeProto& node : nodes) {
      SOAPSTONE_ASSIGN_OR_RETURN(const Expanded size, of_node(node));
      sum.nodes += size.nodes;
      sum.depth = std::max(sum.depth, size.depth);
      if (sum.nodes > kMostInlinedNodes) {
        return core::invalid_input(fmt::format(
            "inlining the model's functions would make more than {} nodes", kMostInlinedNodes));
      }
    }
    return sum;
  }

  /// Adds a subgraph to what its node becomes. Errors: it is too deep, seen from here on or as a
  /// whole.
  core::Status add(const onnx::GraphProto& graph, Expanded& sum) {
    const auto too_deep = [] {
      return core::invalid_input(
          fmt::format("its subgraphs are in each other more than {} deep", kDeepestGraphs));
    };
    if (++depth_ > kDeepestGraphs) return too_deep();
    SOAPSTONE_ASSIGN_OR_RETURN(const Expanded inner, of(graph));
    --depth_;
    sum.nodes += inner.nodes;
    sum.depth = std::max(sum.depth, inner.depth + 1);
    if (sum.depth > kDeepestGraphs) return too_deep();
    return core::Done{};
  }

  core::Result<Expanded> of_node(const onnx::NodeProto& node) {
    Expanded sum{1, 0};
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) SOAPSTONE_RETURN_IF_ERROR(add(attribute.g(), sum));
      for (const auto& graph : attribute.graphs()) SOAPSTONE_RETURN_IF_ERROR(add(graph, sum));
    }
    const std::string id = function_id(node.domain(), node.op_type(), node.overload());
    const auto callee = functions_.find(id);
    if (callee == functions_.end()) return sum;
    SOAPSTONE_ASSIGN_OR_RETURN(const Expanded body, of_function(id, *callee->second));
    sum.nodes += body.nodes;
    sum.depth = std::max(sum.depth, body.depth);
    return sum;
  }

  core::Result<Expanded> of_function(const std::string& id, const onnx::FunctionProto& function) {
    if (const auto known = sizes_.find(id); known != sizes_.end()) return known->second;
    if (std::find(path_.begin(), path_.end(), id) != path_.end()) {
      return core::invalid_input(fmt::format("the function '{}' calls itself", function.name()));
    }
    if (path_.size() == kDeepestCalls) {
      return core::invalid_input(
          fmt::format("its functions call each other more than {} deep", kDeepestCalls));
    }
    path_.push_back(id);
    SOAPSTONE_ASSIGN_OR_RETURN(const Expanded size, of_nodes(function.node()));
    path_.pop_back();
    return sizes_[id] = size;
  }

  std::unordered_map<std::string, const onnx::FunctionProto*> functions_;
  std::unordered_map<std::string, Expanded> sizes_;
  std::vector<std::string> path_;
  int depth_ = 0;  ///< Depth of the subgraph that is looked at.
};

/// The bodies bring their own opsets along, where the model has none for that domain.
void import_opsets_of_functions(onnx::ModelProto& model) {
  Opsets known = opsets_of(model);
  for (const auto& function : model.functions()) {
    for (const auto& import : function.opset_import()) {
      if (!known.emplace(import.domain(), static_cast<int>(import.version())).second) continue;
      *model.add_opset_import() = import;
    }
  }
}

}  // namespace

core::Status inline_functions(onnx::ModelProto& model) {
  if (model.functions().empty()) return core::Done{};
  SOAPSTONE_RETURN_IF_ERROR([&]() -> core::Status {
    SOAPSTONE_ASSIGN_OR_RETURN([[maybe_unused]] const auto size,
                               ExpandedSizes(model).of(model.graph()));
    return core::Done{};
  }());
  import_opsets_of_functions(model);
  try {
    onnx::inliner::InlineLocalFunctions(model);
  } catch (const std::exception& error) {
    return core::invalid_input(fmt::format("its functions cannot be inlined: {}", error.what()));
  }
  return core::Done{};
}

}  // namespace soapstone::models
