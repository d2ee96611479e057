// ONNX files in and out. A node that is not understood is kept as an opaque one and reported, never
// dropped.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/graph/graph.h"

namespace soapstone::models {

/// The parts of a model file besides the graph, kept so that they can be written again: opsets, IR
/// version, metadata, declared input and output shapes, custom domains.
class ModelHeader;
struct DeviceAnnotations;

struct OpaqueNode {
  std::string name;
  std::string op_type;  ///< With its domain if it is not the default one.
  std::string reason;
};

struct OnnxModel {
  core::Graph graph;
  std::shared_ptr<const ModelHeader> header;
  std::vector<OpaqueNode> opaque_nodes;
  /// By input of the graph: its value where nobody gives another; null: it has to be given.
  std::vector<core::LiteralPtr> defaults;
  int opset = 0;                                    ///< Opset of the default domain.
  std::vector<std::filesystem::path> weight_files;  ///< Besides the model's own.
  std::vector<std::string> warnings;  ///< Assumptions that were made, and parts that were left out.
};

struct ImportOptions {
  /// Sizes for inputs whose declared shape leaves some open: by input name, or by the name of a
  /// symbolic dimension (with one number).
  std::map<std::string, core::Dims> shapes;
  /// Open dimensions that `shapes` does not settle: true: they become 1 and are reported; false:
  /// an error that says which option to give.
  bool assume_ones = false;
  /// Names in `shapes` that the model does not have are skipped: a written result has the sizes
  /// that were given, and no open dimension of that name.
  bool skip_unknown = false;
  /// Inputs with a default value become constants, and a written model has no such input. False:
  /// they stay inputs, and keep their default.
  bool fold_default_inputs = false;
};

/// Errors: kInvalidInput (not a model, broken graph, missing external data, open shapes: `where`
/// names the file and the node), kUnsupported (no default-domain opset between 7 and 23).
core::Result<OnnxModel> read_onnx(const std::filesystem::path& path,
                                  const ImportOptions& options = {});
core::Result<OnnxModel> parse_onnx(std::string_view bytes, const ImportOptions& options = {},
                                   const std::filesystem::path& directory = {});

struct WriteOptions {
  /// ONNX nodes whose meaning is still there are written as they were read. False: every node is
  /// written by its operator's mapping.
  bool keep_original_nodes = true;
  /// Which devices hold what, by node of the graph; null: nothing is said. See
  /// models/onnx/format/device_annotations.h.
  const DeviceAnnotations* devices = nullptr;
};

/// Writes to a temporary file beside `path` and renames it, so a reader never sees half a model.
/// Opset, metadata, and names and types of inputs and outputs are those of the header. Constant
/// expressions are written as they are. Weights go to `<name>.data` beside the model if it would
/// exceed 2 GB, or if some were external before.
/// Errors: kInvalidInput (a path that cannot be written, symbolic sizes), kUnsupported (an operator
/// that the opset cannot express), kUnavailable (the disk is full).
core::Status write_onnx(const core::Graph& graph, const ModelHeader& header,
                        const std::filesystem::path& path, const WriteOptions& options = {});
core::Result<std::string> serialize_onnx(const core::Graph& graph, const ModelHeader& header,
                                         const WriteOptions& options = {});
/// The status that write_onnx() would return for the graph, found without weights and files.
core::Status check_writable(const core::Graph& graph, const ModelHeader& header);

/// Nodes of constant expressions that must not be folded, because an ONNX node that is written as
/// it was read computes them itself: a Gemm's alpha, say.
std::vector<core::NodeId> constants_within_originals(const core::Graph& graph,
                                                     const ModelHeader& header);

/// The names of the file's outputs, in order; one tensor may have several. Empty for graphs that
/// were not read from a file.
std::vector<std::string> output_names(const ModelHeader& header);

/// For graphs that were not read from a file.
std::shared_ptr<const ModelHeader> new_header(int opset = 17);

}  // namespace soapstone::models
