// Compares our numbers of cuDNN with those of its header, if that is there when tests are built.
#pragma once

#include "gpu/libraries/cudnn_names.h"

#if __has_include(<cudnn_graph.h>)
#include <cudnn_graph.h>

namespace soapstone::gpu {

template <class Name>
constexpr int number(Name name) {
  return static_cast<int>(name);
}

static_assert(number(cudnn::Descriptor::kPointwise) == CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
static_assert(number(cudnn::Descriptor::kConvolution) == CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
static_assert(number(cudnn::Descriptor::kEngine) == CUDNN_BACKEND_ENGINE_DESCRIPTOR);
static_assert(number(cudnn::Descriptor::kEngineConfiguration) ==
              CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
static_assert(number(cudnn::Descriptor::kHeuristics) == CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
static_assert(number(cudnn::Descriptor::kPlan) == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
static_assert(number(cudnn::Descriptor::kConvolutionForward) ==
              CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
static_assert(number(cudnn::Descriptor::kPointwiseOperation) ==
              CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
static_assert(number(cudnn::Descriptor::kOperationGraph) ==
              CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
static_assert(number(cudnn::Descriptor::kVariantPack) == CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
static_assert(number(cudnn::Descriptor::kTensor) == CUDNN_BACKEND_TENSOR_DESCRIPTOR);
static_assert(number(cudnn::Descriptor::kMatmul) == CUDNN_BACKEND_MATMUL_DESCRIPTOR);
static_assert(number(cudnn::Descriptor::kMatmulOperation) ==
              CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
static_assert(number(cudnn::Descriptor::kReduction) == CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
static_assert(number(cudnn::Descriptor::kReductionOperation) ==
              CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
static_assert(number(cudnn::Descriptor::kResample) == CUDNN_BACKEND_RESAMPLE_DESCRIPTOR);
static_assert(number(cudnn::Descriptor::kResampleForward) ==
              CUDNN_BACKEND_OPERATION_RESAMPLE_FWD_DESCRIPTOR);
static_assert(number(cudnn::Descriptor::kNormForward) ==
              CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR);
static_assert(number(cudnn::Descriptor::kDeviceProperties) == CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
static_assert(number(cudnn::Attribute::kPointwiseMode) == CUDNN_ATTR_POINTWISE_MODE);
static_assert(number(cudnn::Attribute::kPointwisePrecision) == CUDNN_ATTR_POINTWISE_MATH_PREC);
static_assert(number(cudnn::Attribute::kConvolutionComputeType) ==
              CUDNN_ATTR_CONVOLUTION_COMP_TYPE);
static_assert(number(cudnn::Attribute::kConvolutionMode) == CUDNN_ATTR_CONVOLUTION_CONV_MODE);
static_assert(number(cudnn::Attribute::kConvolutionDilations) == CUDNN_ATTR_CONVOLUTION_DILATIONS);
static_assert(number(cudnn::Attribute::kConvolutionStrides) ==
              CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES);
static_assert(number(cudnn::Attribute::kConvolutionPostPaddings) ==
              CUDNN_ATTR_CONVOLUTION_POST_PADDINGS);
static_assert(number(cudnn::Attribute::kConvolutionPrePaddings) ==
              CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS);
static_assert(number(cudnn::Attribute::kConvolutionSpatialDims) ==
              CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS);
static_assert(number(cudnn::Attribute::kHeuristicsMode) == CUDNN_ATTR_ENGINEHEUR_MODE);
static_assert(number(cudnn::Attribute::kHeuristicsGraph) == CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
static_assert(number(cudnn::Attribute::kHeuristicsResults) == CUDNN_ATTR_ENGINEHEUR_RESULTS);
static_assert(number(cudnn::Attribute::kHeuristicsDeviceProperties) ==
              CUDNN_ATTR_ENGINEHEUR_DEVICEPROP);
static_assert(number(cudnn::Descriptor::kKnobChoice) == CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
static_assert(number(cudnn::Attribute::kConfigurationKnobs) == CUDNN_ATTR_ENGINECFG_KNOB_CHOICES);
static_assert(number(cudnn::Attribute::kConfigurationWorkspace) ==
              CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE);
static_assert(number(cudnn::Attribute::kConfigurationSharedMemory) ==
              CUDNN_ATTR_ENGINECFG_SHARED_MEMORY_USED);
static_assert(number(cudnn::Attribute::kKnobType) == CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE);
static_assert(number(cudnn::Attribute::kKnobValue) == CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE);
static_assert(number(cudnn::Type::kKnobType) == CUDNN_TYPE_KNOB_TYPE);
static_assert(cudnn::kKnobOfParts == CUDNN_KNOB_TYPE_SPLIT_K_SLC);
static_assert(number(cudnn::Attribute::kConfigurationEngine) == CUDNN_ATTR_ENGINECFG_ENGINE);
static_assert(number(cudnn::Attribute::kPlanConfiguration) ==
              CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
static_assert(number(cudnn::Attribute::kPlanWorkspace) == CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE);
static_assert(number(cudnn::Attribute::kPlanDeviceProperties) ==
              CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP);
static_assert(number(cudnn::Attribute::kForwardAlpha) ==
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA);
static_assert(number(cudnn::Attribute::kForwardBeta) ==
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA);
static_assert(number(cudnn::Attribute::kForwardConvolution) ==
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC);
static_assert(number(cudnn::Attribute::kForwardKernel) ==
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W);
static_assert(number(cudnn::Attribute::kForwardImage) ==
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X);
static_assert(number(cudnn::Attribute::kForwardResult) ==
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y);
static_assert(number(cudnn::Attribute::kPointwiseDescriptor) ==
              CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
static_assert(number(cudnn::Attribute::kPointwiseX) == CUDNN_ATTR_OPERATION_POINTWISE_XDESC);
static_assert(number(cudnn::Attribute::kPointwiseB) == CUDNN_ATTR_OPERATION_POINTWISE_BDESC);
static_assert(number(cudnn::Attribute::kPointwiseResult) == CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
static_assert(number(cudnn::Attribute::kGraphOperations) == CUDNN_ATTR_OPERATIONGRAPH_OPS);
static_assert(number(cudnn::Attribute::kGraphEngineCount) ==
              CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT);
static_assert(number(cudnn::Attribute::kTensorAlignment) == CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT);
static_assert(number(cudnn::Attribute::kTensorType) == CUDNN_ATTR_TENSOR_DATA_TYPE);
static_assert(number(cudnn::Attribute::kTensorDims) == CUDNN_ATTR_TENSOR_DIMENSIONS);
static_assert(number(cudnn::Attribute::kTensorStrides) == CUDNN_ATTR_TENSOR_STRIDES);
static_assert(number(cudnn::Attribute::kTensorId) == CUDNN_ATTR_TENSOR_UNIQUE_ID);
static_assert(number(cudnn::Attribute::kTensorIsVirtual) == CUDNN_ATTR_TENSOR_IS_VIRTUAL);
static_assert(number(cudnn::Attribute::kTensorIsByValue) == CUDNN_ATTR_TENSOR_IS_BY_VALUE);
static_assert(number(cudnn::Attribute::kPackIds) == CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
static_assert(number(cudnn::Attribute::kPackPointers) == CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
static_assert(number(cudnn::Attribute::kPackWorkspace) == CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
static_assert(number(cudnn::Attribute::kEngineNumericalNote) == CUDNN_ATTR_ENGINE_NUMERICAL_NOTE);
static_assert(number(cudnn::Attribute::kMatmulComputeType) == CUDNN_ATTR_MATMUL_COMP_TYPE);
static_assert(number(cudnn::Attribute::kMatmulA) == CUDNN_ATTR_OPERATION_MATMUL_ADESC);
static_assert(number(cudnn::Attribute::kMatmulB) == CUDNN_ATTR_OPERATION_MATMUL_BDESC);
static_assert(number(cudnn::Attribute::kMatmulC) == CUDNN_ATTR_OPERATION_MATMUL_CDESC);
static_assert(number(cudnn::Attribute::kMatmulDescriptor) == CUDNN_ATTR_OPERATION_MATMUL_DESC);
static_assert(number(cudnn::Attribute::kReductionOperator) == CUDNN_ATTR_REDUCTION_OPERATOR);
static_assert(number(cudnn::Attribute::kReductionComputeType) == CUDNN_ATTR_REDUCTION_COMP_TYPE);
static_assert(number(cudnn::Attribute::kReductionX) == CUDNN_ATTR_OPERATION_REDUCTION_XDESC);
static_assert(number(cudnn::Attribute::kReductionResult) == CUDNN_ATTR_OPERATION_REDUCTION_YDESC);
static_assert(number(cudnn::Attribute::kReductionDescriptor) ==
              CUDNN_ATTR_OPERATION_REDUCTION_DESC);
static_assert(number(cudnn::Attribute::kResampleMode) == CUDNN_ATTR_RESAMPLE_MODE);
static_assert(number(cudnn::Attribute::kResampleComputeType) == CUDNN_ATTR_RESAMPLE_COMP_TYPE);
static_assert(number(cudnn::Attribute::kResampleSpatialDims) == CUDNN_ATTR_RESAMPLE_SPATIAL_DIMS);
static_assert(number(cudnn::Attribute::kResamplePostPaddings) == CUDNN_ATTR_RESAMPLE_POST_PADDINGS);
static_assert(number(cudnn::Attribute::kResamplePrePaddings) == CUDNN_ATTR_RESAMPLE_PRE_PADDINGS);
static_assert(number(cudnn::Attribute::kResampleStrides) == CUDNN_ATTR_RESAMPLE_STRIDES);
static_assert(number(cudnn::Attribute::kResampleWindow) == CUDNN_ATTR_RESAMPLE_WINDOW_DIMS);
static_assert(number(cudnn::Attribute::kResamplePaddingMode) == CUDNN_ATTR_RESAMPLE_PADDING_MODE);
static_assert(number(cudnn::Attribute::kResampleX) == CUDNN_ATTR_OPERATION_RESAMPLE_FWD_XDESC);
static_assert(number(cudnn::Attribute::kResampleResult) == CUDNN_ATTR_OPERATION_RESAMPLE_FWD_YDESC);
static_assert(number(cudnn::Attribute::kResampleDescriptor) ==
              CUDNN_ATTR_OPERATION_RESAMPLE_FWD_DESC);
static_assert(number(cudnn::Attribute::kNormMode) == CUDNN_ATTR_OPERATION_NORM_FWD_MODE);
static_assert(number(cudnn::Attribute::kNormPhase) == CUDNN_ATTR_OPERATION_NORM_FWD_PHASE);
static_assert(number(cudnn::Attribute::kNormX) == CUDNN_ATTR_OPERATION_NORM_FWD_XDESC);
static_assert(number(cudnn::Attribute::kNormScale) == CUDNN_ATTR_OPERATION_NORM_FWD_SCALE_DESC);
static_assert(number(cudnn::Attribute::kNormBias) == CUDNN_ATTR_OPERATION_NORM_FWD_BIAS_DESC);
static_assert(number(cudnn::Attribute::kNormEpsilon) == CUDNN_ATTR_OPERATION_NORM_FWD_EPSILON_DESC);
static_assert(number(cudnn::Attribute::kNormResult) == CUDNN_ATTR_OPERATION_NORM_FWD_YDESC);
static_assert(number(cudnn::Attribute::kDeviceNumber) == CUDNN_ATTR_DEVICEPROP_DEVICE_ID);
static_assert(number(cudnn::Attribute::kDeviceJson) == CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION);
static_assert(number(cudnn::Type::kDataType) == CUDNN_TYPE_DATA_TYPE);
static_assert(number(cudnn::Type::kBoolean) == CUDNN_TYPE_BOOLEAN);
static_assert(number(cudnn::Type::kInteger) == CUDNN_TYPE_INT64);
static_assert(number(cudnn::Type::kFloat) == CUDNN_TYPE_FLOAT);
static_assert(number(cudnn::Type::kPointer) == CUDNN_TYPE_VOID_PTR);
static_assert(number(cudnn::Type::kConvolutionMode) == CUDNN_TYPE_CONVOLUTION_MODE);
static_assert(number(cudnn::Type::kHeuristicMode) == CUDNN_TYPE_HEUR_MODE);
static_assert(number(cudnn::Type::kNumericalNote) == CUDNN_TYPE_NUMERICAL_NOTE);
static_assert(number(cudnn::Type::kPointwiseMode) == CUDNN_TYPE_POINTWISE_MODE);
static_assert(number(cudnn::Type::kDescriptor) == CUDNN_TYPE_BACKEND_DESCRIPTOR);
static_assert(number(cudnn::Type::kReductionOperator) == CUDNN_TYPE_REDUCTION_OPERATOR_TYPE);
static_assert(number(cudnn::Type::kResampleMode) == CUDNN_TYPE_RESAMPLE_MODE);
static_assert(number(cudnn::Type::kPaddingMode) == CUDNN_TYPE_PADDING_MODE);
static_assert(number(cudnn::Type::kInt32) == CUDNN_TYPE_INT32);
static_assert(number(cudnn::Type::kChar) == CUDNN_TYPE_CHAR);
static_assert(number(cudnn::Type::kFraction) == CUDNN_TYPE_FRACTION);
static_assert(number(cudnn::Type::kNormMode) == CUDNN_TYPE_NORM_MODE);
static_assert(number(cudnn::Type::kNormPhase) == CUDNN_TYPE_NORM_FWD_PHASE);
static_assert(number(cudnn::DataType::kFloat) == CUDNN_DATA_FLOAT);
static_assert(number(cudnn::DataType::kDouble) == CUDNN_DATA_DOUBLE);
static_assert(number(cudnn::DataType::kHalf) == CUDNN_DATA_HALF);
static_assert(number(cudnn::DataType::kBFloat16) == CUDNN_DATA_BFLOAT16);
static_assert(number(cudnn::PointwiseMode::kAdd) == CUDNN_POINTWISE_ADD);
static_assert(number(cudnn::PointwiseMode::kMul) == CUDNN_POINTWISE_MUL);
static_assert(number(cudnn::PointwiseMode::kDiv) == CUDNN_POINTWISE_DIV);
static_assert(number(cudnn::PointwiseMode::kSub) == CUDNN_POINTWISE_SUB);
static_assert(number(cudnn::PointwiseMode::kMax) == CUDNN_POINTWISE_MAX);
static_assert(number(cudnn::PointwiseMode::kSqrt) == CUDNN_POINTWISE_SQRT);
static_assert(number(cudnn::PointwiseMode::kPow) == CUDNN_POINTWISE_POW);
static_assert(number(cudnn::PointwiseMode::kAbs) == CUDNN_POINTWISE_ABS);
static_assert(number(cudnn::PointwiseMode::kCeil) == CUDNN_POINTWISE_CEIL);
static_assert(number(cudnn::PointwiseMode::kCos) == CUDNN_POINTWISE_COS);
static_assert(number(cudnn::PointwiseMode::kExp) == CUDNN_POINTWISE_EXP);
static_assert(number(cudnn::PointwiseMode::kFloor) == CUDNN_POINTWISE_FLOOR);
static_assert(number(cudnn::PointwiseMode::kLog) == CUDNN_POINTWISE_LOG);
static_assert(number(cudnn::PointwiseMode::kSin) == CUDNN_POINTWISE_SIN);
static_assert(number(cudnn::PointwiseMode::kErf) == CUDNN_POINTWISE_ERF);
static_assert(number(cudnn::PointwiseMode::kReciprocal) == CUDNN_POINTWISE_RECIPROCAL);
static_assert(number(cudnn::PointwiseMode::kRelu) == CUDNN_POINTWISE_RELU_FWD);
static_assert(number(cudnn::PointwiseMode::kTanh) == CUDNN_POINTWISE_TANH_FWD);
static_assert(number(cudnn::PointwiseMode::kSigmoid) == CUDNN_POINTWISE_SIGMOID_FWD);
static_assert(number(cudnn::PointwiseMode::kGelu) == CUDNN_POINTWISE_GELU_FWD);
static_assert(number(cudnn::PointwiseMode::kSwish) == CUDNN_POINTWISE_SWISH_FWD);
static_assert(number(cudnn::PointwiseMode::kGeluByTanh) == CUDNN_POINTWISE_GELU_APPROX_TANH_FWD);
static_assert(number(cudnn::ReductionOperator::kSum) == CUDNN_REDUCE_TENSOR_ADD);
static_assert(number(cudnn::ReductionOperator::kMaximum) == CUDNN_REDUCE_TENSOR_MAX);
static_assert(number(cudnn::ResampleMode::kMeanWithPadding) ==
              CUDNN_RESAMPLE_AVGPOOL_INCLUDE_PADDING);
static_assert(number(cudnn::ResampleMode::kMeanWithoutPadding) ==
              CUDNN_RESAMPLE_AVGPOOL_EXCLUDE_PADDING);
static_assert(number(cudnn::ResampleMode::kMaximum) == CUDNN_RESAMPLE_MAXPOOL);
static_assert(number(cudnn::PaddingMode::kZero) == CUDNN_ZERO_PAD);
static_assert(number(cudnn::PaddingMode::kNegativeInfinity) == CUDNN_NEG_INF_PAD);
static_assert(number(cudnn::NormMode::kLayer) == CUDNN_LAYER_NORM);
static_assert(number(cudnn::NormMode::kRootMeanSquare) == CUDNN_RMS_NORM);
static_assert(number(cudnn::HeuristicMode::kA) == CUDNN_HEUR_MODE_A);
static_assert(number(cudnn::HeuristicMode::kB) == CUDNN_HEUR_MODE_B);
static_assert(number(cudnn::HeuristicMode::kFallback) == CUDNN_HEUR_MODE_FALLBACK);
static_assert(number(cudnn::NumericalNote::kTensorCore) == CUDNN_NUMERICAL_NOTE_TENSOR_CORE);
static_assert(number(cudnn::NumericalNote::kDownConvertInputs) ==
              CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS);
static_assert(cudnn::kCrossCorrelation == CUDNN_CROSS_CORRELATION);
static_assert(cudnn::kNormInference == CUDNN_NORM_FWD_INFERENCE);
static_assert(cudnn::kBadParameter == CUDNN_STATUS_BAD_PARAM);

}  // namespace soapstone::gpu

#endif
