// See packed_weights.h.
#include "cpu/base/packed_weights.h"

#include <cstdlib>
#include <new>

#include "core/base/large_pages.h"

namespace soapstone::cpu {

PackedWeights::Bytes PackedWeights::get(const core::LiteralPtr& literal, const Descriptor& form,
                                        const std::function<Bytes()>& make) {
  const std::scoped_lock lock(mutex_);
  std::erase_if(entries_, [](const Entry& entry) { return entry.packed.expired(); });
  for (const Entry& entry : entries_)
    if (entry.form == form && entry.literal.lock() == literal)
      if (Bytes packed = entry.packed.lock()) return packed;
  Bytes packed = make();
  entries_.push_back({literal, form, packed});
  return packed;
}

std::shared_ptr<std::byte> allocate_packed(std::size_t bytes) {
  constexpr std::size_t kAlignment = 64;
  void* const memory =
      std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
  if (!memory) throw std::bad_alloc();
  core::prefer_large_pages({static_cast<std::byte*>(memory), bytes});
  return {static_cast<std::byte*>(memory), [](std::byte* at) { std::free(at); }};
}

}  // namespace soapstone::cpu
