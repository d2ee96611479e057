// Collectives of the host as a communicator of bytes.
#pragma once

#include <algorithm>

#include "parallel/ranks/communicator.h"
#include "runtime/collectives/collectives.h"

namespace soapstone::parallel {

class CollectivesCommunicator final : public Communicator {
 public:
  explicit CollectivesCommunicator(runtime::Collectives& all) : all_(all) {}
  std::size_t rank() const override { return static_cast<std::size_t>(all_.rank()); }
  std::size_t size() const override { return static_cast<std::size_t>(all_.size()); }
  core::Result<std::vector<Bytes>> all_gather(std::span<const std::byte> mine) override {
    const auto at = [](const void* p) {
      return runtime::DeviceAddress(reinterpret_cast<std::uintptr_t>(p));
    };
    std::int64_t size = static_cast<std::int64_t>(mine.size());
    std::vector<std::int64_t> sizes(this->size());
    SOAPSTONE_RETURN_IF_ERROR(
        all_.all_gather({at(&size), 1, core::DataType::kInt64}, at(sizes.data())));
    SOAPSTONE_RETURN_IF_ERROR(all_.wait());
    const std::int64_t most = std::max<std::int64_t>(1, *std::ranges::max_element(sizes));
    Bytes own(static_cast<std::size_t>(most)), all(own.size() * this->size());
    std::ranges::copy(mine, own.begin());
    SOAPSTONE_RETURN_IF_ERROR(
        all_.all_gather({at(own.data()), most, core::DataType::kUInt8}, at(all.data())));
    SOAPSTONE_RETURN_IF_ERROR(all_.wait());
    std::vector<Bytes> result;
    for (std::size_t r = 0; r < sizes.size(); ++r) {
      const auto first = all.begin() + static_cast<std::ptrdiff_t>(r * own.size());
      result.emplace_back(first, first + sizes[r]);
    }
    return result;
  }
  [[noreturn]] void abort(int) override { std::abort(); }

 private:
  runtime::Collectives& all_;
};

}  // namespace soapstone::parallel
