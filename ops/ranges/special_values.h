// Where NaN and infinities matter in a graph: tensors that may hold some although the inputs are
// finite, and of which a finite result is made. Rewrites that change what happens to NaN and
// infinities must leave these alone.
#pragma once

#include <memory>
#include <vector>

#include "core/graph/graph.h"
#include "ops/ranges/float_range.h"

namespace soapstone::ops {

/// Facts about a graph that stands inside another one, as the body of a Loop does. By default the
/// graph is a whole model.
struct Surroundings {
  /// By input: it may be NaN or infinite in an ordinary run.
  std::vector<bool> special_inputs = {};
  /// By output: NaN and infinities in it are tested for.
  std::vector<bool> tested_results = {};
  bool results_matter = false;  ///< Finite numbers may be made of what its results hold.
};

class SpecialsMemory;

class SpecialValues {
 public:
  /// Nothing matters: for graphs of which nothing is known.
  SpecialValues() = default;
  /// Two questions are asked of the definitions. From inputs of ordinary magnitude, which tensors
  /// may be NaN or infinite (a divisor that may be 0, a logarithm, a root, an exponential, a
  /// product beyond the range), and is any of that made finite again (by a comparison, a choice, a
  /// bound, tanh, 1/∞)? And from inputs of any value, NaN and infinities included: which tensors
  /// does the graph test for that, as x = x does? Opaque nodes make ordinary values, and what they
  /// read may be made finite in them. Precondition: all shapes known but those behind opaque nodes.
  /// Complexity: linear in the graph and its constants.
  explicit SpecialValues(const core::Graph& graph, const Surroundings& surroundings = {});
  /// The same for a graph that rewrites have made of this one. Nothing matters in it if nothing did
  /// in this one; constants are not read again, and of nodes that are the same, with operands of
  /// which the same is known, nothing is asked again. Thread-safe.
  SpecialValues again(const core::Graph& graph) const;

  bool none() const { return !any_; }
  /// Whether NaN and infinities in that tensor decide what finite numbers come out. A tensor that
  /// the graph did not have is taken to be one, if there are any at all.
  bool matter_in(core::TensorId id) const {
    return any_ && (id.index() >= matters_.size() || matters_[id.index()]);
  }
  /// What the tensor may hold beside finite numbers, from ordinary inputs.
  Specials specials_of(core::TensorId id) const {
    return id.index() < specials_.size() ? specials_[id.index()] : kAllSpecials;
  }
  /// Those of a part of the graph: by tensor of the part, the tensor of the whole that it is.
  SpecialValues of_part(const std::vector<core::TensorId>& tensors) const;

 private:
  SpecialValues(const core::Graph& graph, Surroundings surroundings,
                std::shared_ptr<SpecialsMemory> memory);

  bool any_ = false;
  std::vector<bool> matters_;
  std::vector<Specials> specials_;
  Surroundings surroundings_;
  std::shared_ptr<SpecialsMemory> memory_;
};

/// By result: whether it is ordinary, and remains so if it is a state, an input of the next of many
/// runs. It is finite, and grows with the states no faster than they do, as the sum of one of them
/// and something bounded does. `states`: which inputs are states. Precondition: that of
/// SpecialValues.
std::vector<bool> results_that_stay_ordinary(const core::Graph& graph,
                                             const Surroundings& surroundings,
                                             const std::vector<bool>& states);

}  // namespace soapstone::ops
