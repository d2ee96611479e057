// The device that a program here runs on, and what it says if there is none. Nothing but the
// folders that such a device needs is linked: a machine with a compiler and CUDA can build this.
#pragma once

#include <charconv>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string_view>

#include "core/text/text.h"
#include "gpu/gpu_backend.h"
#include "ops/definition/registry.h"
#include "runtime/execution/executor.h"

namespace soapstone::device {

inline constexpr int kWrong = 1, kUsage = 2, kNoDevice = 7;

/// "cuda:0", or "reference", on which the programs themselves can be tried. Null: it was said why.
inline std::unique_ptr<runtime::Backend> open(std::string_view name) {
  constexpr std::string_view kCuda = "cuda:";
  if (name == "reference") return runtime::make_reference_backend();
  int ordinal = 0;
  const std::string_view digits = name.starts_with(kCuda) ? name.substr(kCuda.size()) : "";
  const auto [end, problem] = std::from_chars(digits.begin(), digits.end(), ordinal);
  if (problem != std::errc() || end != digits.end()) {
    std::fprintf(stderr, "there is no device '%s': cuda:0 or reference\n",
                 std::string(name).c_str());
    return nullptr;
  }
  auto backend = gpu::make_gpu_backend(ordinal);
  if (backend) return *std::move(backend);
  std::fprintf(stderr, "%s\n", backend.error().to_string().c_str());
  return nullptr;
}

inline core::Result<core::Graph> parse(std::string_view text) {
  return core::parse_graph(text, ops::registry(), ops::infer_types);
}

}  // namespace soapstone::device
