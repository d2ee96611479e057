// See contraction_kernel.h.
#include "cpu/primitives/contraction_kernel.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "cpu/base/threads.h"

namespace soapstone::cpu {

std::optional<std::size_t> contraction_in_place_input(const core::Graph& graph,
                                                      const runtime::Launch& launch) {
  if (!sums_onto_residual(graph, launch)) return std::nullopt;
  const core::Node& head = graph.node(launch.head);
  std::optional<core::TensorId> residual;
  for (const runtime::EpilogueStep& step : launch.epilogue)
    if (step.kind == runtime::EpilogueKind::kResidual) residual = step.operand;
  // The primitive must not read, as source or weights, what it overwrites.
  if (!residual || graph.is_constant_expression(*residual) ||
      std::ranges::find(head.inputs, *residual) != head.inputs.end())
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

core::Result<std::unique_ptr<runtime::HostKernel>> make_contraction(const KernelRequest& request,
                                                                    const Contraction& contraction,
                                                                    const Epilogue& epilogue) {
  auto kernel = std::make_unique<ContractionKernel>(request, contraction, epilogue);
  if (contraction.factors.quantized()) SOAPSTONE_RETURN_IF_ERROR(kernel->add_exact(request));
  return std::unique_ptr<runtime::HostKernel>(std::move(kernel));
}

ContractionKernel::ContractionKernel(const KernelRequest& request, const Contraction& contraction,
                                     const Epilogue& epilogue)
    : stream_(request.stream), threads_(request.threads), inputs_(request),
      primitive_(request.engine, contraction.primitive), residual_(epilogue.residual()),
      output_bytes_(runtime::storage_bytes(request.output_type())),
      mark_(contraction.factors.mark()), watch_(may_lose_nan(request.launch), request.threads) {
  add_source(request, contraction);
  destination_ = primitive_.add(DNNL_ARG_DST, primitive_.primitive().destination);
  add_weights(request, contraction);
  if (contraction.bias) {
    arguments_.push_back(
        {primitive_.add(DNNL_ARG_BIAS, *contraction.bias), request.number(*epilogue.bias())});
  }
  for (const Epilogue::Operand& operand : epilogue.operands())
    arguments_.push_back({primitive_.add(operand.argument, operand.descriptor), operand.input});
  in_place_ = contraction_in_place_input(request.graph, request.launch);
  if (in_place_ && inputs_.is_constant(*in_place_)) in_place_.reset();
  saves_residual_ = in_place_ && !residual_;
}

void ContractionKernel::add_source(const KernelRequest& request, const Contraction& contraction) {
  const Descriptor& wanted = primitive_.primitive().source;
  source_ = {primitive_.add(DNNL_ARG_SRC, wanted), request.number(contraction.source)};
  if (contraction.factors.quantized()) {
    CHECK(wanted == contraction.factors.source(contraction.source_descriptor),
          "a primitive wants integers in another order than it was asked for");
    quantizer_.emplace(wanted.get_size(), request.threads);
    const Descriptor one({1}, dnnl::memory::data_type::s32, dnnl::memory::format_tag::a);
    primitive_.set(primitive_.add(kSourceZeroPoint, one), quantizer_->zero_point());
    const std::size_t rank = primitive_.primitive().destination.dims().size();
    primitive_.set(primitive_.add(Epilogue::kScale, Epilogue::scale(rank)), quantizer_->scale());
  } else if (contraction.source_descriptor != wanted) {
    to_source_.emplace(request.engine, contraction.source_descriptor, wanted);
  }
}

core::Status ContractionKernel::add_exact(const KernelRequest& request) {
  KernelRequest exact = request;
  exact.factors = core::DataType::kFloat32;
  for (const MakeKernel make : kernel_makers()) {
    auto kernel = make(exact);
    if (!kernel) continue;
    if ((*kernel)->in_place_input() != in_place_) break;
    exact_ = *std::move(kernel);
    return core::Done{};
  }
  return refuse("int8: no exact kernel takes its place for sources that are not finite");
}

void ContractionKernel::add_weights(const KernelRequest& request, const Contraction& contraction) {
  const Primitive& primitive = primitive_.primitive();
  const Descriptor& given = contraction.weights_descriptor;
  weights_argument_ = primitive_.add(DNNL_ARG_WEIGHTS, primitive.weights);
  weights_input_ = request.number(contraction.weights);
  if (given == primitive.weights) return;
  if (const core::LiteralPtr literal = request.constant(contraction.weights)) {
    const Factors& factors = contraction.factors;
    packed_ = factors.quantized()
                  ? packed(request, literal, factors.weights(given), primitive.weights,
                           [&] { return factors.integers(*literal); })
                  : packed(request, literal, given, primitive.weights);
    return;
  }
  repack_.emplace(request.engine, given, primitive.weights);
}

std::size_t ContractionKernel::scratch_bytes() const {
  std::size_t held = 0, most = primitive_.scratch_bytes();
  if (to_source_ || quantizer_) held += aligned(primitive_.primitive().source.get_size());
  if (to_source_) most = std::max(most, to_source_->scratch_bytes());
  if (repack_) {
    held += aligned(primitive_.primitive().weights.get_size());
    most = std::max(most, repack_->scratch_bytes());
  }
  if (saves_residual_) held += aligned(output_bytes_);
  return std::max(held + most, exact_ ? exact_->scratch_bytes() : 0);
}

std::string ContractionKernel::implementation() const {
  return std::string(mark_) + primitive_.implementation();
}

core::Status ContractionKernel::run(runtime::HostInputs inputs, runtime::HostOutputs outputs,
                                    std::byte* scratch) {
  use_threads(threads_);
  const std::byte* const given = inputs_.find(source_.input, inputs);
  const auto* const floats = reinterpret_cast<const float*>(given);
  if (quantizer_ && !quantizer_->measure(floats)) return exact_->run(inputs, outputs, scratch);
  const auto hold = [&scratch](const Descriptor& form) {
    return std::exchange(scratch, scratch + aligned(form.get_size()));
  };
  const bool comes_so = !to_source_ && !quantizer_;
  std::byte* const source = comes_so ? nullptr : hold(primitive_.primitive().source);
  std::byte* const saved = saves_residual_ ? hold(primitive_.primitive().destination) : nullptr;
  std::byte* const repacked = repack_ ? hold(primitive_.primitive().weights) : nullptr;
  if (to_source_) to_source_->run(given, source, stream_, scratch);
  if (quantizer_) quantizer_->quantize(floats, reinterpret_cast<std::uint8_t*>(source));
  primitive_.set(source_.argument, comes_so ? given : source);
  const std::byte* weights = packed_ ? packed_.get() : inputs_.find(weights_input_, inputs);
  if (repack_) repack_->run(weights, repacked, stream_, scratch);
  primitive_.set(weights_argument_, repack_ ? repacked : weights);
  for (const Argument& argument : arguments_) {
    const std::byte* data = inputs_.find(argument.input, inputs);
    if (saved && data == outputs[0]) {
      std::memcpy(saved, data, output_bytes_);
      data = saved;
    }
    primitive_.set(argument.argument, data);
  }
  if (residual_) {
    const std::byte* residual = inputs_.find(*residual_, inputs);
    if (residual != outputs[0]) std::memcpy(outputs[0], residual, output_bytes_);
  }
  primitive_.set(destination_, outputs[0]);
  watch_.run([&] { primitive_.run(stream_, scratch); });
  return core::Done{};
}

}  // namespace soapstone::cpu
