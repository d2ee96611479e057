// See cudnn_operations.h.
#include "gpu/libraries/cudnn_operations.h"

#include <algorithm>
#include <array>
#include <optional>

namespace soapstone::gpu {

using cudnn::Attribute;
using cudnn::Descriptor;
using cudnn::Type;

namespace {

constexpr std::int64_t kCudnnAlignment = 16;  // bytes: what vector loads need

std::optional<cudnn::DataType> data_type_of(core::DataType type) {
  switch (type) {
  case core::DataType::kFloat32:
    return cudnn::DataType::kFloat;
  case core::DataType::kFloat64:
    return cudnn::DataType::kDouble;
  case core::DataType::kFloat16:
    return cudnn::DataType::kHalf;
  case core::DataType::kBFloat16:
    return cudnn::DataType::kBFloat16;
  default:
    return std::nullopt;
  }
}

std::optional<cudnn::PointwiseMode> mode_of(ops::Function function) {
  using Mode = cudnn::PointwiseMode;
  switch (function) {
  case ops::Function::kRelu:
    return Mode::kRelu;
  case ops::Function::kExp:
    return Mode::kExp;
  case ops::Function::kLog:
    return Mode::kLog;
  case ops::Function::kSqrt:
    return Mode::kSqrt;
  case ops::Function::kTanh:
    return Mode::kTanh;
  case ops::Function::kSigmoid:
    return Mode::kSigmoid;
  case ops::Function::kErf:
    return Mode::kErf;
  case ops::Function::kAbs:
    return Mode::kAbs;
  case ops::Function::kFloor:
    return Mode::kFloor;
  case ops::Function::kCeil:
    return Mode::kCeil;
  case ops::Function::kSin:
    return Mode::kSin;
  case ops::Function::kCos:
    return Mode::kCos;
  case ops::Function::kPow:
    return Mode::kPow;
  default:
    return std::nullopt;
  }
}

std::optional<cudnn::PointwiseMode> mode_of(const Operation& operation) {
  switch (operation.pointwise) {
  case Pointwise::kAdd:
    return cudnn::PointwiseMode::kAdd;
  case Pointwise::kSubtract:
    return cudnn::PointwiseMode::kSub;
  case Pointwise::kMultiply:
    return cudnn::PointwiseMode::kMul;
  case Pointwise::kDivide:
    return cudnn::PointwiseMode::kDiv;
  case Pointwise::kMaximum:
    return cudnn::PointwiseMode::kMax;
  case Pointwise::kReciprocal:
    return cudnn::PointwiseMode::kReciprocal;
  case Pointwise::kGelu:
    return cudnn::PointwiseMode::kGelu;
  case Pointwise::kGeluByTanh:
    return cudnn::PointwiseMode::kGeluByTanh;
  case Pointwise::kSwish:
    return cudnn::PointwiseMode::kSwish;
  case Pointwise::kFunction:
    return mode_of(operation.function);
  }
  return std::nullopt;
}

class OperationMaker {
 public:
  OperationMaker(const Cudnn& cudnn, const OperationGraph& graph) : cudnn_(cudnn), graph_(graph) {}

  core::Result<CudnnOperations> make() {
    for (const GraphTensor& tensor : graph_.tensors) SOAPSTONE_RETURN_IF_ERROR(add_tensor(tensor));
    for (const Operation& operation : graph_.operations) {
      SOAPSTONE_RETURN_IF_ERROR(add_operation(operation));
      made_.operations.push_back(made_.parts.back().get());
    }
    return std::move(made_);
  }

 private:
  core::Status add_tensor(const GraphTensor& tensor) {
    const auto number = static_cast<std::int64_t>(made_.tensors.size());
    const bool is_virtual = !tensor.id.valid() && !tensor.number;
    auto type = data_type_of(tensor.data_type);
    if (!type) return core::unsupported("cuDNN computes with floating-point tensors only");
    // What is never stored is not rounded, unless engines expect it.
    if (is_virtual && !tensor.is_rounded && *type != cudnn::DataType::kDouble)
      type = cudnn::DataType::kFloat;
    CudnnDescriptor descriptor(cudnn_, Descriptor::kTensor);
    descriptor.set(Attribute::kTensorId, number)
        .set(Attribute::kTensorType, Type::kDataType, *type)
        .set(Attribute::kTensorDims, tensor.dims)
        .set(Attribute::kTensorStrides, strides_of(tensor))
        .set(Attribute::kTensorAlignment, alignment_of(tensor))
        .set(Attribute::kTensorIsVirtual, is_virtual);
    if (tensor.number) descriptor.set(Attribute::kTensorIsByValue, true);
    SOAPSTONE_RETURN_IF_ERROR(descriptor.finalize());
    made_.tensors.push_back(std::move(descriptor));
    return core::Done{};
  }

  /// Strides of dimensions of size 1 do not matter, but must not be 0.
  static core::Dims strides_of(const GraphTensor& tensor) {
    core::Dims strides = tensor.strides;
    const std::int64_t largest = *std::max_element(strides.begin(), strides.end());
    for (std::int64_t& stride : strides)
      if (stride == 0) stride = std::max<std::int64_t>(largest, 1);
    return strides;
  }

  /// What is certain of the address, given that of the whole tensor.
  static std::int64_t alignment_of(const GraphTensor& tensor) {
    const auto size = static_cast<std::int64_t>(core::size_bytes(tensor.data_type));
    std::int64_t alignment = kCudnnAlignment;
    while (alignment > size && tensor.offset * size % alignment != 0) alignment /= 2;
    return alignment;
  }

  core::Status add_operation(const Operation& operation) {
    switch (operation.kind) {
    case Operation::Kind::kConvolution:
      return add_convolution(operation);
    case Operation::Kind::kProduct:
      return add_product(operation);
    case Operation::Kind::kPointwise:
      return add_pointwise(operation);
    case Operation::Kind::kReduction:
      return add_reduction(operation);
    case Operation::Kind::kPool:
      return add_pool(operation);
    case Operation::Kind::kNorm:
      return add_norm(operation);
    }
    return core::Done{};
  }

  core::Status add_convolution(const Operation& o) {
    CudnnDescriptor convolution(cudnn_, Descriptor::kConvolution);
    convolution.set(Attribute::kConvolutionSpatialDims, std::ssize(o.window.size))
        .set(Attribute::kConvolutionComputeType, Type::kDataType, compute_type(o))
        .set(Attribute::kConvolutionMode, Type::kConvolutionMode, cross_correlation())
        .set(Attribute::kConvolutionPrePaddings, o.window.pads_before)
        .set(Attribute::kConvolutionPostPaddings, o.window.pads_behind)
        .set(Attribute::kConvolutionDilations, o.window.dilations)
        .set(Attribute::kConvolutionStrides, o.window.strides);
    SOAPSTONE_RETURN_IF_ERROR(add(std::move(convolution)));
    CudnnDescriptor forward(cudnn_, Descriptor::kConvolutionForward);
    forward.set(Attribute::kForwardImage, tensor(o.inputs[0]))
        .set(Attribute::kForwardKernel, tensor(o.inputs[1]))
        .set(Attribute::kForwardResult, tensor(o.output))
        .set(Attribute::kForwardConvolution, made_.parts.back())
        .set(Attribute::kForwardAlpha, 1.0F)
        .set(Attribute::kForwardBeta, 0.0F);
    return add(std::move(forward));
  }

  core::Status add_product(const Operation& o) {
    CudnnDescriptor matmul(cudnn_, Descriptor::kMatmul);
    matmul.set(Attribute::kMatmulComputeType, Type::kDataType, compute_type(o));
    SOAPSTONE_RETURN_IF_ERROR(add(std::move(matmul)));
    CudnnDescriptor operation(cudnn_, Descriptor::kMatmulOperation);
    operation.set(Attribute::kMatmulA, tensor(o.inputs[0]))
        .set(Attribute::kMatmulB, tensor(o.inputs[1]))
        .set(Attribute::kMatmulC, tensor(o.output))
        .set(Attribute::kMatmulDescriptor, made_.parts.back());
    return add(std::move(operation));
  }

  core::Status add_pointwise(const Operation& o) {
    const auto mode = mode_of(o);
    if (!mode) return core::unsupported("cuDNN has no such function");
    CudnnDescriptor pointwise(cudnn_, Descriptor::kPointwise);
    pointwise.set(Attribute::kPointwiseMode, Type::kPointwiseMode, *mode)
        .set(Attribute::kPointwisePrecision, Type::kDataType, compute_type(o));
    SOAPSTONE_RETURN_IF_ERROR(add(std::move(pointwise)));
    CudnnDescriptor operation(cudnn_, Descriptor::kPointwiseOperation);
    operation.set(Attribute::kPointwiseDescriptor, made_.parts.back())
        .set(Attribute::kPointwiseX, tensor(o.inputs[0]))
        .set(Attribute::kPointwiseResult, tensor(o.output));
    if (o.inputs.size() > 1) operation.set(Attribute::kPointwiseB, tensor(o.inputs[1]));
    return add(std::move(operation));
  }

  core::Status add_reduction(const Operation& o) {
    CudnnDescriptor reduction(cudnn_, Descriptor::kReduction);
    reduction
        .set(Attribute::kReductionOperator, Type::kReductionOperator,
             o.reduction == Reduction::kSum ? cudnn::ReductionOperator::kSum
                                            : cudnn::ReductionOperator::kMaximum)
        .set(Attribute::kReductionComputeType, Type::kDataType, compute_type(o));
    SOAPSTONE_RETURN_IF_ERROR(add(std::move(reduction)));
    CudnnDescriptor operation(cudnn_, Descriptor::kReductionOperation);
    operation.set(Attribute::kReductionX, tensor(o.inputs[0]))
        .set(Attribute::kReductionResult, tensor(o.output))
        .set(Attribute::kReductionDescriptor, made_.parts.back());
    return add(std::move(operation));
  }

  core::Status add_pool(const Operation& o) {
    const bool is_maximum = o.reduction == Reduction::kMaximum;
    CudnnDescriptor resample(cudnn_, Descriptor::kResample);
    resample
        .set(Attribute::kResampleMode, Type::kResampleMode,
             is_maximum     ? cudnn::ResampleMode::kMaximum
             : o.counts_pad ? cudnn::ResampleMode::kMeanWithPadding
                            : cudnn::ResampleMode::kMeanWithoutPadding)
        .set(Attribute::kResamplePaddingMode, Type::kPaddingMode,
             is_maximum ? cudnn::PaddingMode::kNegativeInfinity : cudnn::PaddingMode::kZero)
        .set(Attribute::kResampleComputeType, Type::kDataType, compute_type(o))
        .set(Attribute::kResampleSpatialDims, std::ssize(o.window.size));
    set_fractions(resample, Attribute::kResampleWindow, o.window.size);
    set_fractions(resample, Attribute::kResamplePrePaddings, o.window.pads_before);
    set_fractions(resample, Attribute::kResamplePostPaddings, o.window.pads_behind);
    set_fractions(resample, Attribute::kResampleStrides, o.window.strides);
    SOAPSTONE_RETURN_IF_ERROR(add(std::move(resample)));
    CudnnDescriptor operation(cudnn_, Descriptor::kResampleForward);
    operation.set(Attribute::kResampleX, tensor(o.inputs[0]))
        .set(Attribute::kResampleResult, tensor(o.output))
        .set(Attribute::kResampleDescriptor, made_.parts.back());
    return add(std::move(operation));
  }

  core::Status add_norm(const Operation& o) {
    const bool is_layer = o.norm == Norm::kLayer;
    CudnnDescriptor operation(cudnn_, Descriptor::kNormForward);
    operation
        .set(Attribute::kNormMode, Type::kNormMode,
             is_layer ? cudnn::NormMode::kLayer : cudnn::NormMode::kRootMeanSquare)
        .set(Attribute::kNormPhase, Type::kNormPhase, 1, &cudnn::kNormInference)
        .set(Attribute::kNormX, tensor(o.inputs[0]))
        .set(Attribute::kNormScale, tensor(o.inputs[1]))
        .set(Attribute::kNormEpsilon, tensor(o.inputs.back()))
        .set(Attribute::kNormResult, tensor(o.output));
    if (is_layer) operation.set(Attribute::kNormBias, tensor(o.inputs[2]));
    return add(std::move(operation));
  }

  /// Sizes of pools are fractions in cuDNN: a numerator and a denominator.
  static void set_fractions(CudnnDescriptor& descriptor, Attribute attribute,
                            const core::Dims& values) {
    std::vector<std::array<std::int64_t, 2>> fractions;
    for (const std::int64_t value : values) fractions.push_back({value, 1});
    descriptor.set(attribute, Type::kFraction, std::ssize(fractions), fractions.data());
  }

  cudnn::DataType compute_type(const Operation& o) const {
    const core::DataType type = graph_.tensors[o.output].data_type;
    return type == core::DataType::kFloat64 ? cudnn::DataType::kDouble : cudnn::DataType::kFloat;
  }

  enum class ConvolutionMode : int {};
  static ConvolutionMode cross_correlation() { return ConvolutionMode{cudnn::kCrossCorrelation}; }

  const CudnnDescriptor& tensor(std::uint32_t number) const { return made_.tensors[number]; }

  core::Status add(CudnnDescriptor descriptor) {
    SOAPSTONE_RETURN_IF_ERROR(descriptor.finalize());
    made_.parts.push_back(std::move(descriptor));
    return core::Done{};
  }

  const Cudnn& cudnn_;
  const OperationGraph& graph_;
  CudnnOperations made_;
};

}  // namespace

core::Result<CudnnOperations> make_operations(const Cudnn& cudnn, const OperationGraph& graph) {
  return OperationMaker(cudnn, graph).make();
}

}  // namespace soapstone::gpu
