// A product as descriptors of cuBLASLt, the algorithms that could compute it, and one call of it.
// Descriptors are made without a device; algorithms need one.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "gpu/forms/matrix_product.h"
#include "gpu/libraries/cublaslt.h"
#include "gpu/libraries/cudnn_graph.h"

namespace soapstone::gpu {

class CublasLtMatmul {
 public:
  /// Errors: kUnsupported for types that cuBLASLt does not multiply; kUnavailable.
  static core::Result<CublasLtMatmul> make(std::shared_ptr<const CublasLt> cublas,
                                           const MatrixProduct& product, FloatMath math);

  struct Algorithm {
    std::array<std::uint64_t, 8> data{};  ///< The library's.
    std::size_t workspace_bytes = 0;
  };
  /// Up to `most` of them, the most promising first. Errors: kUnavailable; kUnsupported if the
  /// device has none.
  core::Result<std::vector<Algorithm>> algorithms(void* handle, std::size_t workspace_limit,
                                                  int most) const;

  /// Addresses of the first elements on the device; null where there is no such matrix.
  struct Addresses {
    const void* left = nullptr;
    const void* right = nullptr;
    const void* addend = nullptr;
    const void* bias = nullptr;
    void* result = nullptr;
    void* workspace = nullptr;
  };
  core::Status run(void* handle, void* stream, const Algorithm& algorithm,
                   const Addresses& addresses) const;
  const MatrixProduct& product() const { return product_; }

 private:
  core::Status run_one(void* handle, void* stream, const Algorithm& algorithm,
                       const Addresses& addresses, std::int64_t call) const;
  /// A descriptor and the function that gives it back.
  using Owned = std::unique_ptr<void, std::function<void(void*)>>;
  CublasLtMatmul(std::shared_ptr<const CublasLt> cublas, const MatrixProduct& product)
      : cublas_(std::move(cublas)), product_(product) {}
  core::Status make_operation(FloatMath math);
  core::Status make_layout(const StridedMatrix& matrix, Owned& layout) const;

  std::shared_ptr<const CublasLt> cublas_;
  MatrixProduct product_;
  Owned operation_, left_, right_, addend_, result_;
};

}  // namespace soapstone::gpu
