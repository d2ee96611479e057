// The building blocks of the generator: operators with attribute values, and constants. Values come
// from the operators' schemas; what depends on sizes (where to split, how far to pad) is derived
// from the operands' types when an operator is applied (applications.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/graph/op_schema.h"

namespace soapstone::generator {

/// One way to apply an operator.
struct OperatorInstance {
  const core::OpSchema* op = nullptr;
  /// The attributes chosen so far. Attributes that follow from the operands' types (axes,
  /// permutations, split points) are not in it.
  core::Attributes attributes;
  std::size_t arity = 1;
};

/// Tensors that are known without any input. Their sizes follow from the types of the inputs.
enum class Constant : std::uint8_t {
  kZero,         ///< All elements 0.
  kOne,          ///< All elements 1.
  kIdentity,     ///< The unit matrix.
  kDelta,        ///< A kernel whose convolution changes nothing.
  kAveragePool,  ///< A kernel whose convolution is an average pool that counts padding.
};

/// A kernel size and group count for which there are weights.
struct KernelSize {
  std::int64_t height = 1, width = 1;
  std::int64_t groups = 1;
  bool operator==(const KernelSize&) const = default;
};

/// How many inputs of a kind there are at most.
struct InputCounts {
  std::uint8_t images = 3, kernels = 2, tensors = 3, vectors = 2, scalars = 2;
};

struct Vocabulary {
  std::vector<OperatorInstance> operators = {};
  std::vector<Constant> constants = {};
  std::vector<KernelSize> kernels = {};  ///< The weights' windows, if there is a convolution.
  std::vector<std::size_t> ranks = {};   ///< The ranks of inputs besides images and their weights.
  bool has_images = false;
  bool has_vectors = false;  ///< Biases and scales: as long as the last dimension, or the channels.
  bool has_channel_scales = false;  ///< [c, 1, 1], which multiplies the channels of an image.
  bool has_scalars = false;
  bool has_indices = false;   ///< Integers that select slices.
  std::int64_t channels = 0;  ///< The channels of an image; 0: any number.
  InputCounts counts = {};
  unsigned most_variables = 4;  ///< Inputs in a term.
  /// Concat, split, slice and pad work along the first so many dimensions.
  std::size_t most_axes = 4;
  /// Tensors of more dimensions are not transposed.
  std::size_t most_transposed = 3;
  std::size_t most_parts = 2;  ///< A split has at most so many results.
  /// Whether elementwise operators take operands of different types. A product takes a scalar in
  /// any case.
  bool has_broadcasts = true;
};

/// How operators are used where not in all ways that there are.
struct OperatorUse {
  std::string_view op;
  std::size_t most_operands = 3;
  /// Instead of the values that its schema proposes.
  std::vector<std::pair<std::string_view, std::vector<core::AttributeValue>>> only = {};
  /// Whether windows keep the size of an image, or do not pad. At least one.
  bool same = true, valid = false;
};
/// All instances of one operator.
/// Precondition: there is an operator of that name.
std::vector<OperatorInstance> instances_of(const OperatorUse& use);

/// All attribute values that the schemas of these operators propose, with the inputs and constants
/// that they take. Inputs have these ranks (none: images where an operator takes them, else 2).
/// Errors: kUsage for an unknown operator, or one that cannot be enumerated.
core::Result<Vocabulary> vocabulary_of(std::span<const std::string> operators,
                                       std::span<const std::size_t> ranks = {});

}  // namespace soapstone::generator
