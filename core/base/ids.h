// Distinct integer types for the things that are numbered, so that they cannot be mixed up.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <limits>

namespace soapstone::core {

/// A dense index that only equals ids of its own kind.
template <class Tag>
struct Id {
  std::uint32_t value = std::numeric_limits<std::uint32_t>::max();

  constexpr Id() = default;
  constexpr explicit Id(std::size_t v) : value(static_cast<std::uint32_t>(v)) {}
  /// Stands for "no such thing": an optional input left out, a tensor without a producer.
  static constexpr Id none() { return Id(); }
  constexpr bool valid() const { return value != std::numeric_limits<std::uint32_t>::max(); }
  constexpr std::size_t index() const { return value; }
  constexpr auto operator<=>(const Id&) const = default;
};

using NodeId = Id<struct NodeTag>;
using TensorId = Id<struct TensorTag>;
using RuleId = Id<struct RuleTag>;

}  // namespace soapstone::core

template <class Tag>
struct std::hash<soapstone::core::Id<Tag>> {
  std::size_t operator()(const soapstone::core::Id<Tag>& id) const noexcept { return id.value; }
};
