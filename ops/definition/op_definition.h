// Everything there is to say of an operator, said once. A definition that leaves a facet out does
// not compile.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/graph/op_schema.h"
#include "ops/definition/infer_context.h"
#include "ops/definition/onnx_mapping.h"
#include "ops/language/comprehension.h"

namespace soapstone::ops {

using core::Movement;
using core::OperandRole;

/// A member that has to be given.
template <class T>
class Required {
 public:
  Required(T value) : value_(std::move(value)) {}
  template <class F>
  requires std::is_constructible_v<T, F> Required(F value) : value_(std::move(value)) {}
  const T& get() const { return value_; }
  const T* operator->() const { return &value_; }

 private:
  T value_;
};

/// The node for which a meaning is asked: attributes and the types on both sides, which may be
/// symbolic.
struct OpInstance {
  const core::Attributes& attributes;
  std::span<const core::TensorType> inputs;  ///< shape_known is false where left out.
  std::span<const core::TensorType> outputs;
  bool has_input(std::size_t k) const { return k < inputs.size() && inputs[k].shape_known; }
};

/// Result types from attributes and input types. Failures are recorded in the context.
using InferFunction = std::function<std::vector<core::TensorType>(InferContext&)>;
/// The comprehension. Called with types that passed `infer`.
using SemanticsFunction = std::function<Semantics(const OpInstance&)>;

/// The results of a node in training, where it is something else than in inference.
struct TrainingForm {
  std::vector<core::TensorId> results;
  /// Inputs, by number, that a step of training replaces, and what replaces them.
  std::vector<std::pair<std::size_t, core::TensorId>> replaced;
};
/// Appends the training form of a node of the builder. `momentum`: the share of a running statistic
/// that a step keeps.
using TrainingFunction = std::function<core::Result<TrainingForm>(
    core::GraphBuilder&, const core::Node&, double momentum)>;

/// How much of the input elements the operator only moves (used by cost and layout decisions).
enum class OpClass : std::uint8_t {
  kContraction,    ///< convolution, matmul: can be the head of a fused launch
  kElementwise,    ///< one output element from one element of each input: can be an epilogue
  kReduction,      ///< pooling, reductions
  kOrder,          ///< elements in order: n·log2(n) comparisons, not those of the comprehension
  kNormalization,  ///< softmax, layer norm, batch norm
  kMovement,       ///< transpose, concat, pad, gather: copies
  kView,           ///< reshape, identity, dropout: no work at all on row-major data
};

struct OpDefinition : core::OpSchema {
  struct Facets {
    Required<std::string> name;
    Required<std::string> equation;  ///< One line: shapes and meaning.
    Required<std::vector<core::AttributeSchema>> attributes;
    Required<std::pair<std::size_t, std::size_t>> inputs;  ///< Fewest and most.
    Required<OpClass> op_class;
    Movement movement = Movement::kNone;     ///< Must be stated where nothing is computed.
    std::vector<OperandRole> operands = {};  ///< None: data like any other.
    Required<InferFunction> infer;
    Required<SemanticsFunction> semantics;
    Required<OnnxMapping> onnx;
    TrainingFunction in_training = nullptr;  ///< Null: the same in training.
    bool is_commutative = false;
    bool averages = false;  ///< Divides sums by the number of their terms.
  };
  explicit OpDefinition(Facets facets);

  std::string equation;
  OpClass op_class;
  InferFunction infer;
  SemanticsFunction semantics;
  OnnxMapping onnx;
  TrainingFunction in_training;
};

}  // namespace soapstone::ops
