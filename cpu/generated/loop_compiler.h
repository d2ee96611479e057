// The compiler of the machine, if it has one, found when kernels are made. What it makes is kept in
// files, so that a model is compiled once on a machine.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "core/base/result.h"

namespace soapstone::cpu {

/// See LoopText.
struct LoopFunction {
  void (*run)(void* const* tensors, long phase, long begin, long end) = nullptr;
};

/// Safe to use by several threads and processes at once: a file appears with all of its contents or
/// not at all, and one that is not what was written is made anew.
class LoopCompiler {
 public:
  /// The first of c++, g++ and clang++ on PATH that compiles loops; null: there is none. `folder`:
  /// where its results are kept; nothing is kept or read there if others may write to it.
  static std::unique_ptr<LoopCompiler> find(const std::filesystem::path& folder);

  /// The function that `source` (LoopText::source) is; lives as long as the process.
  /// Errors: kUnavailable, with the compiler's words.
  core::Result<LoopFunction> get(const std::string& source);
  /// How often the compiler ran.
  std::size_t runs() const { return runs_; }

 private:
  LoopCompiler(std::filesystem::path folder, std::string program, std::string identity);
  core::Result<LoopFunction> compile(const std::string& source, const std::filesystem::path& kept);

  std::filesystem::path folder_;  ///< Empty: nothing is kept.
  std::string program_;
  std::string identity_;  ///< All that a result depends on but the source.
  std::mutex mutex_;
  std::map<std::string, LoopFunction> loaded_;  ///< By digest.
  std::size_t runs_ = 0;
};

/// `$XDG_CACHE_HOME/soapstone/loops`, or under ~/.cache; empty: neither is an absolute path.
std::filesystem::path default_loop_folder();

}  // namespace soapstone::cpu
