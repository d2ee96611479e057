// Devices that need not be there: their properties as cuDNN asks for them, and their computing
// capability.
#pragma once

#include <span>
#include <string_view>

namespace soapstone::gpu {

struct KnownDevice {
  std::string_view name;  ///< "h200", as targets are named.
  int major = 0, minor = 0;
  std::string_view
      properties;  ///< JSON with the keys of CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION.
};

std::span<const KnownDevice> known_devices();
/// Null: there is none of that name.
const KnownDevice* find_known_device(std::string_view name);

}  // namespace soapstone::gpu
