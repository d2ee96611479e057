// Elementwise operators and casts by our own loops, with whatever follows them in the launch:
// blocks of elements that stay in the first-level cache go through all steps.
#include <algorithm>
#include <array>
#include <type_traits>

#include "cpu/base/kernel_request.h"
#include "cpu/base/threads.h"
#include "cpu/base/vector_functions.h"
#include "cpu/loops/broadcast_reader.h"
#include "ops/definition/registry.h"

namespace soapstone::cpu {
namespace {

using core::DataType;
using core::Node;
using core::TensorId;

constexpr std::size_t kElementBlock = 2048;
constexpr std::size_t kMaxOperands = 3;

template <class T>
struct Operand {
  std::size_t input;  ///< Number in Launch::inputs.
  BroadcastReader<T> reader;
};

/// One operator on a block. The value that the step before it made, if any, is argument `chain`.
template <class T>
struct Step {
  UnaryLoop<T> unary = nullptr;
  BinaryLoop<T> binary = nullptr;  ///< Neither: a selection. Both: binary(x, unary(x)).
  float a = 0, b = 0;
  std::vector<Operand<T>> operands;
  std::size_t chain = kMaxOperands;
};

template <class T>
class ElementwiseKernel final : public runtime::HostKernel {
 public:
  ElementwiseKernel(const KernelRequest& request, std::vector<Step<T>> steps)
      : threads_(request.threads), inputs_(request), steps_(std::move(steps)),
        type_(request.output_type().data_type), count_(static_cast<std::size_t>(core::element_count(
                                                    request.dims(request.launch.outputs[0])))) {}

  core::Status run(runtime::HostInputs inputs, runtime::HostOutputs outputs, std::byte*) override {
    constexpr std::size_t kGrain = 16 * kElementBlock;
    parallel_ranges(threads_, count_, kGrain, [&](std::size_t begin, std::size_t end) {
      for (; begin < end; begin += kElementBlock)
        run_block(inputs, outputs[0], begin, std::min(kElementBlock, end - begin));
    });
    return core::Done{};
  }
  std::string implementation() const override { return "own loops"; }

 private:
  void run_block(runtime::HostInputs inputs, std::byte* output, std::size_t begin,
                 std::size_t count) const {
    alignas(64) std::array<std::array<T, kElementBlock>, kMaxOperands + 1> buffers;
    const bool in_output =
        type_ == (std::is_same_v<T, float> ? DataType::kFloat32 : DataType::kInt64);
    T* result = in_output ? reinterpret_cast<T*>(output) + begin : buffers.back().data();
    for (const Step<T>& step : steps_) {
      std::array<const T*, kMaxOperands> arguments{};
      std::size_t next = 0;
      for (const Operand<T>& operand : step.operands) {
        if (next == step.chain) ++next;
        arguments[next] = operand.reader.read(inputs_.find(operand.input, inputs), begin, count,
                                              buffers[next].data());
        ++next;
      }
      if (step.chain < kMaxOperands) arguments[step.chain] = result;
      if (step.unary && step.binary) {
        step.unary(arguments[0], buffers[0].data(), count, step.a, step.b);
        step.binary(arguments[0], buffers[0].data(), result, count);
      } else if (step.unary)
        step.unary(arguments[0], result, count, step.a, step.b);
      else if (step.binary)
        step.binary(arguments[0], arguments[1], result, count);
      else
        select_loop(arguments[0], arguments[1], arguments[2], result, count);
    }
    if (!in_output) write_converted(result, count, type_, output + begin * core::size_bytes(type_));
  }

  int threads_;
  Inputs inputs_;
  std::vector<Step<T>> steps_;
  DataType type_;
  std::size_t count_;
};

float real_parameter(const Node& node, std::string_view attribute) {
  return static_cast<float>(node.attributes.get_real(attribute));
}

/// A function of one argument that pow comes to, where the exponent is a constant.
std::string power(const KernelRequest& request, const Node& node) {
  const core::LiteralPtr exponent = request.constant(node.inputs[1]);
  const std::size_t rank = request.dims(node.inputs[0]).size();
  if (!exponent || exponent->count() != 1 || exponent->dims().size() > rank) return "pow";
  const double value = exponent->to_doubles()[0];
  if (value == 2) return "square";
  if (value == 3) return "cube";
  return value == -1 ? "reciprocal" : "pow";
}

/// The loop of a node. Names of loops are those of operators, but for special cases.
std::string loop_name(const KernelRequest& request, const Node& node) {
  const std::string& op = node.op->name;
  if (op == "gelu" && node.attributes.get_text("approximate") == "tanh") return "gelu_tanh";
  return op == "pow" ? power(request, node) : op;
}

template <class T>
bool set_function(const Node& node, const std::string& op, Step<T>& step) {
  step.unary = unary_loop<T>(op);
  step.binary = binary_loop<T>(op);
  if (op == "leaky_relu" || op == "elu" || op == "hard_sigmoid")
    step.a = real_parameter(node, "alpha");
  if (op == "hard_sigmoid") step.b = real_parameter(node, "beta");
  if (op == "clip") step.a = real_parameter(node, "min"), step.b = real_parameter(node, "max");
  return step.unary || step.binary || op == "where";
}

/// True if T stands for the elements of `type` without loss.
template <class T>
bool is_exact(DataType type) {
  if (type == DataType::kBool) return true;
  return (type == DataType::kFloat32) == std::is_same_v<T, float> && is_readable(type);
}

/// A cast may lose on one side: that is what it is for.
template <class T>
bool types_fit(const KernelRequest& request, const Node& node) {
  const auto type = [&](TensorId id) { return request.type(id).data_type; };
  const DataType result = type(node.outputs[0]);
  if (node.op->name == "cast") {
    const DataType from = type(node.inputs[0]);
    return is_readable(from) && is_readable(result) && (is_exact<T>(from) || is_exact<T>(result));
  }
  return is_exact<T>(result) &&
         std::ranges::all_of(node.inputs, [&](TensorId id) { return is_exact<T>(type(id)); });
}

/// The product of a gate, whose function is a step already.
bool is_gated(const KernelRequest& request, core::NodeId id) {
  return std::ranges::any_of(request.launch.epilogue, [&](const runtime::EpilogueStep& step) {
    return step.kind == runtime::EpilogueKind::kGate && step.node == id;
  });
}

template <class T>
core::Result<std::vector<Step<T>>> make_steps(const KernelRequest& request) {
  std::vector<Step<T>> steps;
  TensorId chain;
  const core::Dims result = request.dims(request.launch.outputs[0]);
  for (core::NodeId id : request.launch.nodes()) {
    const Node& node = request.graph.node(id);
    if (is_gated(request, id)) {
      steps.back().binary = binary_loop<T>(node.op->name);
      chain = node.outputs[0];
      continue;
    }
    Step<T> step;
    if (!set_function(node, loop_name(request, node), step))
      return refuse("elementwise: no loop for " + node.op->name);
    if (!types_fit<T>(request, node))
      return refuse("elementwise: element types of " + node.op->name);
    const std::size_t arguments = step.unary ? 1 : node.inputs.size();
    for (std::size_t k = 0; k < arguments; ++k) {
      if (node.inputs[k] == chain) {
        step.chain = k;
        continue;
      }
      step.operands.push_back(
          {request.number(node.inputs[k]),
           BroadcastReader<T>(request.type(node.inputs[k]), request.layout(node.inputs[k]), result,
                              request.output_layout())});
    }
    steps.push_back(std::move(step));
    chain = node.outputs[0];
  }
  return steps;
}

template <class T>
core::Result<std::unique_ptr<runtime::HostKernel>> make(const KernelRequest& request) {
  SOAPSTONE_ASSIGN_OR_RETURN(std::vector<Step<T>> steps, make_steps<T>(request));
  return std::unique_ptr<runtime::HostKernel>(
      std::make_unique<ElementwiseKernel<T>>(request, std::move(steps)));
}

}  // namespace

core::Result<std::unique_ptr<runtime::HostKernel>>
make_elementwise_kernel(const KernelRequest& request) {
  const ops::OpDefinition* definition = ops::definition_of(request.head());
  if (!definition || definition->op_class != ops::OpClass::kElementwise) return not_mine();
  auto kernel = make<float>(request);
  return kernel ? std::move(kernel) : make<std::int64_t>(request);
}

}  // namespace soapstone::cpu
