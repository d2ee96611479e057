// See contraction_kernel.h.
#include "cpu/primitives/contraction_kernel.h"

#include <algorithm>
#include <cstring>

#include "cpu/base/threads.h"

namespace soapstone::cpu {

std::optional<std::size_t> contraction_in_place_input(const core::Graph& graph,
                                                      const runtime::Launch& launch) {
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

ContractionKernel::ContractionKernel(const KernelRequest& request, const Contraction& contraction,
                                     const Epilogue& epilogue)
    : stream_(request.stream), threads_(request.threads), inputs_(request),
      primitive_(request.engine, contraction.primitive), residual_(epilogue.residual()),
      output_bytes_(runtime::storage_bytes(request.output_type())) {
  const Primitive& primitive = primitive_.primitive();
  arguments_.push_back(
      {primitive_.add(DNNL_ARG_SRC, primitive.source), request.number(contraction.source)});
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
  repack_.emplace(request.engine,
                  make_reorder(request.engine, given, primitive.weights, plain_attributes()));
  repack_from_ = repack_->add(DNNL_ARG_FROM, given);
  repack_to_ = repack_->add(DNNL_ARG_TO, primitive.weights);
}

std::size_t ContractionKernel::scratch_bytes() const {
  if (!repack_) return primitive_.scratch_bytes();
  return aligned(primitive_.primitive().weights.get_size()) +
         std::max(primitive_.scratch_bytes(), repack_->scratch_bytes());
}

core::Status ContractionKernel::run(runtime::HostInputs inputs, runtime::HostOutputs outputs,
                                    std::byte* scratch) {
  use_threads(threads_);
  const void* weights = packed_.get();
  if (repack_) {
    std::byte* packed = scratch;
    scratch += aligned(primitive_.primitive().weights.get_size());
    repack_->set(repack_from_, inputs_.find(weights_input_, inputs));
    repack_->set(repack_to_, packed);
    repack_->run(stream_, scratch);
    weights = packed;
  }
  if (!weights) weights = inputs_.find(weights_input_, inputs);
  primitive_.set(weights_argument_, weights);
  for (const Argument& argument : arguments_)
    primitive_.set(argument.argument, inputs_.find(argument.input, inputs));
  if (residual_) {
    const std::byte* residual = inputs_.find(*residual_, inputs);
    if (residual != outputs[0]) std::memcpy(outputs[0], residual, output_bytes_);
  }
  primitive_.set(destination_, outputs[0]);
  primitive_.run(stream_, scratch);
  return core::Done{};
}

}  // namespace soapstone::cpu
