// See stub_driver.h.
#include "gpu/driver/stub_driver.h"

#include <cstdlib>

#include "gpu/driver/dynamic_library.h"

namespace soapstone::gpu {

core::Status provide_driver() {
  if (DynamicLibrary::open("libcuda.so.1")) return core::Done{};
  const char* const folders[] = {std::getenv("CUDA_PATH"), std::getenv("CUDA_HOME"),
                                 "/usr/local/cuda"};
  for (const char* folder : folders)
    for (const char* library : {"/lib64/stubs/libcuda.so", "/lib/stubs/libcuda.so"})
      // Its own name is libcuda.so.1: once it is loaded, the loader finds it by that.
      if (folder && DynamicLibrary::open(std::string(folder) + library)) return core::Done{};
  return core::unavailable("neither a CUDA driver nor the stub of the toolkit");
}

}  // namespace soapstone::gpu
