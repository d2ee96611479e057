// Elements of a graph's tensors as normal forms: the comprehensions of its nodes put into each
// other.
#pragma once

#include <map>
#include <vector>

#include "core/graph/graph.h"
#include "verifier/questions/size_system.h"
#include "verifier/reading/comprehension.h"

namespace soapstone::verifier {

class GraphReader {
 public:
  /// Rule inputs are numbered by position, so both sides of a rule read the same atoms. With
  /// `rounds`, every operator rounds its results. `unknowns`: numbers that stand for unknown ones.
  GraphReader(const core::Graph& graph, const SizeSystem& sizes, Laws& laws,
              std::vector<ops::Rational> unknowns, bool rounds);

  NormalForm element(core::TensorId tensor, const std::vector<Linear>& index,
                     const FactSet& context);
  std::vector<Linear> shape(core::TensorId tensor) const;
  /// Notes what operators demand of all the values that they read. `may_exceed`: more may be noted
  /// than is demanded; true: it was.
  bool note_requirements(bool may_exceed);
  /// Shapes of all tensors, and of what operators compute on the way to their results.
  std::vector<std::vector<Linear>> shapes();

 private:
  std::vector<Linear> applied(const core::Shape& shape) const;
  NormalForm constant(const core::Literal& literal, const std::vector<Linear>& index);
  NormalForm stage(core::NodeId node, std::uint32_t tensor, const std::vector<Linear>& index,
                   const FactSet& context);
  const ops::Semantics& semantics(core::NodeId node);
  ComprehensionReader::Element reader(core::NodeId node);
  ComprehensionReader::ShapeOf shape_of(core::NodeId node);
  NormalForm as_stored(core::NodeId id, const NormalForm& exactly, core::DataType type,
                       const FactSet& context);

  const core::Graph& graph_;
  const SizeSystem& sizes_;
  Laws& laws_;
  ComprehensionReader comprehensions_;
  bool rounds_;
  std::map<core::NodeId, ops::Semantics> semantics_;
};

}  // namespace soapstone::verifier
