// What a launch computes, in the words of libraries for networks: convolutions, products, pools,
// reductions and norms over strided tensors, functions of single elements behind them, and
// attention. Knows no library.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <vector>

#include "core/graph/graph.h"
#include "ops/language/functions.h"
#include "runtime/launches/layout.h"

namespace soapstone::gpu {

struct GraphTensor {
  core::TensorId id;  ///< None: an intermediate result or a number.
  core::DataType data_type = core::DataType::kFloat32;
  core::Dims dims, strides;      ///< In elements; a size of 1 is repeated where others are larger.
  std::int64_t offset = 0;       ///< Elements before the first.
  std::optional<double> number;  ///< Set: the only element, known when the graph is made.
  bool is_result = false;
  bool is_rounded = false;  ///< An intermediate result that is rounded to its type all the same.
  std::int64_t step = 0;  ///< Elements from its place in one run of the graph to that in the next.
};

/// What is computed of one element of each input.
enum class Pointwise : std::uint8_t {
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kReciprocal,
  kMaximum,
  kFunction,
  kGelu,
  kGeluByTanh,
  kSwish,
};
enum class Reduction : std::uint8_t { kSum, kMean, kMaximum };  ///< Means are of pools only.
enum class Norm : std::uint8_t { kLayer, kRootMeanSquare };

struct SlidingWindow {
  core::Dims size, strides, dilations, pads_before, pads_behind;
};

struct Operation {
  enum class Kind : std::uint8_t {
    kConvolution,  ///< image, kernel
    kProduct,      ///< left, right: [batch…, rows, summed] · [batch…, summed, columns]
    kPointwise,    ///< one or two tensors
    kReduction,    ///< dimensions of the result that are 1 are reduced
    kPool,         ///< image
    kNorm,         ///< data, scale, bias (layer norms), epsilon
  };
  Kind kind = Kind::kPointwise;
  std::vector<std::uint32_t> inputs;  ///< Tensors of the graph.
  std::uint32_t output = 0;
  Pointwise pointwise = Pointwise::kAdd;
  ops::Function function = ops::Function::kRelu;  ///< Of kFunction.
  SlidingWindow window;
  Reduction reduction = Reduction::kSum;  ///< Also of a pool.
  bool counts_pad = false;
  Norm norm = Norm::kLayer;
};

struct OperationGraph {
  std::vector<GraphTensor> tensors;
  std::vector<Operation> operations;  ///< In an order in which they can run.
  std::int64_t runs = 1;              ///< So often all of them run, on other parts of tensors.
};

/// Where tensors of a launch lie otherwise than row-major.
using TensorLayouts = std::map<core::TensorId, runtime::Layout>;

/// The nodes of a launch with one result. What a node is follows from the roles of its attributes
/// and operands and from its comprehension. Errors: kUnsupported, with the reason.
core::Result<OperationGraph> operation_graph_of(const core::Graph& graph,
                                                std::span<const core::NodeId> nodes,
                                                std::span<const core::TensorId> outputs,
                                                const TensorLayouts& layouts = {});

}  // namespace soapstone::gpu
