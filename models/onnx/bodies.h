// Bodies: the graphs inside If, Loop and Scan. Each becomes a model file of its own, and what was
// made of that file is put back into the node (docs/adr/0058).
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/graph/graph.h"

namespace soapstone::models {

struct Body {
  std::string where;    ///< "then_branch of node 'choose' (If)"
  std::string why_not;  ///< Why it is no model of its own; empty: it is one.
  /// By input of its model: the tensor of the graph around it that it is, starts as, or is a slice
  /// of. None: the node makes it, as it makes the number of an iteration.
  std::vector<core::TensorId> inputs;
  /// By output: the tensor of the graph around it that is made of it. None: there is none, as for
  /// the condition of a Loop.
  std::vector<core::TensorId> results;
  /// Inputs that hold in each iteration what an output of the one before was: pairs of positions.
  std::vector<std::pair<std::size_t, std::size_t>> carried;
  std::map<std::string, core::Dims> shapes;  ///< ImportOptions::shapes for its model.
  double runs = 1;  ///< In one run of the node; 1 where the model does not say how many.
};

/// Whether the node is one that was kept as it is, with graphs inside.
bool has_bodies(const core::Node& node);

/// A model file whose bodies may be replaced; all else in it stays as it is.
class BodyDocument {
 public:
  /// `graph` was read of that file: it has the sizes for which bodies are optimized.
  /// Errors: those of reading; kUnavailable without a process for ONNX's inference.
  static core::Result<BodyDocument> read(const std::filesystem::path& path,
                                         const core::Graph& graph);
  BodyDocument(BodyDocument&&) noexcept;
  ~BodyDocument();

  /// The bodies in the file's own graph; a body in a body is one of that body's model.
  const std::vector<Body>& bodies() const;
  /// Precondition: it is a model of its own. Errors: those of writing.
  core::Status write_body(std::size_t body, const std::filesystem::path& path) const;
  /// Puts the graph of a model that was made of the body's into its place, under names that clash
  /// with none around it. Errors: those of reading; kUnsupported if it fixes a size that the body
  /// leaves open, or needs another version of operators than the file has.
  core::Status put_back(std::size_t body, const std::filesystem::path& optimized);
  /// Errors: those of writing.
  core::Status write(const std::filesystem::path& path) const;

 private:
  struct State;
  explicit BodyDocument(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace soapstone::models
