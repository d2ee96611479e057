// See pointwise.h.
#include "gpu/forms/pointwise.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace soapstone::gpu {
namespace {

using runtime::generated::RegionTensor;

using ops::Function;
using ops::evaluation::NodeKind;

double gelu(double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }
double gelu_by_tanh(double x) {
  constexpr double kRootOfTwoOverPi = 0.7978845608028654;
  return 0.5 * x * (1 + std::tanh(kRootOfTwoOverPi * (x + 0.044715 * x * x * x)));
}
double swish(double x) { return x / (1 + std::exp(-x)); }

bool has_library_function(Function function) {
  switch (function) {
  case Function::kSelect:
  case Function::kLess:
  case Function::kLessOrEqual:
  case Function::kEqual:
  case Function::kIsZero:
  case Function::kRound:
  case Function::kTruncate:
  case Function::kLog1p:
  case Function::kIsNan:
  case Function::kIsInfinite:
    return false;
  default:
    return true;
  }
}

class PointwiseBuilder {
 public:
  PointwiseBuilder(OperationDraft& draft, PointwiseRequest request)
      : draft_(draft), request_(std::move(request)), e_(request_.expression) {
    for (const FlatLoop& axis : request_.axes) dims_.push_back(axis.size);
  }

  core::Result<std::uint32_t> tensor_of(std::size_t node) {
    if (const auto found = request_.available.find(node); found != request_.available.end())
      return found->second;
    SOAPSTONE_ASSIGN_OR_RETURN(const std::uint32_t tensor, make(node));
    request_.available.emplace(node, tensor);
    return tensor;
  }

 private:
  core::Result<std::uint32_t> make(std::size_t node) {
    const FlatNode& n = e_.nodes[node];
    if (const auto known = known_function(e_, node)) {
      SOAPSTONE_ASSIGN_OR_RETURN(const std::uint32_t argument, tensor_of(known->argument));
      return apply(known->function, {argument});
    }
    if (const auto number = evaluate(e_, node, e_.nodes.size(), 0))
      return draft_.add_number(*number, dims_.size());
    switch (n.kind) {
    case NodeKind::kRead:
      return make_read(n);
    case NodeKind::kAdd:
      return chain(Pointwise::kAdd, n);
    case NodeKind::kMul:
      return chain(Pointwise::kMultiply, n);
    case NodeKind::kMax:
      if (!n.loops.empty() || n.is_conditional) break;
      return chain(Pointwise::kMaximum, n);
    case NodeKind::kInverse:
      return chain(Pointwise::kReciprocal, n);
    case NodeKind::kApply:
      if (!has_library_function(n.function)) break;
      return chain(Pointwise::kFunction, n);
    default:
      break;
    }
    return core::unsupported("a function that libraries do not have");
  }

  core::Result<std::uint32_t> make_read(const FlatNode& read) {
    const RegionTensor& facts = request_.region.tensors[read.tensor];
    if (facts.data_type != request_.data_type)
      return core::unsupported("elements of several types");
    GraphTensor tensor{facts.id, facts.data_type, {}, {}, read.position.constant, {}, false};
    for (const FlatLoop& axis : request_.axes) {
      const std::int64_t stride = read.position.coefficient(axis.variable);
      tensor.dims.push_back(stride == 0 ? 1 : axis.size);
      tensor.strides.push_back(stride);
    }
    // In another layout only a tensor of the result's shape or a row of numbers can be told.
    if (draft_.layout_of(facts.id) != runtime::Layout::kRowMajor) {
      if (tensor.dims != dims_) return core::unsupported("a repeated tensor with channels last");
      tensor.strides = runtime::strides_of(dims_, draft_.layout_of(facts.id));
    }
    return draft_.add(std::move(tensor));
  }

  /// Operations of two arguments one after the other, or one of one argument.
  core::Result<std::uint32_t> chain(Pointwise pointwise, const FlatNode& node) {
    std::vector<std::uint32_t> arguments;
    for (const std::uint32_t child : node.children) {
      SOAPSTONE_ASSIGN_OR_RETURN(const std::uint32_t argument, tensor_of(child));
      arguments.push_back(argument);
    }
    const bool is_n_ary = pointwise != Pointwise::kFunction && arguments.size() > 1;
    if (!is_n_ary) return apply(pointwise, std::move(arguments), node.function);
    std::uint32_t result = arguments[0];
    for (std::size_t k = 1; k < arguments.size(); ++k)
      result = apply(pointwise, {result, arguments[k]});
    return result;
  }

  std::uint32_t apply(Pointwise pointwise, std::vector<std::uint32_t> arguments,
                      Function function = Function::kRelu) {
    core::Dims dims(dims_.size(), 1);
    for (const std::uint32_t argument : arguments)
      for (std::size_t d = 0; d < dims.size(); ++d)
        dims[d] = std::max(dims[d], draft_.result().tensors[argument].dims[d]);
    Operation operation;
    operation.pointwise = pointwise;
    operation.function = function;
    operation.inputs = std::move(arguments);
    core::Dims strides =
        dims == dims_ ? request_.strides : runtime::strides_of(dims, runtime::Layout::kRowMajor);
    operation.output = draft_.add_virtual(request_.data_type, std::move(dims), std::move(strides));
    draft_.add(operation);
    return operation.output;
  }

  OperationDraft& draft_;
  PointwiseRequest request_;
  const FlatExpression& e_;
  core::Dims dims_;
};

}  // namespace

std::optional<std::size_t> sole_argument(const FlatExpression& expression, std::size_t node) {
  for (std::size_t argument = node; argument-- > 0;)
    if (expression.nodes[argument].kind != NodeKind::kNumber &&
        evaluate(expression, node, argument, 0.5) &&
        !evaluate(expression, argument, expression.nodes.size(), 0))
      return argument;
  return std::nullopt;
}

std::optional<KnownFunction> known_function(const FlatExpression& expression, std::size_t node) {
  constexpr std::array kPoints = {-4.0, -1.5, -0.5, 0.25, 1.0, 3.0};
  constexpr double kTolerance = 1e-6;
  if (expression.nodes[node].kind != NodeKind::kMul) return std::nullopt;
  const auto argument = sole_argument(expression, node);
  if (!argument) return std::nullopt;
  const auto is = [&](double (*known)(double)) {
    return std::ranges::all_of(kPoints, [&](double x) {
      const auto value = evaluate(expression, node, *argument, x);
      return value && std::fabs(*value - known(x)) <= kTolerance;
    });
  };
  if (is(gelu)) return KnownFunction{Pointwise::kGelu, *argument};
  if (is(gelu_by_tanh)) return KnownFunction{Pointwise::kGeluByTanh, *argument};
  if (is(swish)) return KnownFunction{Pointwise::kSwish, *argument};
  return std::nullopt;
}

core::Result<std::uint32_t> append_pointwise(OperationDraft& draft, PointwiseRequest request) {
  const std::size_t root = request.expression.root();
  return PointwiseBuilder(draft, std::move(request)).tensor_of(root);
}

}  // namespace soapstone::gpu
