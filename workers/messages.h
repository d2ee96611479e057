// The lines of the worker protocol, version 1: what we ask, and what an answer must look like.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/graph/tensor_type.h"
#include "workers/runtime_worker.h"

namespace soapstone::workers {

/// A tensor whose elements are in a file of the exchange folder.
struct TensorFile {
  std::string name;
  core::DataType type = core::DataType::kFloat32;
  core::Dims dims;
  std::string file;  ///< Without folder.
  std::uint64_t bytes() const {
    return static_cast<std::uint64_t>(core::element_count(dims)) * core::size_bytes(type);
  }
};

std::string hello_request(std::int64_t id);
/// Errors: kUnsupported: a name or path is not UTF-8.
core::Result<std::string> load_request(std::int64_t id, const std::filesystem::path& path,
                                       const LoadOptions& options);
core::Result<std::string> run_request(std::int64_t id, std::int64_t model,
                                      const std::filesystem::path& folder,
                                      std::span<const TensorFile> inputs);
std::string close_request(std::int64_t id, std::int64_t model);

// Errors of the functions below: kUnsupported if the runtime refuses (in its own words, cut to a
// decent length); kUnavailable if the line is no answer: no JSON, another id, fields that are
// missing, of another type, or out of range.
core::Result<RuntimeIdentity> hello_answer(std::string_view line, std::int64_t id);
core::Result<std::int64_t> load_answer(std::string_view line, std::int64_t id);
core::Result<std::vector<TensorFile>> run_answer(std::string_view line, std::int64_t id);

}  // namespace soapstone::workers
