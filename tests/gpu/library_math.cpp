// See library_math.h.
#include "tests/gpu/library_math.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "tests/gpu/kernel_checks.h"
#include "tests/runtime/runtime_test.h"

namespace soapstone::gpu::test {
namespace {

using core::Dims;

void for_each_index(const Dims& dims, const std::function<void(const Dims&)>& visit) {
  Dims at(dims.size(), 0);
  if (core::element_count(dims) == 0) return;
  while (true) {
    visit(at);
    std::size_t d = dims.size();
    while (d > 0 && ++at[d - 1] == dims[d - 1]) at[--d] = 0;
    if (d == 0) return;
  }
}

/// Runs operations over tensors in memory and intermediate ones, which are dense.
class OperationRun {
 public:
  OperationRun(const OperationGraph& graph, TensorValues& values)
      : graph_(graph), values_(values), own_(graph.tensors.size()) {}

  void run() {
    for (const Operation& o : graph_.operations) {
      const Dims& dims = graph_.tensors[o.output].dims;
      std::vector<std::pair<Dims, double>> results;
      for_each_index(dims, [&](const Dims& at) { results.emplace_back(at, value_of(o, at)); });
      for (const auto& [at, value] : results) element(o.output, at) = value;
    }
  }

 private:
  /// The element, repeated along dimensions of size 1.
  double& element(std::uint32_t tensor, const Dims& at) {
    const GraphTensor& t = graph_.tensors[tensor];
    if (t.number) {
      number_ = *t.number;
      return number_;
    }
    std::int64_t position = t.id.valid() ? t.offset : 0, dense = 1;
    for (std::size_t d = at.size(); d-- > 0;) {
      const std::int64_t index = t.dims[d] == 1 ? 0 : at[d];
      position += index * (t.id.valid() ? t.strides[d] : dense);
      dense *= t.dims[d];
    }
    std::vector<double>& memory = t.id.valid() ? values_.at(t.id) : own_[tensor];
    if (!t.id.valid()) memory.resize(static_cast<std::size_t>(dense));
    return memory.at(static_cast<std::size_t>(position));
  }

  double value_of(const Operation& o, const Dims& at) {
    switch (o.kind) {
    case Operation::Kind::kConvolution:
      return convolution(o, at);
    case Operation::Kind::kProduct:
      return product(o, at);
    case Operation::Kind::kPointwise:
      return pointwise(o, at);
    case Operation::Kind::kReduction:
      return reduction(o, at);
    case Operation::Kind::kPool:
      return pool(o, at);
    case Operation::Kind::kNorm:
      return norm(o, at);
    }
    return 0;
  }

  /// Calls `visit` with the position in the image and in the window, and whether it is inside.
  void for_each_in_window(const Operation& o, const Dims& at,
                          const std::function<void(const Dims&, const Dims&, bool)>& visit) {
    const Dims& image = graph_.tensors[o.inputs[0]].dims;
    for_each_index(o.window.size, [&](const Dims& window) {
      Dims position = at;
      bool is_inside = true;
      for (std::size_t d = 0; d < window.size(); ++d) {
        position[d + 2] = at[d + 2] * o.window.strides[d] + window[d] * o.window.dilations[d] -
                          o.window.pads_before[d];
        is_inside &= position[d + 2] >= 0 && position[d + 2] < image[d + 2];
      }
      visit(position, window, is_inside);
    });
  }

  double convolution(const Operation& o, const Dims& at) {
    const Dims& image = graph_.tensors[o.inputs[0]].dims;
    const Dims& kernel = graph_.tensors[o.inputs[1]].dims;
    const std::int64_t groups = image[1] / kernel[1], group = at[1] / (kernel[0] / groups);
    double sum = 0;
    for_each_in_window(o, at, [&](Dims position, const Dims& window, bool is_inside) {
      if (!is_inside) return;
      Dims weight{at[1], 0};
      weight.insert(weight.end(), window.begin(), window.end());
      for (std::int64_t c = 0; c < kernel[1]; ++c) {
        position[1] = group * kernel[1] + c;
        weight[1] = c;
        const double x = element(o.inputs[0], position);
        sum += x * element(o.inputs[1], weight);
      }
    });
    return sum;
  }

  double product(const Operation& o, const Dims& at) {
    const std::size_t rank = at.size();
    const Dims& all = graph_.tensors[o.output].dims;
    Dims left = at, right = at;
    // Several batches in a row may share a factor.
    for (std::size_t d = 0; d + 2 < rank; ++d) {
      left[d] = at[d] * graph_.tensors[o.inputs[0]].dims[d] / all[d];
      right[d] = at[d] * graph_.tensors[o.inputs[1]].dims[d] / all[d];
    }
    double sum = 0;
    for (std::int64_t k = 0; k < graph_.tensors[o.inputs[0]].dims[rank - 1]; ++k) {
      left[rank - 1] = right[rank - 2] = k;
      const double x = element(o.inputs[0], left);
      sum += x * element(o.inputs[1], right);
    }
    return sum;
  }

  double pointwise(const Operation& o, const Dims& at) {
    const double x = element(o.inputs[0], at);
    const double y = o.inputs.size() > 1 ? element(o.inputs[1], at) : 0;
    switch (o.pointwise) {
    case Pointwise::kAdd:
      return x + y;
    case Pointwise::kSubtract:
      return x - y;
    case Pointwise::kMultiply:
      return x * y;
    case Pointwise::kDivide:
      return x / y;
    case Pointwise::kMaximum:
      return std::max(x, y);
    case Pointwise::kReciprocal:
      return 1 / x;
    case Pointwise::kGelu:
      return 0.5 * x * (1 + std::erf(x * std::sqrt(0.5)));
    case Pointwise::kGeluByTanh:
      return 0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
    case Pointwise::kSwish:
      return x / (1 + std::exp(-x));
    case Pointwise::kFunction:
      break;
    }
    const double arguments[] = {x, y};
    return ops::evaluate(o.function, std::span(arguments).first(o.inputs.size()));
  }

  double reduction(const Operation& o, const Dims& at) {
    const Dims& from = graph_.tensors[o.inputs[0]].dims;
    const Dims& to = graph_.tensors[o.output].dims;
    Dims loops(from.size(), 1);
    for (std::size_t d = 0; d < from.size(); ++d)
      if (to[d] == 1) loops[d] = from[d];
    const bool adds = o.reduction == Reduction::kSum;
    double result = adds ? 0 : -std::numeric_limits<double>::infinity();
    for_each_index(loops, [&](const Dims& loop) {
      Dims position = at;
      for (std::size_t d = 0; d < at.size(); ++d) position[d] += loop[d];
      const double x = element(o.inputs[0], position);
      result = adds ? result + x : std::max(result, x);
    });
    return result;
  }

  double pool(const Operation& o, const Dims& at) {
    double sum = 0, largest = -std::numeric_limits<double>::infinity(), count = 0;
    for_each_in_window(o, at, [&](const Dims& position, const Dims&, bool is_inside) {
      if (is_inside || o.counts_pad) ++count;
      if (!is_inside) return;
      const double x = element(o.inputs[0], position);
      sum += x;
      largest = std::max(largest, x);
    });
    return o.reduction == Reduction::kMaximum ? largest : sum / count;
  }

  double norm(const Operation& o, const Dims& at) {
    const Dims& dims = graph_.tensors[o.inputs[0]].dims;
    const bool is_layer = o.norm == Norm::kLayer;
    double mean = 0, square = 0;
    Dims position = at;
    const auto count = static_cast<double>(dims[1]);
    for (position[1] = 0; position[1] < dims[1]; ++position[1])
      mean += is_layer ? element(o.inputs[0], position) / count : 0;
    for (position[1] = 0; position[1] < dims[1]; ++position[1])
      square += std::pow(element(o.inputs[0], position) - mean, 2) / count;
    const double epsilon = element(o.inputs.back(), at), x = element(o.inputs[0], at);
    const double y = (x - mean) / std::sqrt(square + epsilon) * element(o.inputs[1], at);
    return is_layer ? y + element(o.inputs[2], at) : y;
  }

  const OperationGraph& graph_;
  TensorValues& values_;
  std::vector<std::vector<double>> own_;  // of intermediate tensors
  double number_ = 0;
};

double& matrix_element(const StridedMatrix& m, TensorValues& values, std::int64_t batch,
                       std::int64_t row, std::int64_t column) {
  if (m.is_transposed) std::swap(row, column);
  return values.at(m.id).at(
      static_cast<std::size_t>(m.offset + batch * m.batch_stride + row + column * m.leading));
}

}  // namespace

TensorValues all_values(const core::Graph& graph) {
  std::vector<core::TensorId> ids;
  for (std::size_t t = 0; t < graph.tensor_bound(); ++t)
    if (graph.contains(core::TensorId(t))) ids.emplace_back(t);
  core::GraphBuilder builder(graph);
  builder.set_outputs(ids);
  const core::Graph all = *std::move(builder).finish();
  const auto values = runtime::test::expected(all, runtime::random_inputs(all, 1));
  TensorValues result;
  for (std::size_t k = 0; k < ids.size(); ++k) result.emplace(ids[k], values[k]);
  return result;
}

void run_operations(const OperationGraph& graph, TensorValues& values) {
  OperationGraph part = graph;
  for (std::int64_t run = 0; run < graph.runs; ++run) {
    for (std::size_t k = 0; k < part.tensors.size(); ++k)
      part.tensors[k].offset = graph.tensors[k].offset + run * graph.tensors[k].step;
    OperationRun(part, values).run();
  }
}

void run_product(const MatrixProduct& p, TensorValues& values) {
  Dims outer;
  for (const OuterLoop& loop : p.outer) outer.push_back(loop.size);
  for_each_index(outer, [&](const Dims& around) {
    StridedMatrix left = p.left, right = p.right, result = p.result;
    std::optional<StridedMatrix> addend = p.addend;
    for (std::size_t k = 0; k < outer.size(); ++k) {
      left.offset += around[k] * p.outer[k].left;
      right.offset += around[k] * p.outer[k].right;
      result.offset += around[k] * p.outer[k].result;
      if (addend) addend->offset += around[k] * p.outer[k].addend;
    }
    for_each_index({p.batch, p.columns, p.rows}, [&](const Dims& at) {
      double sum = 0;
      for (std::int64_t k = 0; k < p.summed; ++k)
        sum += matrix_element(left, values, at[0], at[2], k) *
               matrix_element(right, values, at[0], k, at[1]);
      sum *= p.alpha;
      if (addend) sum += p.beta * matrix_element(*addend, values, at[0], at[2], at[1]);
      if (p.bias) sum += matrix_element(*p.bias, values, 0, at[2], 0);
      if (p.function == MatrixFunction::kRelu) sum = std::max(sum, 0.0);
      if (p.function == MatrixFunction::kGelu)
        sum = 0.5 * sum * (1 + std::tanh(0.7978845608028654 * (sum + 0.044715 * sum * sum * sum)));
      matrix_element(result, values, at[0], at[2], at[1]) = sum;
    });
  });
}

}  // namespace soapstone::gpu::test
