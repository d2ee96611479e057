// Folding of operators that make tensors from shapes or few numbers, and of reductions; and the
// question which computations are worth folding because shapes come out of them.
#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "models/onnx/format/onnx_weights.h"
#include "models/onnx/shapes/fold_values.h"

namespace soapstone::models {
namespace folding {
namespace {

using core::DataType;
using core::Dims;
using Int = std::int64_t;

Outputs fold_shape(const FoldNode& node) {
  const auto dims = core::concrete(node.type(0).shape);
  if (!node.type(0).shape_known || !dims) return std::nullopt;
  const auto rank = static_cast<Int>(dims->size());
  const auto place = [rank](Int at) { return std::clamp<Int>(at < 0 ? at + rank : at, 0, rank); };
  const Int start = place(node.int_or("start", 0)), end = place(node.int_or("end", rank));
  Values result;
  for (Int i = start; i < end; ++i) result.ints.push_back((*dims)[static_cast<std::size_t>(i)]);
  result.dims = {static_cast<Int>(result.ints.size())};
  return std::vector{std::move(result)};
}

Outputs fold_size(const FoldNode& node) {
  const auto dims = core::concrete(node.type(0).shape);
  if (!node.type(0).shape_known || !dims) return std::nullopt;
  const auto count = core::checked_element_count(*dims);
  if (!count) return std::nullopt;
  return std::vector{Values{DataType::kInt64, {}, {*count}, {}}};
}

/// The only element of an input that is a whole number: sums of such reals are exact, in whatever
/// order a runtime takes them.
std::optional<Int> whole_number(const FoldNode& node, std::size_t k) {
  if (!node.has(k) || node.input(k).count() != 1) return std::nullopt;
  if (!node.input(k).is_real()) return node.input(k).ints[0];
  constexpr double kMostExact = 1 << 23;
  const double value = node.input(k).reals[0];
  if (!(std::fabs(value) < kMostExact) || value != std::floor(value)) return std::nullopt;
  return static_cast<Int>(value);
}

Outputs fold_range(const FoldNode& node) {
  const auto start = whole_number(node, 0), limit = whole_number(node, 1);
  const auto delta = whole_number(node, 2);
  if (!start || !limit || !delta || *delta == 0) return std::nullopt;
  Values result{node.input(0).type, {}, {}, {}};
  for (Int at = *start; *delta > 0 ? at < *limit : at > *limit;) {
    if (result.count() == static_cast<std::size_t>(kMostFoldedElements)) return std::nullopt;
    if (result.is_real())
      result.reals.push_back(static_cast<double>(at));
    else
      result.ints.push_back(at);
    if (__builtin_add_overflow(at, *delta, &at)) break;
  }
  result.dims = {static_cast<Int>(result.count())};
  return std::vector{std::move(result)};
}

Outputs fold_constant_of_shape(const FoldNode& node) {
  if (node.input(0).is_real()) return std::nullopt;
  Dims dims = node.input(0).ints;
  const auto count = bearable_count(dims);
  if (!count) return std::nullopt;
  const auto* given = node.attribute("value");
  if (!given) return std::nullopt;  // zeros of f32: `full` says it better
  onnx::TensorProto tensor = given->t();
  ExternalFiles none({});
  const auto literal = models::to_literal(tensor, none);
  if (!literal || (*literal)->count() != 1) return std::nullopt;
  const auto value = to_values(**literal);
  if (!value) return std::nullopt;
  return std::vector{take(*value, std::move(dims), std::vector<std::size_t>(*count, 0))};
}

template <class Combine>
Outputs reduce(const FoldNode& node, const Combine& combine) {
  const Values& x = node.input(0);
  if (x.is_real() || x.ints.empty()) return std::nullopt;
  const auto given = node.ints("axes", 1).value_or(std::vector<Int>());
  if (given.empty() && node.int_or("noop_with_empty_axes", 0) != 0) return std::vector{x};
  const auto axes = normal_axes(given, x.dims.size());
  if (!axes) return std::nullopt;
  const auto reduced = [&](std::size_t axis) {
    return axes->empty() || std::binary_search(axes->begin(), axes->end(), axis);
  };
  Dims ones = x.dims, kept;
  for (std::size_t i = 0; i < ones.size(); ++i) {
    if (reduced(i)) ones[i] = 1;
    if (!reduced(i) || node.int_or("keepdims", 1) != 0) kept.push_back(ones[i]);
  }
  const auto targets = broadcast_sources(ones, x.dims);
  std::vector<std::optional<Int>> sums(*bearable_count(ones));
  for (std::size_t i = 0; i < targets.size(); ++i) {
    auto& sum = sums[targets[i]];
    if (!sum)
      sum = x.ints[i];
    else if (Int next; combine(*sum, x.ints[i], &next))
      sum = next;
    else
      return std::nullopt;
  }
  Values result{x.type, std::move(kept), {}, {}};
  for (const auto& sum : sums) result.ints.push_back(*sum);
  return std::vector{std::move(result)};
}

Outputs fold_reduce_prod(const FoldNode& node) {
  return reduce(node, [](Int a, Int b, Int* out) { return !__builtin_mul_overflow(a, b, out); });
}
Outputs fold_reduce_sum(const FoldNode& node) {
  return reduce(node, [](Int a, Int b, Int* out) { return !__builtin_add_overflow(a, b, out); });
}
Outputs fold_reduce_max(const FoldNode& node) {
  return reduce(node, [](Int a, Int b, Int* out) {
    *out = std::max(a, b);
    return true;
  });
}
Outputs fold_reduce_min(const FoldNode& node) {
  return reduce(node, [](Int a, Int b, Int* out) {
    *out = std::min(a, b);
    return true;
  });
}

Outputs fold_non_zero(const FoldNode& node) {
  const Values& x = node.input(0);
  if (x.is_real()) return std::nullopt;
  std::vector<Dims> found;
  std::size_t i = 0;
  each_index(x.dims, [&](const Dims& at) {
    if (x.ints[i++] != 0) found.push_back(at);
  });
  Values result;
  result.dims = {static_cast<Int>(x.dims.size()), static_cast<Int>(found.size())};
  for (std::size_t axis = 0; axis < x.dims.size(); ++axis) {
    for (const Dims& at : found) result.ints.push_back(at[axis]);
  }
  return std::vector{std::move(result)};
}

Outputs fold_trilu(const FoldNode& node) {
  Values x = node.input(0);
  if (x.dims.size() < 2 || x.is_real()) return std::nullopt;
  const bool upper = node.int_or("upper", 1) != 0;
  if (node.has(1) && node.input(1).count() != 1) return std::nullopt;
  // Beyond this, all diagonals are on one side; and the difference below cannot overflow.
  const Int k = node.has(1) ? std::clamp<Int>(node.input(1).ints[0], -kMostFoldedElements,
                                              kMostFoldedElements)
                            : 0;
  std::size_t i = 0;
  each_index(x.dims, [&](const Dims& at) {
    const Int diagonal = at.back() - at[at.size() - 2];
    if (upper ? diagonal < k : diagonal > k) x.ints[i] = 0;
    ++i;
  });
  return std::vector{std::move(x)};
}

}  // namespace

FoldFunction find_creation(std::string_view op_type) {
  static constexpr std::pair<std::string_view, FoldFunction> kTable[] = {
      {"Shape", fold_shape},
      {"Size", fold_size},
      {"Range", fold_range},
      {"ConstantOfShape", fold_constant_of_shape},
      {"ReduceProd", fold_reduce_prod},
      {"ReduceSum", fold_reduce_sum},
      {"ReduceMax", fold_reduce_max},
      {"ReduceMin", fold_reduce_min},
      {"NonZero", fold_non_zero},
      {"Trilu", fold_trilu},
  };
  for (const auto& [name, function] : kTable) {
    if (name == op_type) return function;
  }
  return nullptr;
}

}  // namespace folding

namespace {

/// Whether input k of the operator says how large or where something is.
bool is_parameter(const onnx::NodeProto& node, int k) {
  if (!node.domain().empty()) return false;
  const std::string& type = node.op_type();
  static constexpr std::string_view kFromFirst[] = {"ConstantOfShape", "Range"};
  static constexpr std::string_view kFromSecond[] = {
      "Reshape",   "Expand",          "Tile",         "Slice",           "Pad",        "Unsqueeze",
      "Squeeze",   "Split",           "Resize",       "Upsample",        "TopK",       "OneHot",
      "ReduceSum", "ReduceMean",      "ReduceMax",    "ReduceMin",       "ReduceProd", "ReduceL1",
      "ReduceL2",  "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp", "Clip",       "CumSum",
      "Trilu",     "Dropout"};
  const auto lists = [&](const auto& names) {
    return std::find(std::begin(names), std::end(names), type) != std::end(names);
  };
  return lists(kFromFirst) || (k >= 1 && lists(kFromSecond));
}

}  // namespace

std::vector<bool> feed_shapes(const onnx::GraphProto& graph, std::span<const int> order) {
  std::vector<bool> feeds(static_cast<std::size_t>(graph.node_size()));
  std::unordered_set<std::string> parameters;
  for (auto at = order.rbegin(); at != order.rend(); ++at) {
    const onnx::NodeProto& node = graph.node(*at);
    const bool needed = std::any_of(node.output().begin(), node.output().end(),
                                    [&](const auto& name) { return parameters.contains(name); });
    feeds[static_cast<std::size_t>(*at)] = needed;
    for (int k = 0; k < node.input_size(); ++k) {
      if (is_parameter(node, k) || (needed && has_fold(node))) parameters.insert(node.input(k));
    }
  }
  return feeds;
}

}  // namespace soapstone::models
