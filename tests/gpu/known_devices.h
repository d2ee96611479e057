// Properties of devices that need not be there, as cuDNN asks for them.
#pragma once

#include <span>
#include <string_view>

namespace soapstone::gpu {

struct KnownDevice {
  std::string_view name;  ///< "h200", as targets are named.
  std::string_view
      properties;  ///< JSON with the keys of CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION.
};

std::span<const KnownDevice> known_devices();
/// Null: there is none of that name.
const KnownDevice* find_known_device(std::string_view name);

}  // namespace soapstone::gpu
