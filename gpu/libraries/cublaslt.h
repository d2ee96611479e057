// cuBLASLt, found at run time. Functions are values, so that tests can make any of them fail.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "core/base/result.h"

namespace soapstone::gpu {

/// Results are those of the library: 0 is success. Types of elements, of computation and names of
/// attributes are its numbers.
struct CublasLt {
  std::function<std::size_t()> version;
  std::function<const char*(int)> error_name;

  std::function<int(void**)> create_handle;
  std::function<int(void*)> destroy_handle;
  std::function<int(void**, int, int)> create_matmul;  ///< Computation, type of factors.
  std::function<int(void*)> destroy_matmul;
  std::function<int(void*, int, const void*, std::size_t)> set_matmul;
  /// Type, rows, columns, elements from column to column.
  std::function<int(void**, int, std::uint64_t, std::uint64_t, std::int64_t)> create_layout;
  std::function<int(void*)> destroy_layout;
  std::function<int(void*, int, const void*, std::size_t)> set_layout;
  std::function<int(void**)> create_preference;
  std::function<int(void*)> destroy_preference;
  std::function<int(void*, int, const void*, std::size_t)> set_preference;

  /// Handle, product, layouts of both factors, of the addend and of the result, preference, most
  /// results, results (cublasLtMatmulHeuristicResult_t), how many there are.
  std::function<int(void*, void*, void*, void*, void*, void*, void*, int, void*, int*)> heuristics;
  /// Handle, product, alpha, left and its layout, right and its layout, beta, addend and its
  /// layout, result and its layout, algorithm, workspace and its size, stream.
  std::function<int(void*, void*, const void*, const void*, void*, const void*, void*, const void*,
                    const void*, void*, void*, void*, const void*, void*, std::size_t, void*)>
      multiply;
};

/// Errors: kUnavailable if the library is not there or lacks a function.
core::Result<std::shared_ptr<const CublasLt>>
load_cublaslt(const std::string& library = "libcublasLt.so.13");

/// Success; kUnsupported for what it refuses or lacks, kUnavailable for all else.
core::Status checked(const CublasLt& cublas, int result, const char* call);

}  // namespace soapstone::gpu
