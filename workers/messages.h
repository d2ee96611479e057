// The lines of the worker protocol, version 2: what we ask, and what an answer must look like.
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

inline constexpr int kProtocol = 2;
inline constexpr std::size_t kFewestRounds = 3;
/// The most samples that one request may ask for, over all models, so that they fit in a line.
inline constexpr std::size_t kMostSamples = 10'000;
/// The largest file with a profile that is read: about 100,000 kernels.
inline constexpr std::uintmax_t kMostProfileBytes = std::uintmax_t{1} << 25;

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

/// Inputs in files of a folder, for a model that the worker has loaded.
struct ModelInputs {
  std::int64_t model = 0;
  const std::filesystem::path& folder;
  std::span<const TensorFile> inputs;
};

std::string hello_request(std::int64_t id);
// Errors of the next three: kUnsupported: a name, option or path is not UTF-8.
core::Result<std::string> load_request(std::int64_t id, const std::filesystem::path& path,
                                       const LoadOptions& options);
core::Result<std::string> run_request(std::int64_t id, const ModelInputs& inputs);
core::Result<std::string> prepare_request(std::int64_t id, const ModelInputs& inputs);
std::string time_request(std::int64_t id, std::span<const std::int64_t> models, std::size_t rounds,
                         double budget_us);
core::Result<std::string> profile_request(std::int64_t id, std::int64_t model, int runs,
                                          const std::filesystem::path& folder);
std::string close_request(std::int64_t id, std::int64_t model);

// Errors of the functions below: kUnsupported if the runtime refuses (in its own words, cut to a
// decent length); kUnavailable if the line is no answer: no JSON, another id, fields that are
// missing, of another type, or out of range.
core::Result<RuntimeIdentity> hello_answer(std::string_view line, std::int64_t id);
core::Result<std::int64_t> load_answer(std::string_view line, std::int64_t id);
core::Result<std::vector<TensorFile>> run_answer(std::string_view line, std::int64_t id);
/// An answer that says nothing more.
core::Status plain_answer(std::string_view line, std::int64_t id);
/// One entry a model; each has the same number of samples, from 3 to `rounds`.
core::Result<std::vector<Samples>> time_answer(std::string_view line, std::int64_t id,
                                               std::size_t models, std::size_t rounds);
/// The name of the file with the profile.
core::Result<std::string> profile_answer(std::string_view line, std::int64_t id);
/// The contents of that file. Errors: kUnavailable.
core::Result<RuntimeProfile> parse_profile(std::string_view text);

}  // namespace soapstone::workers
