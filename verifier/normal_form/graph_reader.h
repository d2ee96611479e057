// Elements of a graph's tensors as normal forms: the comprehensions of its nodes put into each
// other.
#pragma once

#include <map>
#include <vector>

#include "core/graph/graph.h"
#include "verifier/normal_form/normalizer.h"
#include "verifier/questions/size_system.h"

namespace soapstone::verifier {

class GraphReader {
 public:
  /// Rule inputs are numbered by position, so both sides of a rule read the same atoms. Constants
  /// are numbered from `first_constant` on by their contents.
  /// With `rounds`, every operator rounds its results.
  GraphReader(const core::Graph& graph, const SizeSystem& sizes, Normalizer& normalizer,
              bool rounds);

  NormalForm element(core::TensorId tensor, const std::vector<Linear>& index,
                     const FactSet& context);
  std::vector<Linear> shape(core::TensorId tensor) const;
  /// Notes what operators demand of the values that they read, at all of these. `may_exceed`: more
  /// may be noted than is demanded; true: it was.
  bool note_requirements(bool may_exceed);
  /// Of all tensors, and of what operators compute on the way to their results.
  std::vector<std::vector<Linear>> shapes();

 private:
  std::vector<Linear> applied(const core::Shape& shape) const;
  NormalForm constant(const core::Literal& literal, const std::vector<Linear>& index);
  NormalForm stage(core::NodeId node, std::uint32_t tensor, const std::vector<Linear>& index,
                   const FactSet& context);
  const ops::Semantics& semantics(core::NodeId node);
  Normalizer::Reader reader(core::NodeId node);
  Normalizer::ShapeOf shape_of(core::NodeId node);
  void note_selector(core::NodeId node, const std::vector<Linear>& index, const FactSet& context);
  NormalForm as_stored(core::NodeId id, const NormalForm& exactly, core::DataType type,
                       const FactSet& context);

  const core::Graph& graph_;
  const SizeSystem& sizes_;
  Normalizer& normalizer_;
  bool rounds_;
  std::map<core::NodeId, ops::Semantics> semantics_;
};

}  // namespace soapstone::verifier
