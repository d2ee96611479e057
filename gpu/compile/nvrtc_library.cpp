// See nvrtc_library.h.
#include "gpu/compile/nvrtc_library.h"

#include <cuda.h>

#include <fmt/format.h>

#include "gpu/driver/dynamic_library.h"

namespace soapstone::gpu {
namespace {

core::Result<Nvrtc> load_nvrtc() {
  constexpr int kMajor = CUDA_VERSION / 1000;
  SOAPSTONE_ASSIGN_OR_RETURN(const DynamicLibrary library,
                             DynamicLibrary::open(fmt::format("libnvrtc.so.{}", kMajor)));
  Nvrtc nvrtc;
  if (!library.find("nvrtcVersion", nvrtc.version) ||
      !library.find("nvrtcGetErrorString", nvrtc.error_text) ||
      !library.find("nvrtcCreateProgram", nvrtc.create) ||
      !library.find("nvrtcDestroyProgram", nvrtc.destroy) ||
      !library.find("nvrtcCompileProgram", nvrtc.compile) ||
      !library.find("nvrtcGetProgramLogSize", nvrtc.log_size) ||
      !library.find("nvrtcGetProgramLog", nvrtc.log) ||
      !library.find("nvrtcGetCUBINSize", nvrtc.cubin_size) ||
      !library.find("nvrtcGetCUBIN", nvrtc.cubin) ||
      !library.find("nvrtcGetPTXSize", nvrtc.ptx_size) || !library.find("nvrtcGetPTX", nvrtc.ptx))
    return core::unavailable("the library lacks functions of NVRTC");
  return nvrtc;
}

}  // namespace

core::Result<const Nvrtc*> nvrtc() {
  static const core::Result<Nvrtc> loaded = load_nvrtc();
  if (!loaded)
    return core::unavailable(fmt::format("no NVRTC: {}", loaded.error().message),
                             "install the CUDA toolkit, or add its libraries to the loader's path");
  return &*loaded;
}

}  // namespace soapstone::gpu
