// See cublaslt_matmul.h.
#include "gpu/libraries/cublaslt_matmul.h"

#include <cublasLt.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>

namespace soapstone::gpu {
namespace {

static_assert(sizeof(CublasLtMatmul::Algorithm::data) == sizeof(cublasLtMatmulAlgo_t));

std::optional<cudaDataType> cuda_type_of(core::DataType type) {
  switch (type) {
  case core::DataType::kFloat32:
    return CUDA_R_32F;
  case core::DataType::kFloat64:
    return CUDA_R_64F;
  case core::DataType::kFloat16:
    return CUDA_R_16F;
  case core::DataType::kBFloat16:
    return CUDA_R_16BF;
  default:
    return std::nullopt;
  }
}

cublasComputeType_t computation_of(core::DataType type, FloatMath math) {
  if (type == core::DataType::kFloat64) return CUBLAS_COMPUTE_64F;
  const bool rounds = type == core::DataType::kFloat32 && math == FloatMath::kTensorFloat32;
  return rounds ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
}

cublasLtEpilogue_t epilogue_of(const MatrixProduct& product) {
  const bool has_bias = product.bias.has_value();
  switch (product.function) {
  case MatrixFunction::kNone:
    return has_bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
  case MatrixFunction::kRelu:
    return has_bias ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_RELU;
  case MatrixFunction::kGelu:
    return has_bias ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_GELU;
  }
  return CUBLASLT_EPILOGUE_DEFAULT;
}

/// Bytes that the addresses of all calls are multiples of, given that the whole tensor begins at
/// one of 64. `distance`: of a loop, in that tensor.
std::uint32_t alignment_of(const MatrixProduct& product, const StridedMatrix& matrix,
                           std::int64_t OuterLoop::*distance) {
  constexpr std::int64_t kOfTensors = 64;
  const auto size = static_cast<std::int64_t>(core::size_bytes(product.data_type));
  std::int64_t alignment = std::gcd(kOfTensors, matrix.offset * size);
  for (const OuterLoop& loop : product.outer)
    alignment = std::gcd(alignment, loop.*distance * size);
  return static_cast<std::uint32_t>(alignment);
}

/// A number of the type in which cuBLASLt scales.
struct Scale {
  Scale(double value, core::DataType type)
      : wide(value), narrow(static_cast<float>(value)), is_wide(type == core::DataType::kFloat64) {}
  const void* get() const {
    return is_wide ? static_cast<const void*>(&wide) : static_cast<const void*>(&narrow);
  }
  double wide;
  float narrow;
  bool is_wide;
};

}  // namespace

core::Result<CublasLtMatmul> CublasLtMatmul::make(std::shared_ptr<const CublasLt> cublas,
                                                  const MatrixProduct& product, FloatMath math) {
  CublasLtMatmul matmul(std::move(cublas), product);
  SOAPSTONE_RETURN_IF_ERROR(matmul.make_operation(math));
  const MatrixProduct& p = matmul.product_;
  SOAPSTONE_RETURN_IF_ERROR(matmul.make_layout(p.left, matmul.left_));
  SOAPSTONE_RETURN_IF_ERROR(matmul.make_layout(p.right, matmul.right_));
  SOAPSTONE_RETURN_IF_ERROR(matmul.make_layout(p.addend.value_or(p.result), matmul.addend_));
  SOAPSTONE_RETURN_IF_ERROR(matmul.make_layout(p.result, matmul.result_));
  return matmul;
}

core::Status CublasLtMatmul::make_operation(FloatMath math) {
  const auto type = cuda_type_of(product_.data_type);
  if (!type) return core::unsupported("cuBLASLt multiplies floating-point matrices only");
  const cudaDataType scale_type = *type == CUDA_R_64F ? CUDA_R_64F : CUDA_R_32F;
  void* created = nullptr;
  const int status =
      cublas_->create_matmul(&created, computation_of(product_.data_type, math), scale_type);
  operation_ = Owned(created, cublas_->destroy_matmul);
  SOAPSTONE_RETURN_IF_ERROR(checked(*cublas_, status, "cublasLtMatmulDescCreate"));
  const auto set = [&](cublasLtMatmulDescAttributes_t attribute, const auto& value) {
    return checked(*cublas_, cublas_->set_matmul(created, attribute, &value, sizeof value),
                   "cublasLtMatmulDescSetAttribute");
  };
  const auto operation_for = [](const StridedMatrix& matrix) -> std::int32_t {
    return matrix.is_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
  };
  SOAPSTONE_RETURN_IF_ERROR(set(CUBLASLT_MATMUL_DESC_TRANSA, operation_for(product_.left)));
  SOAPSTONE_RETURN_IF_ERROR(set(CUBLASLT_MATMUL_DESC_TRANSB, operation_for(product_.right)));
  const auto epilogue = static_cast<std::uint32_t>(epilogue_of(product_));
  return set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue);
}

core::Status CublasLtMatmul::make_layout(const StridedMatrix& matrix, Owned& layout) const {
  void* created = nullptr;
  const int status = cublas_->create_layout(
      &created, *cuda_type_of(product_.data_type), static_cast<std::uint64_t>(matrix.rows),
      static_cast<std::uint64_t>(matrix.columns), matrix.leading);
  layout = Owned(created, cublas_->destroy_layout);
  SOAPSTONE_RETURN_IF_ERROR(checked(*cublas_, status, "cublasLtMatrixLayoutCreate"));
  if (product_.batch == 1) return core::Done{};
  const auto set = [&](cublasLtMatrixLayoutAttribute_t attribute, const auto& value) {
    return checked(*cublas_, cublas_->set_layout(created, attribute, &value, sizeof value),
                   "cublasLtMatrixLayoutSetAttribute");
  };
  const auto batch = static_cast<std::int32_t>(product_.batch);
  SOAPSTONE_RETURN_IF_ERROR(set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, batch));
  return set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, matrix.batch_stride);
}

core::Result<std::vector<CublasLtMatmul::Algorithm>>
CublasLtMatmul::algorithms(void* handle, std::size_t workspace_limit, int most) const {
  void* created = nullptr;
  const int status = cublas_->create_preference(&created);
  const Owned preference(created, cublas_->destroy_preference);
  SOAPSTONE_RETURN_IF_ERROR(checked(*cublas_, status, "cublasLtMatmulPreferenceCreate"));
  const auto set = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
    return checked(*cublas_, cublas_->set_preference(created, attribute, &value, sizeof value),
                   "cublasLtMatmulPreferenceSetAttribute");
  };
  const auto limit = static_cast<std::uint64_t>(workspace_limit);
  SOAPSTONE_RETURN_IF_ERROR(set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, limit));
  const MatrixProduct& p = product_;
  const StridedMatrix& addend = p.addend ? *p.addend : p.result;
  const auto set_alignment = [&](cublasLtMatmulPreferenceAttributes_t attribute,
                                 const StridedMatrix& matrix, std::int64_t OuterLoop::*distance) {
    return set(attribute, alignment_of(p, matrix, distance));
  };
  SOAPSTONE_RETURN_IF_ERROR(
      set_alignment(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, p.left, &OuterLoop::left));
  SOAPSTONE_RETURN_IF_ERROR(
      set_alignment(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, p.right, &OuterLoop::right));
  SOAPSTONE_RETURN_IF_ERROR(set_alignment(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, addend,
                                          p.addend ? &OuterLoop::addend : &OuterLoop::result));
  SOAPSTONE_RETURN_IF_ERROR(
      set_alignment(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, p.result, &OuterLoop::result));
  std::vector<cublasLtMatmulHeuristicResult_t> found(static_cast<std::size_t>(most));
  int count = 0;
  SOAPSTONE_RETURN_IF_ERROR(checked(*cublas_,
                                    cublas_->heuristics(handle, operation_.get(), left_.get(),
                                                        right_.get(), addend_.get(), result_.get(),
                                                        created, most, found.data(), &count),
                                    "cublasLtMatmulAlgoGetHeuristic"));
  std::vector<Algorithm> algorithms;
  for (int k = 0; k < std::min(count, most); ++k) {
    const auto& result = found[static_cast<std::size_t>(k)];
    if (result.state != CUBLAS_STATUS_SUCCESS) continue;
    algorithms.push_back({{}, result.workspaceSize});
    std::memcpy(algorithms.back().data.data(), &result.algo, sizeof result.algo);
  }
  return algorithms;
}

core::Status CublasLtMatmul::run(void* handle, void* stream, const Algorithm& algorithm,
                                 const Addresses& addresses) const {
  if (product_.bias)
    SOAPSTONE_RETURN_IF_ERROR(
        checked(*cublas_,
                cublas_->set_matmul(operation_.get(), CUBLASLT_MATMUL_DESC_BIAS_POINTER,
                                    &addresses.bias, sizeof addresses.bias),
                "cublasLtMatmulDescSetAttribute"));
  std::int64_t calls = 1;
  for (const OuterLoop& loop : product_.outer) calls *= loop.size;
  for (std::int64_t call = 0; call < calls; ++call)
    SOAPSTONE_RETURN_IF_ERROR(run_one(handle, stream, algorithm, addresses, call));
  return core::Done{};
}

core::Status CublasLtMatmul::run_one(void* handle, void* stream, const Algorithm& algorithm,
                                     const Addresses& addresses, std::int64_t call) const {
  std::int64_t left = 0, right = 0, addend = 0, result = 0;
  for (auto loop = product_.outer.rbegin(); loop != product_.outer.rend(); ++loop) {
    const std::int64_t at = call % loop->size;
    call /= loop->size;
    left += at * loop->left;
    right += at * loop->right;
    addend += at * loop->addend;
    result += at * loop->result;
  }
  const auto bytes = static_cast<std::int64_t>(core::size_bytes(product_.data_type));
  const auto moved = [&](const void* from, std::int64_t elements) {
    return static_cast<const char*>(from) + elements * bytes;
  };
  void* const to = static_cast<char*>(addresses.result) + result * bytes;
  const void* const added = addresses.addend ? moved(addresses.addend, addend) : to;
  const Scale alpha(product_.alpha, product_.data_type), beta(product_.beta, product_.data_type);
  return checked(*cublas_,
                 cublas_->multiply(handle, operation_.get(), alpha.get(),
                                   moved(addresses.left, left), left_.get(),
                                   moved(addresses.right, right), right_.get(), beta.get(), added,
                                   addend_.get(), to, result_.get(), algorithm.data.data(),
                                   addresses.workspace, algorithm.workspace_bytes, stream),
                 "cublasLtMatmul");
}

}  // namespace soapstone::gpu
