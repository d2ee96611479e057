// See value_pool.h.
#include "parallel/running/value_pool.h"

#include <algorithm>
#include <map>
#include <new>
#include <utility>

#include "core/base/large_pages.h"

namespace soapstone::parallel {
namespace {

constexpr std::align_val_t kAlignment{64};

std::size_t size_of(const core::TensorType& type) {
  return static_cast<std::size_t>(core::element_count(*core::concrete(type.shape))) *
         core::size_bytes(type.data_type);
}

}  // namespace

struct ValuePool::Free {
  struct Delete {
    void operator()(std::byte* at) const { ::operator delete[](at, kAlignment); }
  };
  using OwnedBytes = std::unique_ptr<std::byte, Delete>;

  std::multimap<std::size_t, OwnedBytes> blocks;  ///< By size.
  std::size_t bytes = 0;                          ///< Of these and of those in use.
};

Buffer::Buffer(std::shared_ptr<std::byte> bytes, const core::TensorType& type)
    : type_(type.data_type), dims_(*core::concrete(type.shape)), size_(size_of(type)),
      bytes_(std::move(bytes)) {}

core::LiteralPtr Buffer::value() const {
  return std::make_shared<const core::Literal>(
      core::Literal::view(type_, dims_, {bytes_.get(), size_}, bytes_));
}

ValuePool::ValuePool() : free_(std::make_shared<Free>()) {}

Buffer ValuePool::make(const core::TensorType& type) {
  const std::size_t size = std::max<std::size_t>(size_of(type), 1);
  Free::OwnedBytes bytes;
  if (const auto known = free_->blocks.find(size); known != free_->blocks.end()) {
    bytes = std::move(known->second);
    free_->blocks.erase(known);
  } else {
    bytes.reset(static_cast<std::byte*>(::operator new[](size, kAlignment)));
    core::prefer_large_pages({bytes.get(), size});
    free_->bytes += size;
  }
  const auto give_back = [free = free_, size](std::byte* at) {
    free->blocks.emplace(size, Free::OwnedBytes(at));
  };
  return {std::shared_ptr<std::byte>(bytes.release(), give_back), type};
}

std::size_t ValuePool::bytes() const { return free_->bytes; }

}  // namespace soapstone::parallel
