// Attention as operations of libraries for networks; see attention.h.
#include "gpu/forms/attention.h"

namespace soapstone::gpu {
namespace {

/// Writes operations over [batch, heads, rows, columns].
class AttentionDraft {
 public:
  explicit AttentionDraft(const Attention& attention) : attention_(attention) {
    all_ = attention.queries.dims;
    all_[3] = attention.keys.dims[3];
    rows_ = all_;
    rows_[3] = 1;
  }

  OperationGraph write() {
    std::uint32_t scores = product(add(attention_.queries), add(attention_.keys), scratch(all_));
    if (attention_.scale != 1)
      scores = pointwise(Pointwise::kMultiply, {scores, number(attention_.scale)}, all_);
    for (const GraphTensor& tensor : attention_.added)
      scores = pointwise(Pointwise::kAdd, {scores, add(tensor)}, all_);
    const std::uint32_t largest = reduction(Reduction::kMaximum, scores);
    const std::uint32_t centered = pointwise(Pointwise::kSubtract, {scores, largest}, all_);
    const std::uint32_t powers = function(ops::Function::kExp, centered, all_);
    const std::uint32_t total = reduction(Reduction::kSum, powers);
    pointwise(Pointwise::kAdd, {largest, function(ops::Function::kLog, total, rows_)}, rows_);
    const std::uint32_t shares = pointwise(Pointwise::kDivide, {powers, total}, all_);
    graph_.tensors[shares].is_rounded = true;
    GraphTensor result = attention_.result;
    result.is_result = true;
    product(shares, add(attention_.values), add(std::move(result)));
    graph_.runs = attention_.runs;
    return std::move(graph_);
  }

 private:
  std::uint32_t add(GraphTensor tensor) {
    graph_.tensors.push_back(std::move(tensor));
    return static_cast<std::uint32_t>(graph_.tensors.size() - 1);
  }
  std::uint32_t scratch(const core::Dims& dims) {
    return add({core::TensorId::none(),
                attention_.result.data_type,
                dims,
                runtime::strides_of(dims, runtime::Layout::kRowMajor),
                0,
                {},
                false});
  }
  std::uint32_t number(double value) {
    const core::Dims ones(all_.size(), 1);
    return add({core::TensorId::none(), core::DataType::kFloat32, ones, ones, 0, value, false});
  }
  std::uint32_t put(Operation operation) {
    const std::uint32_t output = operation.output;
    graph_.operations.push_back(std::move(operation));
    return output;
  }
  std::uint32_t product(std::uint32_t left, std::uint32_t right, std::uint32_t to) {
    Operation operation;
    operation.kind = Operation::Kind::kProduct;
    operation.inputs = {left, right};
    operation.output = to;
    return put(std::move(operation));
  }
  std::uint32_t pointwise(Pointwise what, std::vector<std::uint32_t> inputs,
                          const core::Dims& dims) {
    Operation operation;
    operation.pointwise = what;
    operation.inputs = std::move(inputs);
    operation.output = scratch(dims);
    return put(std::move(operation));
  }
  std::uint32_t function(ops::Function what, std::uint32_t input, const core::Dims& dims) {
    const std::uint32_t output = pointwise(Pointwise::kFunction, {input}, dims);
    graph_.operations.back().function = what;
    return output;
  }
  std::uint32_t reduction(Reduction what, std::uint32_t input) {
    Operation operation;
    operation.kind = Operation::Kind::kReduction;
    operation.reduction = what;
    operation.inputs = {input};
    operation.output = scratch(rows_);
    return put(std::move(operation));
  }

  const Attention& attention_;
  core::Dims all_, rows_;
  OperationGraph graph_;
};

}  // namespace

OperationGraph operations_of(const Attention& attention) {
  return AttentionDraft(attention).write();
}

}  // namespace soapstone::gpu
