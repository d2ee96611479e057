// The numbers by which cuDNN 9 knows descriptors, attributes and modes: those that we use. They are
// written here so that no header of cuDNN has to be there to build; a test compares them with it.
#pragma once

#include <cstdint>

namespace soapstone::gpu::cudnn {

enum class Descriptor : int {
  kPointwise = 0,
  kConvolution = 1,
  kEngineConfiguration = 3,
  kHeuristics = 4,
  kPlan = 5,
  kKnobChoice = 7,
  kEngine = 2,
  kConvolutionForward = 10,
  kPointwiseOperation = 13,
  kOperationGraph = 15,
  kVariantPack = 16,
  kTensor = 17,
  kMatmul = 18,
  kMatmulOperation = 19,
  kReduction = 21,
  kReductionOperation = 22,
  kResample = 24,
  kResampleForward = 25,
  kNormForward = 29,
  kDeviceProperties = 38,
};

enum class Attribute : int {
  kPointwiseMode = 0,
  kPointwisePrecision = 1,
  kConvolutionComputeType = 100,
  kConvolutionMode = 101,
  kConvolutionDilations = 102,
  kConvolutionStrides = 103,
  kConvolutionPostPaddings = 104,
  kConvolutionPrePaddings = 105,
  kConvolutionSpatialDims = 106,
  kHeuristicsMode = 200,
  kHeuristicsGraph = 201,
  kHeuristicsResults = 202,
  kHeuristicsDeviceProperties = 204,
  kConfigurationEngine = 300,
  kConfigurationKnobs = 302,
  kConfigurationWorkspace = 303,
  kConfigurationSharedMemory = 304,
  kPlanConfiguration = 401,
  kPlanWorkspace = 402,
  kPlanDeviceProperties = 407,
  kKnobType = 600,
  kKnobValue = 601,
  kForwardAlpha = 700,
  kForwardBeta = 701,
  kForwardConvolution = 702,
  kForwardKernel = 703,
  kForwardImage = 704,
  kForwardResult = 705,
  kPointwiseDescriptor = 750,
  kPointwiseX = 751,
  kPointwiseB = 752,
  kPointwiseResult = 753,
  kGraphOperations = 801,
  kGraphEngineCount = 802,
  kTensorAlignment = 900,
  kTensorType = 901,
  kTensorDims = 902,
  kTensorStrides = 903,
  kTensorId = 906,
  kTensorIsVirtual = 907,
  kTensorIsByValue = 908,
  kPackIds = 1000,
  kPackPointers = 1001,
  kPackWorkspace = 1003,
  kEngineNumericalNote = 1303,
  kMatmulComputeType = 1500,
  kMatmulA = 1520,
  kMatmulB = 1521,
  kMatmulC = 1522,
  kMatmulDescriptor = 1523,
  kReductionOperator = 1600,
  kReductionComputeType = 1601,
  kReductionX = 1610,
  kReductionResult = 1611,
  kReductionDescriptor = 1612,
  kResampleMode = 1700,
  kResampleComputeType = 1701,
  kResampleSpatialDims = 1702,
  kResamplePostPaddings = 1703,
  kResamplePrePaddings = 1704,
  kResampleStrides = 1705,
  kResampleWindow = 1706,
  kResamplePaddingMode = 1708,
  kResampleX = 1710,
  kResampleResult = 1711,
  kResampleDescriptor = 1716,
  kNormMode = 2000,
  kNormPhase = 2001,
  kNormX = 2002,
  kNormScale = 2005,
  kNormBias = 2006,
  kNormEpsilon = 2007,
  kNormResult = 2013,
  kDeviceNumber = 2700,
  kDeviceJson = 2702,
};

/// Types of attributes.
enum class Type : int {
  kDataType = 1,
  kBoolean = 2,
  kInteger = 3,
  kFloat = 4,
  kPointer = 6,
  kConvolutionMode = 7,
  kHeuristicMode = 8,
  kKnobType = 9,
  kNumericalNote = 11,
  kPointwiseMode = 14,
  kDescriptor = 15,
  kReductionOperator = 18,
  kResampleMode = 21,
  kPaddingMode = 22,
  kInt32 = 23,
  kChar = 24,
  kFraction = 26,
  kNormMode = 27,
  kNormPhase = 28,
};

enum class DataType : int { kFloat = 0, kDouble = 1, kHalf = 2, kBFloat16 = 9 };

enum class PointwiseMode : int {
  kAdd = 0,
  kMul = 1,
  kMax = 3,
  kSqrt = 4,
  kDiv = 6,
  kPow = 8,
  kSub = 9,
  kAbs = 10,
  kCeil = 11,
  kCos = 12,
  kExp = 13,
  kFloor = 14,
  kLog = 15,
  kSin = 18,
  kErf = 20,
  kReciprocal = 22,
  kRelu = 100,
  kTanh = 101,
  kSigmoid = 102,
  kGelu = 104,
  kSwish = 106,
  kGeluByTanh = 107,
};

enum class ReductionOperator : int { kSum = 0, kMaximum = 3 };
enum class ResampleMode : int { kMeanWithPadding = 2, kMaximum = 3, kMeanWithoutPadding = 4 };
enum class PaddingMode : int { kZero = 0, kNegativeInfinity = 1 };
enum class NormMode : int { kLayer = 0, kRootMeanSquare = 4 };
enum class HeuristicMode : int { kB = 1, kFallback = 2, kA = 3 };
enum class NumericalNote : int { kTensorCore = 0, kDownConvertInputs = 1 };

/// The knob that says into how many parts a sum is divided.
inline constexpr int kKnobOfParts = 17;
inline constexpr int kCrossCorrelation = 1;
inline constexpr int kNormInference = 0;
/// Results from here up to 4000 say that what is asked for is wrong, or is not there.
inline constexpr int kBadParameter = 2000, kNotSupportedEnd = 4000;

}  // namespace soapstone::gpu::cudnn
