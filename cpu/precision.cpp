// See precision.h.
#include "cpu/precision.h"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <dnnl.hpp>
#include <string>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace soapstone::cpu {
namespace {

using core::DataType;

/// The processor's own name for itself.
std::string processor_name() {
  std::string name;
#if defined(__x86_64__)
  std::array<unsigned, 12> words{};
  unsigned* at = words.data();
  for (unsigned leaf = 0x80000002u; leaf <= 0x80000004u; ++leaf, at += 4) {
    if (!__get_cpuid(leaf, at, at + 1, at + 2, at + 3)) return "x86-64 processor";
  }
  std::array<char, sizeof(words) + 1> text{};
  std::memcpy(text.data(), words.data(), sizeof(words));
  name = text.data();
#endif
  const std::size_t begin = name.find_first_not_of(' '), end = name.find_last_not_of(' ');
  return begin == std::string::npos ? "processor" : name.substr(begin, end - begin + 1);
}

std::string_view instruction_set(dnnl::cpu_isa isa) {
  switch (isa) {
  case dnnl::cpu_isa::sse41:
    return "sse4.1";
  case dnnl::cpu_isa::avx:
    return "avx";
  case dnnl::cpu_isa::avx2:
    return "avx2";
  case dnnl::cpu_isa::avx2_vnni:
    return "avx2-vnni";
  case dnnl::cpu_isa::avx512_core:
    return "avx512";
  case dnnl::cpu_isa::avx512_core_vnni:
    return "avx512-vnni";
  case dnnl::cpu_isa::avx512_core_bf16:
    return "avx512-bf16";
  case dnnl::cpu_isa::avx512_core_amx:
    return "avx512-amx";
  default:
    return "no vector instructions";
  }
}

/// As users know a precision.
std::string_view name_of(DataType precision) {
  return precision == DataType::kInt8 ? "int8" : core::to_string(precision);
}

bool multiplies_bf16(dnnl::cpu_isa isa) {
  return isa == dnnl::cpu_isa::avx512_core_bf16 || isa == dnnl::cpu_isa::avx512_core_amx;
}

/// oneDNN has integer kernels for SSE4.1, too. Ours are tested from AVX2 on.
bool multiplies_int8(dnnl::cpu_isa isa) {
  switch (isa) {
  case dnnl::cpu_isa::avx2:
  case dnnl::cpu_isa::avx2_vnni:
  case dnnl::cpu_isa::avx512_core:
  case dnnl::cpu_isa::avx512_core_vnni:
    return true;
  default:
    return multiplies_bf16(isa);
  }
}

}  // namespace

runtime::DeviceInfo describe_device(DataType precision, int threads) {
  const dnnl_version_t* version = dnnl_version();
  std::string libraries =
      fmt::format("oneDNN {}.{}.{}", version->major, version->minor, version->patch);
  if (precision != DataType::kFloat32) libraries += fmt::format(", {}", name_of(precision));
  return {fmt::format("{} ({})", processor_name(), instruction_set(dnnl::get_effective_cpu_isa())),
          std::move(libraries), threads};
}

core::Status check_precision(DataType precision) {
  if (precision == DataType::kFloat32) return core::Done{};
  const bool integers = precision == DataType::kInt8;
  if (!integers && precision != DataType::kBFloat16)
    return core::invalid_input(
        fmt::format("a CPU backend does not round factors to {}", core::to_string(precision)));
  const dnnl::cpu_isa isa = dnnl::get_effective_cpu_isa();
  if (integers ? multiplies_int8(isa) : multiplies_bf16(isa)) return core::Done{};
  return core::unavailable(fmt::format("this processor has no {} instructions: {} ({})",
                                       name_of(precision), processor_name(), instruction_set(isa)),
                           fmt::format("stay with f32, or run on a processor with {}",
                                       integers ? "avx2" : "avx512_bf16"));
}

}  // namespace soapstone::cpu
