// The messages of TASO's rule file, as they are in the file: nothing is looked up or interpreted.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace soapstone::rules::taso {

enum class OpType : std::int32_t {
  kInput,
  kWeight,
  kAny,
  kConv,
  kDropout,
  kLinear,
  kMaxPool,
  kAveragePool,
  kRelu,
  kSigmoid,
  kTanh,
  kBatchNorm,
  kConcat,
  kSplit,
  kReshape,
  kTranspose,
  kAdd,
  kMul,
  kMatmul,
  kScalarMul,
  kEnlarge,
  kMergeGroups,
  kConstantImmediate,
  kConstantIdentityConv,
  kConstantOne,
  kConstantPool,
};

enum class Key : std::int32_t {
  kOpType,
  kInputCount,
  kOutputCount,
  kGroup,
  kKernelH,
  kKernelW,
  kStrideH,
  kStrideW,
  kPad,
  kActivation,
  kRank,
  kAxis,
  kPermutation,
  kOutShuffle,
  kMergeCount,
};

/// Result `output` of operator `op` of the same side; a negative `op` is an input of the rule.
struct TensorRef {
  std::int32_t op = 0;
  std::int32_t output = 0;
  bool is_input() const { return op < 0; }
  auto operator<=>(const TensorRef&) const = default;
};

struct Operator {
  OpType type = OpType::kInput;
  std::vector<TensorRef> inputs;
  std::map<Key, std::int32_t> parameters;

  /// The parameter, or `missing`.
  std::int32_t get(Key key, std::int32_t missing) const {
    const auto found = parameters.find(key);
    return found == parameters.end() ? missing : found->second;
  }
};

struct MapOutput {
  TensorRef source, target;
};

struct RuleMessage {
  std::vector<Operator> source, target;
  std::vector<MapOutput> outputs;
};

/// Fields with other numbers are skipped. Errors: kInvalidInput with the byte at which the text
/// stops being such a file.
core::Result<std::vector<RuleMessage>> read_taso_file(std::string_view bytes);

}  // namespace soapstone::rules::taso
