// Inputs on which a wrong rewrite has nowhere to hide.
#pragma once

#include <string_view>
#include <vector>

#include "core/graph/graph.h"

namespace soapstone::search {

/// How the elements of a sample's inputs are drawn.
enum class SampleKind : std::uint8_t {
  kNormal,
  kExtreme,  ///< Mostly ordinary, so that results stay finite; some a hundred times as large.
  kHuge,     ///< Some up to the ends of the type; integers wrap.
  kMasks,    ///< Masks of attention are 0 and −10^9 or −∞, flags 0 and 1.
  kZero,
  kOne,
  kTiny,
};
/// "ordinary values"
std::string_view to_string(SampleKind kind);
/// Whether all elements of an input are alike, next to the numbers that a model adds to them.
bool is_level(SampleKind kind);

/// One literal an input of the graph, of whatever type. Indices that a gather reads stay within its
/// data (from −n on in some kinds); what an opaque node reads stays 0 or 1 if it is an integer. An
/// input with a default value has it in some kinds, kNormal among them.
std::vector<core::Literal> sample_inputs(const core::Graph& graph, SampleKind kind,
                                         std::uint64_t seed);

/// Whether the inputs are tensors of types that are understood. A sequence is not, say.
bool can_sample(const core::Graph& graph);

/// The same numbers, each real one moved to a neighbor or left: what rounding might make of them.
std::vector<core::Literal> perturbed(const std::vector<core::Literal>& inputs, std::uint64_t seed);

}  // namespace soapstone::search
