// Local functions of a model. ONNX's inliner does the work; before it may, it is shown that the
// result is finite and of bearable size, because the inliner itself does not look into subgraphs.
#include <fmt/format.h>
#include <onnx/inliner/inliner.h>

#include <algorithm>

#include "models/onnx_document.h"

namespace soapstone::models {
namespace {

constexpr std::uint64_t kMostInlinedNodes = 2'000'000;
constexpr std::size_t kDeepestCalls = 100;

std::string function_id(const std::string& domain, const std::string& name,
                        const std::string& overload) {
  return domain + "::" + name + "::" + overload;
}

/// How many nodes a call becomes, found from the innermost function outwards.
class ExpandedSizes {
 public:
  explicit ExpandedSizes(const onnx::ModelProto& model) {
    for (const auto& function : model.functions()) {
      functions_[function_id(function.domain(), function.name(), function.overload())] = &function;
    }
  }

  core::Result<std::uint64_t> of(const onnx::GraphProto& graph) { return of_nodes(graph.node()); }

 private:
  template <class Nodes>
  core::Result<std::uint64_t> of_nodes(const Nodes& nodes) {
    std::uint64_t sum = 0;
    for (const onnx::NodeProto& node : nodes) {
      SOAPSTONE_ASSIGN_OR_RETURN(const std::uint64_t size, of_node(node));
      sum += size;
      if (sum > kMostInlinedNodes) {
        return core::invalid_input(fmt::format(
            "inlining the model's functions would make more than {} nodes", kMostInlinedNodes));
      }
    }
    return sum;
  }

  core::Result<std::uint64_t> of_node(const onnx::NodeProto& node) {
    std::uint64_t sum = 1;
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) {
        SOAPSTONE_ASSIGN_OR_RETURN(const std::uint64_t size, of(attribute.g()));
        sum += size;
      }
      for (const auto& graph : attribute.graphs()) {
        SOAPSTONE_ASSIGN_OR_RETURN(const std::uint64_t size, of(graph));
        sum += size;
      }
    }
    const std::string id = function_id(node.domain(), node.op_type(), node.overload());
    const auto callee = functions_.find(id);
    if (callee == functions_.end()) return sum;
    SOAPSTONE_ASSIGN_OR_RETURN(const std::uint64_t body, of_function(id, *callee->second));
    return sum + body;
  }

  core::Result<std::uint64_t> of_function(const std::string& id,
                                          const onnx::FunctionProto& function) {
    if (const auto known = sizes_.find(id); known != sizes_.end()) return known->second;
    if (std::find(path_.begin(), path_.end(), id) != path_.end()) {
      return core::invalid_input(fmt::format("the function '{}' calls itself", function.name()));
    }
    if (path_.size() == kDeepestCalls) {
      return core::invalid_input(
          fmt::format("its functions call each other more than {} deep", kDeepestCalls));
    }
    path_.push_back(id);
    SOAPSTONE_ASSIGN_OR_RETURN(const std::uint64_t size, of_nodes(function.node()));
    path_.pop_back();
    return sizes_[id] = size;
  }

  std::unordered_map<std::string, const onnx::FunctionProto*> functions_;
  std::unordered_map<std::string, std::uint64_t> sizes_;
  std::vector<std::string> path_;
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
