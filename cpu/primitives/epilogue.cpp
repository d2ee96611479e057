// See epilogue.h.
#include "cpu/primitives/epilogue.h"

#include <algorithm>
#include <array>

namespace soapstone::cpu {
namespace {

using core::Node;
using core::TensorId;
using dnnl::algorithm;
using runtime::EpilogueKind;
using runtime::Fusion;

float real(const Node& node, std::string_view attribute) {
  return static_cast<float>(node.attributes.get_real(attribute));
}

/// A function of one argument as oneDNN has it.
struct Function {
  std::string_view op;
  dnnl::algorithm algorithm;
  std::optional<Fusion> level;  // as epilogue_level() says
};

/// Behind a contraction oneDNN's relu and clip take NaN for their bound, and exp takes it for ∞:
/// kernels watch for that (cpu/base/nan_watch.h).
constexpr std::array<Function, 12> kFunctions = {{
    {"relu", algorithm::eltwise_relu, Fusion::kActivation},
    {"sigmoid", algorithm::eltwise_logistic, Fusion::kActivation},
    {"tanh", algorithm::eltwise_tanh, Fusion::kActivation},
    {"clip", algorithm::eltwise_clip, Fusion::kActivation},
    {"leaky_relu", algorithm::eltwise_relu, Fusion::kActivation},
    {"hard_swish", algorithm::eltwise_hardswish, Fusion::kFull},
    {"gelu", algorithm::eltwise_gelu_erf, Fusion::kFull},
    {"abs", algorithm::eltwise_abs, std::nullopt},
    {"sqrt", algorithm::eltwise_sqrt, std::nullopt},
    {"exp", algorithm::eltwise_exp, std::nullopt},
    {"neg", algorithm::eltwise_linear, std::nullopt},
    {"hard_sigmoid", algorithm::eltwise_clip, Fusion::kFull},
}};

const Function* find_function(std::string_view op) {
  const auto at = std::ranges::find(kFunctions, op, &Function::op);
  return at == kFunctions.end() ? nullptr : &*at;
}

/// oneDNN's x·f(x). Its hardswish is that of hard_sigmoid's parameters there alone.
std::optional<algorithm> gate_algorithm(const Node& function) {
  if (function.op->name == "sigmoid") return algorithm::eltwise_swish;
  if (function.op->name != "hard_sigmoid") return std::nullopt;
  const bool is_standard = real(function, "alpha") == 1.0F / 6 && real(function, "beta") == 0.5F;
  return is_standard ? std::optional(algorithm::eltwise_hardswish) : std::nullopt;
}

/// None: it computes no function of the result alone.
std::optional<algorithm> algorithm_of(const core::Graph& graph, const runtime::EpilogueStep& step) {
  if (step.kind == EpilogueKind::kGate) return gate_algorithm(graph.node(step.gate));
  if (step.kind != EpilogueKind::kActivation) return std::nullopt;
  return find_function(graph.node(step.node).op->name)->algorithm;
}

/// True if the step adds a number to each column of a product of matrices.
bool adds_row(const core::Graph& graph, const runtime::EpilogueStep& step) {
  const Node& node = graph.node(step.node);
  if (step.kind != EpilogueKind::kBias || node.op->name != "add") return false;
  const core::Shape& operand = graph.tensor(step.operand).type.shape;
  return !operand.empty() && operand.back() == graph.tensor(node.outputs[0]).type.shape.back();
}

algorithm binary_algorithm(const std::string& op) {
  if (op == "add") return algorithm::binary_add;
  if (op == "sub") return algorithm::binary_sub;
  return op == "mul" ? algorithm::binary_mul : algorithm::binary_div;
}

}  // namespace

std::optional<Fusion> epilogue_level(std::string_view op) {
  const Function* const function = find_function(op);
  return function ? function->level : std::nullopt;
}

bool has_gate(const Node& function) { return gate_algorithm(function).has_value(); }

bool sums_onto_residual(const core::Graph& graph, const runtime::Launch& launch) {
  const auto& steps = launch.epilogue;
  const auto at = std::ranges::find(steps, EpilogueKind::kResidual, &runtime::EpilogueStep::kind);
  const core::OperandRole role = graph.node(launch.head).op->operand_role(0);
  if (at == steps.end()) return false;
  if (role == core::OperandRole::kImage) return true;
  if (role != core::OperandRole::kLeftMatrix) return false;  // an einsum, see einsum.cpp
  const auto before = at - steps.begin();
  return before == 0 || (before == 1 && adds_row(graph, steps[0]));
}

bool may_lose_nan(const runtime::Launch& launch) {
  return std::ranges::any_of(launch.epilogue, [](const runtime::EpilogueStep& step) {
    return step.kind == EpilogueKind::kActivation || step.kind == EpilogueKind::kGate;
  });
}

bool may_share_epilogue(const core::Graph& graph, const runtime::EpilogueStep& a,
                        const runtime::EpilogueStep& b) {
  const Node &first = graph.node(a.function()), &second = graph.node(b.function());
  if (a.kind == b.kind && first.op == second.op && first.attributes == second.attributes)
    return true;
  const auto of_first = algorithm_of(graph, a), of_second = algorithm_of(graph, b);
  return !of_first || !of_second || *of_first != *of_second;
}

bool may_mistake_channels(const core::Graph& graph, const runtime::Launch& so_far,
                          const runtime::EpilogueStep& step) {
  constexpr std::size_t kRank = 5;
  const Node& head = graph.node(so_far.head);
  if (head.op->name != "conv" || graph.tensor(head.outputs[0]).type.shape.size() != kRank ||
      (step.kind != EpilogueKind::kBias && step.kind != EpilogueKind::kScale))
    return false;
  const bool is_bias = step.kind == EpilogueKind::kBias && head.inputs.size() == 2 &&
                       so_far.epilogue.empty() && graph.node(step.node).op->name == "add";
  return !is_bias && std::ranges::any_of(graph.tensor(step.operand).type.shape,
                                         [](const auto& size) { return size != 1; });
}

std::optional<EltwiseFunction> eltwise_function(const Node& node) {
  const std::string& op = node.op->name;
  const Function* const function = find_function(op);
  if (!function) return std::nullopt;
  EltwiseFunction result{function->algorithm};
  if (op == "leaky_relu") result.alpha = real(node, "alpha");
  if (op == "clip") result = {function->algorithm, real(node, "min"), real(node, "max")};
  if (op == "neg") result.alpha = -1;
  if (op == "hard_sigmoid") result.beta = 1;  // of a linear function, see add_function
  if (op == "gelu" && node.attributes.get_text("approximate") == "tanh")
    result.algorithm = algorithm::eltwise_gelu_tanh;
  return result;
}

Epilogue::Epilogue(const KernelRequest& request, TensorId head_bias, const core::Dims& dims,
                   std::size_t channel_axis)
    : dims_(dims), channel_axis_(channel_axis) {
  const bool integers = request.factors == core::DataType::kInt8;
  if (integers) steps_.append_binary(algorithm::binary_mul, scale(dims.size()));
  if (head_bias.valid() && integers) {
    core::Dims channels(dims.size(), 1);
    channels[channel_axis] = dims[channel_axis];
    add_operand(algorithm::binary_add, channels, request.number(head_bias));
  } else if (head_bias.valid()) {
    bias_ = head_bias;
  }
  bool first = !integers;
  for (const runtime::EpilogueStep& step : request.launch.epilogue) {
    const Node& node = request.graph.node(step.node);
    if (step.kind == EpilogueKind::kActivation) {
      add_function(node);
    } else if (step.kind == EpilogueKind::kGate) {
      add_gate(request.graph.node(step.gate));
    } else if (step.kind == EpilogueKind::kResidual && integers && request.op() == "matmul") {
      // Before the scale, which comes first, is where oneDNN's products of integers could add it.
      add_operand(algorithm::binary_add, dims_, request.number(step.operand));
    } else if (step.kind == EpilogueKind::kResidual &&
               sums_onto_residual(request.graph, request.launch)) {
      steps_.append_sum(1.0f);
      residual_ = request.number(step.operand);
    } else if (first && !bias_ && node.op->name == "add" && step.kind == EpilogueKind::kBias &&
               core::element_count(request.dims(step.operand)) == dims_[channel_axis_]) {
      bias_ = step.operand;
    } else {
      add_binary(request, step);
    }
    first = false;
  }
}

void Epilogue::add_function(const Node& node) {
  const auto function = eltwise_function(node);
  CHECK(function, "the fusion rules admit " + node.op->name + ", oneDNN has no function for it");
  if (node.op->name == "hard_sigmoid")
    append_function(steps_, algorithm::eltwise_linear, real(node, "alpha"), real(node, "beta"));
  append_function(steps_, function->algorithm, function->alpha, function->beta);
}

void Epilogue::add_gate(const Node& function) {
  const auto algorithm = gate_algorithm(function);
  CHECK(algorithm, "the fusion rules admit gates that oneDNN has, not by " + function.op->name);
  append_function(steps_, *algorithm, 1, 0);
}

void Epilogue::add_binary(const KernelRequest& request, const runtime::EpilogueStep& step) {
  const Node& node = request.graph.node(step.node);
  core::Dims dims(dims_.size(), 1);
  const std::int64_t count = core::element_count(request.dims(step.operand));
  if (step.kind == EpilogueKind::kResidual) {
    dims = dims_;
  } else if (step.kind == EpilogueKind::kBatchBias) {
    dims = dims_;
    dims[dims.size() - 2] = 1;  // the rows of a product
  } else if (count != 1) {
    dims[channel_axis_] = count;
  }
  add_operand(binary_algorithm(node.op->name), dims, request.number(step.operand));
}

void Epilogue::add_operand(dnnl::algorithm algorithm, const core::Dims& dims, std::size_t input) {
  const Descriptor descriptor = describe(dims, runtime::Layout::kRowMajor);
  const int position = steps_.len();
  steps_.append_binary(algorithm, descriptor);
  operands_.push_back(
      {DNNL_ARG_ATTR_MULTIPLE_POST_OP(position) | DNNL_ARG_SRC_1, descriptor, input});
}

}  // namespace soapstone::cpu
