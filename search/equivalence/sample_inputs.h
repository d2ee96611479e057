// Inputs on which a wrong rewrite has nowhere to hide.
#pragma once

#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "search/equivalence/landmarks.h"

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
  /// Small whole numbers, halves, and numbers of the model with few digits: what is computed from
  /// them by sums and products of such numbers is exact.
  kHalves,
  kPoints,     ///< Numbers of the model and their neighbors; the first and last indices.
  kBeside,     ///< Likewise, but nothing so near to a number that rounding decides.
  kSpread,     ///< Of every magnitude, from 1 up to the root of the largest number.
  kStretched,  ///< Ordinary ones, all times one factor (Landmarks::stretches).
};
/// "ordinary values"
std::string_view to_string(SampleKind kind);
/// Whether all elements of an input are alike, next to the numbers that a model adds to them.
bool is_level(SampleKind kind);
/// Whether there are numbers so large that their products are near the ends of their types.
bool is_wide(SampleKind kind);

bool is_about_points(SampleKind kind);

/// Whether the number has ten digits or less, in base two, so that sums and products of some such
/// numbers are exact in f32.
bool is_short(double value);

/// One literal an input of the graph, of whatever type. Indices that a gather reads stay within its
/// data (from −n on in some kinds). An integer that an opaque node reads may be a size, so it stays
/// 0 or 1 in half of the kinds, and below a thousand in all.
std::vector<core::Literal> sample_inputs(const core::Graph& graph, SampleKind kind,
                                         std::uint64_t seed, const Landmarks& landmarks = {});

/// Whether an input holds integers, or texts.
bool has_plain_integers(const core::Graph& graph);
/// The same inputs with plain numbers, 0 or 1, for all integers: for a model that rejects what was
/// drawn, as indices out of range. `attempt` counts from 1, up to kPlainAttempts.
inline constexpr int kPlainAttempts = 2;
std::vector<core::Literal> with_plain_integers(const core::Graph& graph,
                                               std::vector<core::Literal> inputs, int attempt);

/// The same with all real numbers multiplied by a factor.
std::vector<core::Literal> stretched(const std::vector<core::Literal>& inputs, double factor);

/// Whether the inputs are tensors of types that are understood. A sequence is not, say.
bool can_sample(const core::Graph& graph);

/// The same numbers, each real one moved to a neighbor or left: what rounding might make of them.
std::vector<core::Literal> perturbed(const std::vector<core::Literal>& inputs, std::uint64_t seed);

}  // namespace soapstone::search
