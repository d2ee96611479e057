// A library that is loaded when it is needed, so that programs start without it.
#pragma once

#include <dlfcn.h>

#include <functional>
#include <string>

#include "core/base/result.h"

namespace soapstone::gpu {

/// Never closed: such libraries have threads of their own.
class DynamicLibrary {
 public:
  /// Errors: kUnavailable, with the loader's words.
  static core::Result<DynamicLibrary> open(const std::string& name) {
    void* const handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle) return core::unavailable(dlerror());
    return DynamicLibrary(handle);
  }

  /// Fills `function` with the symbol. False: there is none.
  template <class Function>
  bool find(const char* name, std::function<Function>& function) const {
    void* const symbol = dlsym(handle_, name);
    if (symbol) function = reinterpret_cast<Function*>(symbol);
    return symbol != nullptr;
  }

 private:
  explicit DynamicLibrary(void* handle) : handle_(handle) {}
  void* handle_;
};

}  // namespace soapstone::gpu
