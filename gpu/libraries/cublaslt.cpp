// See cublaslt.h.
#include "gpu/libraries/cublaslt.h"

#include <cublasLt.h>

#include <fmt/format.h>

#include "gpu/driver/dynamic_library.h"

namespace soapstone::gpu {

core::Result<std::shared_ptr<const CublasLt>> load_cublaslt(const std::string& name) {
  SOAPSTONE_ASSIGN_OR_RETURN(const DynamicLibrary library, DynamicLibrary::open(name));
  auto c = std::make_shared<CublasLt>();
  if (!library.find("cublasLtGetVersion", c->version) ||
      !library.find("cublasLtGetStatusName", c->error_name) ||
      !library.find("cublasLtCreate", c->create_handle) ||
      !library.find("cublasLtDestroy", c->destroy_handle) ||
      !library.find("cublasLtMatmulDescCreate", c->create_matmul) ||
      !library.find("cublasLtMatmulDescDestroy", c->destroy_matmul) ||
      !library.find("cublasLtMatmulDescSetAttribute", c->set_matmul) ||
      !library.find("cublasLtMatrixLayoutCreate", c->create_layout) ||
      !library.find("cublasLtMatrixLayoutDestroy", c->destroy_layout) ||
      !library.find("cublasLtMatrixLayoutSetAttribute", c->set_layout) ||
      !library.find("cublasLtMatmulPreferenceCreate", c->create_preference) ||
      !library.find("cublasLtMatmulPreferenceDestroy", c->destroy_preference) ||
      !library.find("cublasLtMatmulPreferenceSetAttribute", c->set_preference) ||
      !library.find("cublasLtMatmulAlgoGetHeuristic", c->heuristics) ||
      !library.find("cublasLtMatmul", c->multiply))
    return core::unavailable(name + " is no cuBLASLt");
  return std::shared_ptr<const CublasLt>(std::move(c));
}

core::Status checked(const CublasLt& cublas, int result, const char* call) {
  if (result == CUBLAS_STATUS_SUCCESS) return core::Done{};
  const std::string message =
      fmt::format("{} says {} ({})", call, result, cublas.error_name(result));
  const bool is_refused =
      result == CUBLAS_STATUS_INVALID_VALUE || result == CUBLAS_STATUS_NOT_SUPPORTED;
  return is_refused ? core::unsupported(message) : core::unavailable(message);
}

}  // namespace soapstone::gpu
