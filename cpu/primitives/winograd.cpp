// Convolutions by Winograd's algorithm. oneDNN has it for images in blocks of channels alone, so
// they are brought there and back, which takes less time than it saves where channels are many.
#include <algorithm>

#include "cpu/base/threads.h"
#include "cpu/primitives/contraction_kernel.h"

namespace soapstone::cpu {
namespace {

using core::TensorId;
using runtime::Layout;

class WinogradKernel final : public runtime::HostKernel {
 public:
  WinogradKernel(const KernelRequest& request, const Contraction& convolution,
                 const Epilogue& epilogue, const Descriptor& wanted)
      : stream_(request.stream), threads_(request.threads), inputs_(request),
        primitive_(request.engine, convolution.primitive),
        to_blocks_(request.engine, convolution.source_descriptor, convolution.primitive.source),
        from_blocks_(request.engine, convolution.primitive.destination, wanted),
        residual_to_blocks_(request.engine, wanted, convolution.primitive.destination),
        source_input_(request.number(convolution.source)), residual_(epilogue.residual()),
        weights_(packed(request, request.constant(convolution.weights),
                        convolution.weights_descriptor, convolution.primitive.weights)),
        watch_(may_lose_nan(request.launch), request.threads) {
    const Primitive& primitive = primitive_.primitive();
    source_ = primitive_.add(DNNL_ARG_SRC, primitive.source);
    destination_ = primitive_.add(DNNL_ARG_DST, primitive.destination);
    primitive_.set(primitive_.add(DNNL_ARG_WEIGHTS, primitive.weights), weights_.get());
    if (convolution.bias)
      arguments_.push_back(
          {primitive_.add(DNNL_ARG_BIAS, *convolution.bias), request.number(*epilogue.bias())});
    in_place_ = contraction_in_place_input(request.graph, request.launch);
    if (in_place_ && inputs_.is_constant(*in_place_)) in_place_.reset();
  }

  core::Status run(runtime::HostInputs inputs, runtime::HostOutputs outputs,
                   std::byte* scratch) override {
    use_threads(threads_);
    std::byte* const source = scratch;
    std::byte* const result = source + aligned(primitive_.primitive().source.get_size());
    std::byte* const rest = result + aligned(primitive_.primitive().destination.get_size());
    to_blocks_.run(inputs_.find(source_input_, inputs), source, stream_, rest);
    if (residual_) residual_to_blocks_.run(inputs_.find(*residual_, inputs), result, stream_, rest);
    primitive_.set(source_, source);
    primitive_.set(destination_, result);
    for (const auto& [argument, input] : arguments_)
      primitive_.set(argument, inputs_.find(input, inputs));
    watch_.run([&] { primitive_.run(stream_, rest); });
    from_blocks_.run(result, outputs[0], stream_, rest);
    return core::Done{};
  }
  std::size_t scratch_bytes() const override {
    return aligned(primitive_.primitive().source.get_size()) +
           aligned(primitive_.primitive().destination.get_size()) +
           std::max({primitive_.scratch_bytes(), to_blocks_.scratch_bytes(),
                     from_blocks_.scratch_bytes(), residual_to_blocks_.scratch_bytes()});
  }
  std::optional<std::size_t> in_place_input() const override { return in_place_; }
  std::string implementation() const override { return primitive_.implementation(); }
  bool may_have_lost_nan() const override { return watch_.found(); }

 private:
  struct Argument {
    std::size_t argument, input;
  };
  const dnnl::stream& stream_;
  int threads_;
  Inputs inputs_;
  BoundPrimitive primitive_;
  Reorder to_blocks_, from_blocks_, residual_to_blocks_;
  std::size_t source_ = 0, destination_ = 0, source_input_;
  std::optional<std::size_t> residual_, in_place_;
  std::vector<Argument> arguments_;
  std::shared_ptr<const std::byte> weights_;
  NanWatch watch_;
};

}  // namespace

core::Result<std::unique_ptr<runtime::HostKernel>>
make_winograd_kernel(const KernelRequest& request) {
  if (request.op() != "conv") return not_mine();
  const TensorId source = request.head_input(0), weights = request.head_input(1);
  const TensorId head_bias = request.has_head_input(2) ? request.head_input(2) : TensorId::none();
  if (!request.all_floats() || !request.has_elements() || !request.constant(weights))
    return refuse("Winograd: for weights of f32 that are known");
  const core::Dims dims = request.dims(request.launch.outputs[0]);
  if (dims.size() != 4 || request.attributes().get_int("group") != 1)
    return refuse("Winograd: for images, and one group");
  return guarded([&]() -> core::Result<std::unique_ptr<runtime::HostKernel>> {
    const Epilogue epilogue(request, head_bias, dims, 1);
    if (!epilogue.operands().empty()) return refuse("Winograd: a scale behind it");
    dnnl::primitive_attr attributes = plain_attributes();
    attributes.set_post_ops(epilogue.steps());
    std::optional<Descriptor> bias;
    if (epilogue.bias()) bias = describe({dims[1]}, Layout::kRowMajor);
    const core::Dims source_dims = request.dims(source), weight_dims = request.dims(weights);
    const Descriptor given =
        describe(source_dims, effective_layout(request.type(source), request.layout(source)));
    const Contraction convolution{source,
                                  weights,
                                  given,
                                  describe(weight_dims, Layout::kRowMajor),
                                  bias,
                                  make_winograd(request.engine, describe_any(source_dims),
                                                describe_any(weight_dims), bias, describe_any(dims),
                                                window_of(request.attributes()), attributes)};
    const Descriptor wanted =
        describe(dims, effective_layout(request.output_type(), request.output_layout()));
    return std::unique_ptr<runtime::HostKernel>(
        std::make_unique<WinogradKernel>(request, convolution, epilogue, wanted));
  });
}

}  // namespace soapstone::cpu
