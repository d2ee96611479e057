// The state that the parts of the exporter share while a model is written: names, weights, and the
// graph message that grows.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "models/onnx/format/model_header.h"

namespace soapstone::models {

/// Protobuf's limit for one message, less room for everything but weights.
inline constexpr std::uint64_t kMostEmbeddedBytes = (std::uint64_t{1} << 31) - (1u << 26);

/// Node messages of the opaque nodes.
using OpaqueProtos = std::map<core::NodeId, onnx::NodeProto>;
/// Errors: kInvalidInput if an opaque node holds no ONNX node that fits its inputs and outputs.
core::Result<OpaqueProtos> opaque_protos(const core::Graph& graph);

/// A name for every tensor of a graph: its own where it has one that is free, the declared ones
/// for the outputs.
class TensorNames {
 public:
  /// Names the results of the nodes that the plan says are needed. `declared_outputs`: one for each
  /// graph output, or none at all. A name of `reserved` is given to no tensor but its own.
  static core::Result<TensorNames> assign(const core::Graph& graph, const OriginalPlan& plan,
                                          const OpaqueProtos& opaque,
                                          std::vector<std::string> declared_outputs,
                                          std::unordered_set<std::string> reserved = {});

  /// Empty for TensorId::none() and for results that nobody needs.
  const std::string& of(core::TensorId id) const;
  std::string fresh(std::string_view hint);
  const std::vector<std::string>& outputs() const { return outputs_; }
  /// Graph outputs that have to be copied from another tensor, because that one has a name of its
  /// own: an input, a constant, another output.
  const std::vector<std::pair<core::TensorId, std::string>>& copies() const { return copies_; }
  /// The first tensor of each distinct constant.
  const std::vector<core::TensorId>& constants() const { return constants_; }
  /// The constant's name, if the graph has an equal one.
  const std::string* find_constant(const core::Literal& value) const;
  void add_constant(const core::LiteralPtr& value, const std::string& name) {
    by_value_.emplace(value->hash(), std::pair(value, name));
  }

 private:
  TensorNames() = default;
  void reserve_subgraph_names(const OpaqueProtos& opaque);
  void name_inputs(const core::Graph& graph);
  core::Status name_outputs(const core::Graph& graph, std::vector<std::string> declared);
  void name_results(const core::Graph& graph, const OriginalPlan& plan, const OpaqueProtos& opaque);
  void name_constants(const core::Graph& graph, const OriginalPlan& plan);
  bool take(const core::Graph& graph, core::TensorId id);

  std::vector<std::string> names_;  // by tensor
  std::vector<std::string> outputs_;
  std::vector<std::pair<core::TensorId, std::string>> copies_;
  std::vector<core::TensorId> constants_;
  std::unordered_multimap<std::uint64_t, std::pair<core::LiteralPtr, std::string>> by_value_;
  std::unordered_set<std::string> taken_, reserved_;
  std::unordered_map<std::string, int> next_suffix_;
};

struct NamedWeight {
  core::LiteralPtr value;
  std::string name;
};

/// A model but for its weights.
struct ExportedModel {
  onnx::ModelProto model;  ///< Its initializers are those that no Literal can hold.
  std::vector<NamedWeight> weights;
  bool had_external_weights = false;  ///< Some were in files of their own where they were read.
  /// Folded nodes of the model that was read; null: it leaves no sizes open.
  std::shared_ptr<const FoldedNodes> folded = nullptr;
  std::uint64_t weight_bytes() const;
};

/// Leaves out nodes and weights that nobody reads: mappings may skip what their node reads.
void drop_unread(onnx::GraphProto& graph, std::vector<NamedWeight>& weights);

/// Errors: kInvalidInput for symbolic sizes and for a header of another graph; kUnsupported if an
/// operator cannot be said in the model's opset.
core::Result<ExportedModel> export_graph(const core::Graph& graph, const ModelHeader& header,
                                         const WriteOptions& options = {});

/// Weights go to a file of their own if they have to, or did before.
core::Status write_exported(ExportedModel exported, bool external,
                            const std::filesystem::path& path, std::uint64_t most_embedded_bytes);

/// write_onnx() with another bound on the weights inside the model file.
core::Status write_onnx_bounded(const core::Graph& graph, const ModelHeader& header,
                                const std::filesystem::path& path,
                                std::uint64_t most_embedded_bytes,
                                const WriteOptions& options = {});

}  // namespace soapstone::models
