// See taso_side.h. One function an operator: what it demands of the sizes, and how we write it.
#include "rules/taso/taso_side.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace soapstone::rules::taso {

using core::Result;
using core::Status;

namespace {

constexpr std::size_t kNoAxis = 1u << 20;
constexpr std::int64_t kLargestNumber = 1000;

/// The window along height (0) and width (1), and the padding before and after.
struct WindowText {
  std::array<Sliding, 2> axis;
  std::vector<Polynomial> kernel, strides, pads;
};

/// SAME is ONNX's SAME_UPPER: an odd zero goes behind.
Result<WindowText> window_of(const Operator& op) {
  const std::int64_t pad = op.get(Key::kPad, 1);
  if (pad != 0 && pad != 1) return core::unsupported(fmt::format("pad mode {}", pad));
  WindowText text;
  std::array<std::int64_t, 2> before{};
  for (std::size_t d = 0; d < 2; ++d) {
    const Key kernel = d == 0 ? Key::kKernelH : Key::kKernelW;
    const Key stride = d == 0 ? Key::kStrideH : Key::kStrideW;
    Sliding& w = text.axis[d];
    w.kernel = op.get(kernel, 0);
    w.stride = op.get(stride, 1);
    if (w.kernel < 1 || w.kernel > kLargestNumber || w.stride < 1 || w.stride > kLargestNumber)
      return core::unsupported(fmt::format("a kernel of {} with stride {}", w.kernel, w.stride));
    if (pad == 0 && w.stride > 1 && w.kernel > 1)
      return core::unsupported("SAME padding with a stride depends on the remainder of the size");
    w.pads = pad == 0 ? w.kernel - 1 : 0;
    before[d] = w.pads / 2;
    text.kernel.emplace_back(w.kernel);
    text.strides.emplace_back(w.stride);
  }
  text.pads = {before[0], before[1], text.axis[0].pads - before[0], text.axis[1].pads - before[1]};
  return text;
}

/// Digits to the base of the rank, the first dimension first.
Result<std::vector<std::size_t>> permutation_of(const Operator& op, std::size_t rank) {
  std::int64_t rest = op.get(Key::kPermutation, -1);
  std::vector<std::size_t> permutation(rank);
  std::vector<bool> seen(rank);
  for (std::size_t d = rank; d-- > 0 && rest >= 0; rest /= static_cast<std::int64_t>(rank)) {
    permutation[d] = static_cast<std::size_t>(rest) % rank;
    seen[permutation[d]] = true;
  }
  if (rest != 0 || std::ranges::find(seen, false) != seen.end())
    return core::unsupported(
        fmt::format("permutation {} of {} dimensions", op.get(Key::kPermutation, -1), rank));
  return permutation;
}

Result<std::size_t> axis_of(const Operator& op, std::size_t rank) {
  const std::int64_t axis = op.get(Key::kAxis, -1);
  if (axis < 0 || axis >= static_cast<std::int64_t>(rank))
    return core::unsupported(fmt::format("axis {} of {} dimensions", axis, rank));
  return static_cast<std::size_t>(axis);
}

Statement::Attribute number(std::string name, std::int64_t value) {
  return {std::move(name), {}, std::to_string(value)};
}

}  // namespace

const Value& Side::value(TensorRef ref) const {
  if (ref.is_input()) return inputs_.find(ref.op)->second;
  return values_[static_cast<std::size_t>(ref.op)][static_cast<std::size_t>(ref.output)];
}

Status Side::require_inputs(const Operator& op, std::size_t count, std::string_view name) const {
  if (op.inputs.size() == count) return core::Done{};
  return core::unsupported(fmt::format("{} of {} inputs", name, op.inputs.size()));
}

Status Side::equate(const Axes& a, const Axes& b, std::size_t except) {
  if (a.size() != b.size()) return core::unsupported("operands of different ranks");
  for (std::size_t d = 0; d < a.size(); ++d) {
    if (d == except) continue;
    SOAPSTONE_RETURN_IF_ERROR(sizes_.equate(a[d].size, b[d].size));
  }
  return core::Done{};
}

std::string Side::name_of(std::size_t output, std::size_t outputs) const {
  const auto op = static_cast<std::int32_t>(values_.size());
  const auto known = result_names_.find({op, static_cast<std::int32_t>(output)});
  if (known != result_names_.end()) return known->second;
  return outputs == 1 ? fmt::format("{}{}", prefix_, op)
                      : fmt::format("{}{}_{}", prefix_, op, output);
}

Status Side::finish(const Operator& op, Statement statement, Axes axes) {
  constexpr std::array<std::string_view, 4> kActivations = {"", "sigmoid", "relu", "tanh"};
  const auto activation = static_cast<std::size_t>(op.get(Key::kActivation, 0));
  if (activation >= kActivations.size())
    return core::unsupported(fmt::format("activation {}", op.get(Key::kActivation, 0)));
  const std::string name = name_of(0, 1);
  const std::string inner = activation == 0 ? name : name + "_linear";
  statement.results = {inner};
  statements_.push_back(std::move(statement));
  if (activation != 0)
    statements_.push_back({{name}, std::string(kActivations[activation]), {inner}, {}});
  values_.push_back({{name, std::move(axes)}});
  return core::Done{};
}

Result<std::int64_t> Side::group_of(const Operator& op, const Polynomial& channels,
                                    const Polynomial& of_weight) {
  constexpr std::int64_t kMostGroups = 16;
  std::int64_t group = op.get(Key::kGroup, 1);
  if (group < 1 || group > kMostGroups) return core::unsupported(fmt::format("{} groups", group));
  const Polynomial x = sizes_.resolve(channels), w = sizes_.resolve(of_weight);
  for (std::int64_t g = 2; groups_ && g <= kMostGroups; ++g)
    if (x == w * g) group = g;
  SOAPSTONE_RETURN_IF_ERROR(sizes_.equate(x, w * group));
  return group;
}

Status Side::add_conv(const Operator& op) {
  SOAPSTONE_RETURN_IF_ERROR(require_inputs(op, 2, "convolution"));
  SOAPSTONE_ASSIGN_OR_RETURN(const WindowText window, window_of(op));
  const Axes &x = axes(op, 0), &w = axes(op, 1);
  SOAPSTONE_ASSIGN_OR_RETURN(const auto group, group_of(op, x[1].size, w[1].size));
  Axes result{x[0], w[0]};
  for (std::size_t d = 0; d < 2; ++d) {
    SOAPSTONE_RETURN_IF_ERROR(sizes_.equate(w[d + 2].size, window.kernel[d]));
    result.push_back({sizes_.windows(x[d + 2].size, window.axis[d]), x[d + 2].parts});
  }
  Statement conv{{}, "conv", {value(op.inputs[0]).name, value(op.inputs[1]).name}, {}};
  conv.attributes = {{"strides", window.strides, {}}, {"pads", window.pads, {}}};
  if (group > 1) conv.attributes.push_back(number("group", group));
  return finish(op, std::move(conv), std::move(result));
}

Status Side::add_pool(const Operator& op, std::string name) {
  SOAPSTONE_RETURN_IF_ERROR(require_inputs(op, 1, name));
  SOAPSTONE_ASSIGN_OR_RETURN(const WindowText window, window_of(op));
  Axes result = axes(op, 0);
  for (std::size_t d = 0; d < 2; ++d)
    result[d + 2].size = sizes_.windows(result[d + 2].size, window.axis[d]);
  Statement pool{{}, std::move(name), {value(op.inputs[0]).name}, {}};
  pool.attributes = {
      {"kernel", window.kernel, {}}, {"strides", window.strides, {}}, {"pads", window.pads, {}}};
  return finish(op, std::move(pool), std::move(result));
}

Status Side::add_matmul(const Operator& op) {
  SOAPSTONE_RETURN_IF_ERROR(require_inputs(op, 2, "matmul"));
  const Axes &a = axes(op, 0), &b = axes(op, 1);
  SOAPSTONE_RETURN_IF_ERROR(sizes_.equate(a[1].size, b[0].size));
  return finish(op, {{}, "matmul", {value(op.inputs[0]).name, value(op.inputs[1]).name}, {}},
                {a[0], b[1]});
}

Status Side::add_elementwise(const Operator& op, std::string name) {
  const bool binary = name == "add" || name == "mul";
  SOAPSTONE_RETURN_IF_ERROR(require_inputs(op, binary ? 2 : 1, name));
  Axes result = axes(op, 0);
  if (binary && op.type != OpType::kScalarMul) {
    const Axes& other = axes(op, 1);
    SOAPSTONE_RETURN_IF_ERROR(equate(result, other, kNoAxis));
    for (std::size_t d = 0; d < result.size(); ++d)
      if (!result[d].parts) result[d].parts = other[d].parts;
  }
  Statement statement{{}, std::move(name), {}, {}};
  for (TensorRef input : op.inputs) statement.operands.push_back(value(input).name);
  return finish(op, std::move(statement), std::move(result));
}

Status Side::add_batch_norm(const Operator& op) {
  SOAPSTONE_RETURN_IF_ERROR(require_inputs(op, 5, "batch normalization"));
  Statement statement{{}, "batch_norm", {}, {}};
  for (std::size_t k = 0; k < 5; ++k) {
    statement.operands.push_back(value(op.inputs[k]).name);
    if (k == 0) continue;
    SOAPSTONE_RETURN_IF_ERROR(sizes_.equate(axes(op, k)[0].size, axes(op, 0)[1].size));
  }
  return finish(op, std::move(statement), axes(op, 0));
}

Status Side::add_concat(const Operator& op) {
  if (op.inputs.empty()) return core::unsupported("concat of nothing");
  Axes result = axes(op, 0);
  SOAPSTONE_ASSIGN_OR_RETURN(const std::size_t axis, axis_of(op, result.size()));
  auto parts = std::make_shared<std::vector<Axis>>();
  Statement statement{{}, "concat", {}, {number("axis", static_cast<std::int64_t>(axis))}};
  result[axis].size = 0;
  for (std::size_t k = 0; k < op.inputs.size(); ++k) {
    SOAPSTONE_RETURN_IF_ERROR(equate(result, axes(op, k), axis));
    parts->push_back(axes(op, k)[axis]);
    result[axis].size += parts->back().size;
    statement.operands.push_back(value(op.inputs[k]).name);
  }
  result[axis].parts = std::move(parts);
  return finish(op, std::move(statement), std::move(result));
}

Status Side::add_split(const Operator& op) {
  SOAPSTONE_RETURN_IF_ERROR(require_inputs(op, 1, "split"));
  const Axes& whole = axes(op, 0);
  SOAPSTONE_ASSIGN_OR_RETURN(const std::size_t axis, axis_of(op, whole.size()));
  const auto& parts = whole[axis].parts;
  const std::int64_t count = op.get(Key::kOutputCount, 0);
  if (!parts || static_cast<std::int64_t>(parts->size()) != count)
    return core::unsupported(
        fmt::format("split into {} along axis {}, which no concat of as many made", count, axis));
  Statement statement{{}, "split", {value(op.inputs[0]).name}, {}};
  std::vector<Polynomial> sizes;
  std::vector<Value> results;
  for (std::size_t k = 0; k < parts->size(); ++k) {
    Axes part = whole;
    part[axis] = (*parts)[k];
    sizes.push_back(part[axis].size);
    results.push_back({name_of(k, parts->size()), std::move(part)});
    statement.results.push_back(results.back().name);
  }
  statement.attributes = {number("axis", static_cast<std::int64_t>(axis)), {"sizes", sizes, {}}};
  statements_.push_back(std::move(statement));
  values_.push_back(std::move(results));
  return core::Done{};
}

Status Side::add_transpose(const Operator& op) {
  SOAPSTONE_RETURN_IF_ERROR(require_inputs(op, 1, "transpose"));
  const Axes& x = axes(op, 0);
  SOAPSTONE_ASSIGN_OR_RETURN(const auto permutation, permutation_of(op, x.size()));
  Axes result;
  std::vector<Polynomial> perm;
  for (std::size_t d : permutation) {
    result.push_back(x[d]);
    perm.emplace_back(static_cast<std::int64_t>(d));
  }
  return finish(op, {{}, "transpose", {value(op.inputs[0]).name}, {{"perm", perm, {}}}},
                std::move(result));
}

Status Side::add_enlarge(const Operator& op) {
  SOAPSTONE_RETURN_IF_ERROR(require_inputs(op, 1, "enlarge"));
  SOAPSTONE_ASSIGN_OR_RETURN(const WindowText window, window_of(op));
  Axes result = axes(op, 0);
  for (std::size_t d = 0; d < 2; ++d) result[d + 2] = {window.kernel[d], nullptr};
  return finish(op, {{}, "enlarge", {value(op.inputs[0]).name}, {{"kernel", window.kernel, {}}}},
                std::move(result));
}

/// Adds a tensor of ones, as large as its readers want it.
Status Side::add_ones(std::size_t rank) {
  Axes result(rank);
  std::vector<Polynomial> shape;
  for (Axis& axis : result) shape.push_back(axis.size = sizes_.fresh());
  return finish({}, {{}, "full", {}, {{"shape", shape, {}}, {"value", {}, "1.0"}}},
                std::move(result));
}

Status Side::add(const Operator& op, const std::vector<std::size_t>& ranks) {
  switch (op.type) {
  case OpType::kConv:
    return add_conv(op);
  case OpType::kMaxPool:
    return add_pool(op, "max_pool");
  case OpType::kAveragePool:
    return add_pool(op, "average_pool");
  case OpType::kDropout:
    SOAPSTONE_RETURN_IF_ERROR(require_inputs(op, 1, "dropout"));
    values_.push_back({value(op.inputs[0])});
    return core::Done{};
  case OpType::kRelu:
    return add_elementwise(op, "relu");
  case OpType::kSigmoid:
    return add_elementwise(op, "sigmoid");
  case OpType::kTanh:
    return add_elementwise(op, "tanh");
  case OpType::kAdd:
    return add_elementwise(op, "add");
  case OpType::kMul:
  case OpType::kScalarMul:
    return add_elementwise(op, "mul");
  case OpType::kBatchNorm:
    return add_batch_norm(op);
  case OpType::kConcat:
    return add_concat(op);
  case OpType::kSplit:
    return add_split(op);
  case OpType::kTranspose:
    return add_transpose(op);
  case OpType::kMatmul:
    return add_matmul(op);
  case OpType::kEnlarge:
    return add_enlarge(op);
  case OpType::kConstantOne:
    SOAPSTONE_RETURN_IF_ERROR(require_inputs(op, 0, "a constant"));
    return add_ones(ranks[0]);
  default:
    return core::unsupported("no operator of ours computes this");
  }
}

}  // namespace soapstone::rules::taso
