// See contraction_kernel.h.
#include "cpu/primitives/contraction_kernel.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "cpu/base/threads.h"

namespace soapstone::cpu {
namespace {

constexpr auto kRoundedType = dnnl::memory::data_type::bf16;

}  // namespace

std::optional<std::size_t> contraction_in_place_input(const core::Graph& graph,
                                                      const runtime::Launch& launch) {
  if (!sums_onto_residual(graph, launch)) return std::nullopt;
  const core::Node& head = graph.node(launch.head);
  std::optional<core::TensorId> residual;
  for (const runtime::EpilogueStep& step : launch.epilogue)
    if (step.kind == runtime::EpilogueKind::kResidual) residual = step.operand;
  // The primitive must not read, as source or weights, what it overwrites.
  if (!residual || *residual == head.inputs[0] || *residual == head.inputs[1] ||
      graph.is_constant_expression(*residual))
    return std::nullopt;
  return static_cast<std::size_t>(std::ranges::find(launch.inputs, *residual) -
                                  launch.inputs.begin());
}

Window window_of(const core::Attributes& attributes) {
  Window window{attributes.get_ints("strides"), attributes.get_ints("dilations"), {}, {}};
  for (std::int64_t& dilation : window.dilations) dilation -= 1;
  const std::vector<std::int64_t> pads = attributes.get_ints("pads");
  const auto middle = pads.begin() + static_cast<std::ptrdiff_t>(pads.size() / 2);
  window.pads_begin.assign(pads.begin(), middle);
  window.pads_end.assign(middle, pads.end());
  return window;
}

Descriptor as_factor(const KernelRequest& request, const Descriptor& given) {
  return request.factors == core::DataType::kBFloat16 ? with_type(given, kRoundedType) : given;
}

ContractionKernel::ContractionKernel(const KernelRequest& request, const Contraction& contraction,
                                     const Epilogue& epilogue)
    : stream_(request.stream), threads_(request.threads), inputs_(request),
      primitive_(request.engine, contraction.primitive), residual_(epilogue.residual()),
      output_bytes_(runtime::storage_bytes(request.output_type())),
      watch_(may_lose_nan(request.launch), request.threads) {
  const Primitive& primitive = primitive_.primitive();
  source_ = {primitive_.add(DNNL_ARG_SRC, primitive.source), request.number(contraction.source)};
  if (contraction.source_descriptor != primitive.source)
    to_source_.emplace(request.engine, contraction.source_descriptor, primitive.source);
  destination_ = primitive_.add(DNNL_ARG_DST, primitive.destination);
  add_weights(request, contraction);
  if (contraction.bias) {
    arguments_.push_back(
        {primitive_.add(DNNL_ARG_BIAS, *contraction.bias), request.number(*epilogue.bias())});
  }
  for (const Epilogue::Operand& operand : epilogue.operands())
    arguments_.push_back({primitive_.add(operand.argument, operand.descriptor), operand.input});
  in_place_ = contraction_in_place_input(request.graph, request.launch);
  if (in_place_ && inputs_.is_constant(*in_place_)) in_place_.reset();
}

void ContractionKernel::add_weights(const KernelRequest& request, const Contraction& contraction) {
  const Primitive& primitive = primitive_.primitive();
  const Descriptor& given = contraction.weights_descriptor;
  weights_argument_ = primitive_.add(DNNL_ARG_WEIGHTS, primitive.weights);
  weights_input_ = request.number(contraction.weights);
  if (given == primitive.weights) return;
  if (const core::LiteralPtr literal = request.constant(contraction.weights)) {
    packed_ = packed(request, literal, given, primitive.weights);
    return;
  }
  repack_.emplace(request.engine, given, primitive.weights);
}

std::size_t ContractionKernel::scratch_bytes() const {
  std::size_t held = 0, most = primitive_.scratch_bytes();
  if (to_source_) {
    held += aligned(primitive_.primitive().source.get_size());
    most = std::max(most, to_source_->scratch_bytes());
  }
  if (repack_) {
    held += aligned(primitive_.primitive().weights.get_size());
    most = std::max(most, repack_->scratch_bytes());
  }
  return held + most;
}

std::string ContractionKernel::implementation() const {
  const bool rounds = primitive_.primitive().source.data_type() == kRoundedType;
  return (rounds ? "bf16 factors, " : "") + primitive_.implementation();
}

core::Status ContractionKernel::run(runtime::HostInputs inputs, runtime::HostOutputs outputs,
                                    std::byte* scratch) {
  use_threads(threads_);
  const auto hold = [&scratch](const Descriptor& form) {
    return std::exchange(scratch, scratch + aligned(form.get_size()));
  };
  std::byte* const source = to_source_ ? hold(primitive_.primitive().source) : nullptr;
  std::byte* const repacked = repack_ ? hold(primitive_.primitive().weights) : nullptr;
  const std::byte* const given = inputs_.find(source_.input, inputs);
  if (to_source_) to_source_->run(given, source, stream_, scratch);
  primitive_.set(source_.argument, to_source_ ? source : given);
  const std::byte* weights = packed_ ? packed_.get() : inputs_.find(weights_input_, inputs);
  if (repack_) repack_->run(weights, repacked, stream_, scratch);
  primitive_.set(weights_argument_, repack_ ? repacked : weights);
  for (const Argument& argument : arguments_)
    primitive_.set(argument.argument, inputs_.find(argument.input, inputs));
  if (residual_) {
    const std::byte* residual = inputs_.find(*residual_, inputs);
    if (residual != outputs[0]) std::memcpy(outputs[0], residual, output_bytes_);
  }
  primitive_.set(destination_, outputs[0]);
  watch_.run([&] { primitive_.run(stream_, scratch); });
  return core::Done{};
}

}  // namespace soapstone::cpu
