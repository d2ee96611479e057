// An independent judge: a runtime that we did not write runs the files themselves. The parts of
// Soapstone that read, define, run and write models share blind spots; the judge does not have
// them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "core/graph/literal.h"

namespace soapstone::search {

/// A result of a run, under the name that the model gives it.
struct NamedResult {
  std::string name;
  core::Literal value;
};

/// Holds two models: the user's own file, and what was made of it, as it would be handed out.
class Judge {
 public:
  enum class Model : std::uint8_t {
    kOriginal,
    kOptimizedOriginal,  ///< With the runtime's own optimizations: what it may round otherwise.
    kMovedOriginal,      ///< With numbers moved by chance: how much rounding matters.
    kRewritten,
    kOptimizedRewritten,  ///< Likewise: what the user will run.
  };

  virtual ~Judge() = default;
  /// For reports: "ONNX Runtime 1.31.1".
  virtual std::string runtime() const = 0;
  /// The graph becomes the rewritten model. Errors: those of writing it.
  virtual core::Status rewrite(const core::Graph& graph) = 0;
  /// Errors: kUnsupported: the runtime cannot load the model; kUnavailable: it does not work.
  virtual core::Status load(Model model) = 0;
  /// One literal a graph input, in their order; one result a graph output, likewise.
  /// Errors: kUnsupported: the runtime refuses the model or the inputs; kUnavailable: it does not
  /// work.
  virtual core::Result<std::vector<NamedResult>> run(Model model,
                                                     std::span<const core::Literal> inputs) = 0;
  /// Model::kMovedOriginal becomes another one. 0, the first: with weights moved to neighbors;
  /// others: with what is computed between nodes off as well.
  virtual void move(std::uint64_t seed) = 0;
};

}  // namespace soapstone::search
