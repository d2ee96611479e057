// Weights in the layout that kernels want, shared by all kernels of a backend that want the same:
// a recurrent network multiplies by one matrix in every step, and packed copies for each would not
// stay in the caches.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "core/graph/literal.h"
#include "cpu/base/onednn_v2.h"

namespace soapstone::cpu {

/// Keeps nothing alive by itself: packed weights live as long as a kernel holds them. Safe to use
/// by several threads.
class PackedWeights {
 public:
  using Bytes = std::shared_ptr<const std::byte>;
  /// The literal as `form` describes it; `make` packs it if nobody has.
  Bytes get(const core::LiteralPtr& literal, const Descriptor& form,
            const std::function<Bytes()>& make);

 private:
  struct Entry {
    std::weak_ptr<const core::Literal> literal;
    Descriptor form;
    std::weak_ptr<const std::byte> packed;
  };
  std::mutex mutex_;
  std::vector<Entry> entries_;
};

/// Memory for packed floats, aligned to cache lines.
std::shared_ptr<std::byte> allocate_packed(std::size_t bytes);

}  // namespace soapstone::cpu
