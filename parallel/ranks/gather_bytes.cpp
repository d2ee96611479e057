// See gather_bytes.h. Sizes are gathered first; then each rank sends its bytes to each other one,
// so that nothing is padded to the size of the largest.
#include "parallel/ranks/gather_bytes.h"

#include <cstdint>

namespace soapstone::parallel {
namespace {

runtime::DeviceAddress address_of(const void* data) {
  return runtime::DeviceAddress(reinterpret_cast<std::uintptr_t>(data));
}
runtime::Elements elements_of(std::span<const std::byte> bytes) {
  return {address_of(bytes.data()), static_cast<std::int64_t>(bytes.size()),
          core::DataType::kUInt8};
}

}  // namespace

core::Result<std::vector<Bytes>> gather_bytes(runtime::Collectives& ranks,
                                              std::span<const std::byte> mine) {
  const auto count = static_cast<std::size_t>(ranks.size());
  const auto here = static_cast<std::size_t>(ranks.rank());
  const std::uint64_t my_size = mine.size();
  std::vector<std::uint64_t> sizes(count);
  SOAPSTONE_RETURN_IF_ERROR(ranks.all_gather({address_of(&my_size), 1, core::DataType::kUInt64},
                                             address_of(sizes.data())));
  std::vector<Bytes> all(count);
  for (std::size_t rank = 0; rank < count; ++rank)
    if (rank != here) all[rank].resize(sizes[rank]);
  all[here].assign(mine.begin(), mine.end());

  SOAPSTONE_RETURN_IF_ERROR(ranks.begin_group());
  for (std::size_t distance = 1; distance < count; ++distance) {
    const std::size_t other = (here + distance) % count;
    if (!all[other].empty())
      SOAPSTONE_RETURN_IF_ERROR(ranks.receive(elements_of(all[other]), static_cast<int>(other)));
    if (!mine.empty())
      SOAPSTONE_RETURN_IF_ERROR(ranks.send(elements_of(all[here]), static_cast<int>(other)));
  }
  SOAPSTONE_RETURN_IF_ERROR(ranks.end_group());
  SOAPSTONE_RETURN_IF_ERROR(ranks.wait());
  return all;
}

}  // namespace soapstone::parallel
