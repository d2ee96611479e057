// See nccl_rank.h. Communicators do not block: whoever waits asks again and again whether the work
// is done, whether NCCL has seen an error, and whether the time is over.
#include "gpu/collectives/nccl_rank.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include <fmt/format.h>

namespace soapstone::gpu {
namespace {

using core::DataType;
using runtime::DeviceAddress;
using runtime::Elements;
using Clock = std::chrono::steady_clock;

constexpr int kNotReady = 600;  ///< Of the driver: the stream has work left.
constexpr std::chrono::microseconds kPause{50};

/// By NCCL's numbers. None: NCCL has no such type.
std::optional<int> number_of(DataType type) {
  switch (type) {
  case DataType::kInt8:
    return 0;
  case DataType::kUInt8:
    return 1;
  case DataType::kInt32:
    return 2;
  case DataType::kUInt32:
    return 3;
  case DataType::kInt64:
    return 4;
  case DataType::kUInt64:
    return 5;
  case DataType::kFloat16:
    return 6;
  case DataType::kFloat32:
    return 7;
  case DataType::kFloat64:
    return 8;
  case DataType::kBFloat16:
    return 9;
  default:
    return std::nullopt;
  }
}

constexpr int number_of(runtime::Reduction reduction) {
  return reduction == runtime::Reduction::kSum ? 0 : reduction == runtime::Reduction::kMax ? 2 : 3;
}

void* pointer(DeviceAddress address) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): NCCL takes the device's addresses as pointers
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address.value()));
}

/// What is only moved: bytes, whatever their type.
std::size_t bytes_of(const Elements& elements) {
  return static_cast<std::size_t>(elements.count) * core::size_bytes(elements.type);
}
constexpr int kByte = 1;  ///< NCCL's number.

/// The first failure of a rank, in whichever of its communicators. Any thread may set it.
class FirstFailure {
 public:
  void set(core::Error error) {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = std::move(error);
  }
  std::optional<core::Error> get() {
    const std::lock_guard lock(mutex_);
    return error_;
  }

 private:
  std::mutex mutex_;
  std::optional<core::Error> error_;
};

class NcclRank final : public runtime::Collectives {
 public:
  NcclRank(std::shared_ptr<const Nccl> nccl, GpuQueue& queue, const NcclRankOptions& options,
           std::shared_ptr<FirstFailure> failure = std::make_shared<FirstFailure>())
      : nccl_(std::move(nccl)), queue_(queue), rank_(options.rank), size_(options.size),
        limit_(options.time_limit), failure_(std::move(failure)) {}

  ~NcclRank() override {
    if (!communicator_) return;
    const bool is_done = wait() && settle("ncclCommFinalize", nccl_->finalize(communicator_));
    if (is_done)
      nccl_->destroy(communicator_);
    else
      end_communicator();
  }

  core::Status init(const NcclId& id) {
    SOAPSTONE_RETURN_IF_ERROR(queue_.device().use());
    NcclConfig config;
    const int result = nccl_->init_rank(&communicator_, size_, id, rank_, &config);
    return settle("ncclCommInitRankConfig", result);
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  core::Status all_reduce(const Elements& from, DeviceAddress to,
                          runtime::Reduction reduction) override {
    SOAPSTONE_ASSIGN_OR_RETURN(const int type, reducible(from.type));
    return call("ncclAllReduce", [&] {
      return nccl_->all_reduce(pointer(from.address), pointer(to), count_of(from), type,
                               number_of(reduction), communicator_, queue_.stream());
    });
  }

  core::Status reduce_scatter(DeviceAddress from, const Elements& part,
                              runtime::Reduction reduction) override {
    SOAPSTONE_ASSIGN_OR_RETURN(const int type, reducible(part.type));
    return call("ncclReduceScatter", [&] {
      return nccl_->reduce_scatter(pointer(from), pointer(part.address), count_of(part), type,
                                   number_of(reduction), communicator_, queue_.stream());
    });
  }

  core::Status all_gather(const Elements& part, DeviceAddress to) override {
    return call("ncclAllGather", [&] {
      return nccl_->all_gather(pointer(part.address), pointer(to), bytes_of(part), kByte,
                               communicator_, queue_.stream());
    });
  }

  core::Status broadcast(const Elements& data, int root) override {
    SOAPSTONE_RETURN_IF_ERROR(check_rank(root));
    return call("ncclBroadcast", [&] {
      return nccl_->broadcast(pointer(data.address), pointer(data.address), bytes_of(data), kByte,
                              root, communicator_, queue_.stream());
    });
  }

  core::Status all_to_all(DeviceAddress from, const Elements& part) override {
    const bool has_group = in_group_;
    if (!has_group) SOAPSTONE_RETURN_IF_ERROR(begin_group());
    core::Status exchanged = core::Done{};
    for (int peer = 0; peer < size_ && exchanged; ++peer) {
      const std::size_t at = static_cast<std::size_t>(peer) * bytes_of(part);
      exchanged = send({from + at, part.count, part.type}, peer);
      if (exchanged) exchanged = receive({part.address + at, part.count, part.type}, peer);
    }
    if (has_group) return exchanged;
    const core::Status ended = end_group();
    return exchanged ? ended : exchanged;
  }

  core::Status send(const Elements& data, int to) override {
    SOAPSTONE_RETURN_IF_ERROR(check_rank(to));
    return call("ncclSend", [&] {
      return nccl_->send(pointer(data.address), bytes_of(data), kByte, to, communicator_,
                         queue_.stream());
    });
  }

  core::Status receive(const Elements& data, int from) override {
    SOAPSTONE_RETURN_IF_ERROR(check_rank(from));
    return call("ncclRecv", [&] {
      return nccl_->receive(pointer(data.address), bytes_of(data), kByte, from, communicator_,
                            queue_.stream());
    });
  }

  core::Status begin_group() override {
    in_group_ = true;
    return call("ncclGroupStart", [&] { return nccl_->begin_group(); });
  }
  core::Status end_group() override {
    in_group_ = false;
    // NCCL counts groups by thread: this one ends, whatever has failed in it.
    const int result = nccl_->end_group();
    if (core::Status usable = status(); !usable) return usable;
    return settle("ncclGroupEnd", result);
  }

  core::Result<std::unique_ptr<runtime::Collectives>> subset(std::span<const int> ranks) override {
    SOAPSTONE_RETURN_IF_ERROR(runtime::check_subset(ranks, rank_, size_));
    SOAPSTONE_ASSIGN_OR_RETURN(const NcclId id, id_of_subset(ranks));
    const auto place = static_cast<int>(std::ranges::find(ranks, rank_) - ranks.begin());
    auto part = std::make_unique<NcclRank>(
        nccl_, queue_, NcclRankOptions{place, static_cast<int>(ranks.size()), id, limit_},
        failure_);
    SOAPSTONE_RETURN_IF_ERROR(part->init(id));
    return std::unique_ptr<runtime::Collectives>(std::move(part));
  }

  core::Status wait() override {
    if (core::Status usable = status(); !usable) return usable;
    SOAPSTONE_ASSIGN_OR_RETURN(const Driver* const driver, queue_.device().use());
    const auto until = Clock::now() + limit_;
    for (;;) {
      const int result = driver->query_stream(queue_.stream());
      if (result == 0) return settle("ncclCommGetAsyncError", Nccl::kSuccess);
      if (result != kNotReady) return fail(checked(*driver, result, "cuStreamQuery").error());
      SOAPSTONE_RETURN_IF_ERROR(check_progress("a collective operation", until));
      std::this_thread::sleep_for(kPause);
    }
  }

  void abort(const std::string& reason) override { failure_->set(core::unavailable(reason)); }

 private:
  static std::size_t count_of(const Elements& elements) {
    return static_cast<std::size_t>(elements.count);
  }

  core::Status check_rank(int rank) const {
    if (rank >= 0 && rank < size_) return core::Done{};
    return core::invalid_input(fmt::format("there are {} ranks, and {} is none", size_, rank));
  }
  static core::Result<int> reducible(DataType type) {
    if (const auto number = number_of(type)) return *number;
    return core::unsupported(fmt::format("NCCL cannot reduce {}", core::to_string(type)));
  }

  /// The first of the ranks makes it and sends it to the others: splitting a communicator would
  /// take all of its ranks, not only those of the subset.
  core::Result<NcclId> id_of_subset(std::span<const int> ranks) {
    GpuMemory memory(queue_.shared_device());
    NcclId id;
    const std::span bytes = std::as_writable_bytes(std::span(id.bytes));
    SOAPSTONE_ASSIGN_OR_RETURN(const auto block,
                               runtime::DeviceBlock::allocate(memory, bytes.size()));
    const Elements message{block.address(), static_cast<std::int64_t>(bytes.size()),
                           DataType::kUInt8};
    if (rank_ != ranks.front()) {
      SOAPSTONE_RETURN_IF_ERROR(receive(message, ranks.front()));
      SOAPSTONE_RETURN_IF_ERROR(wait());
      SOAPSTONE_RETURN_IF_ERROR(memory.copy_out(block.address(), bytes));
      return id;
    }
    const auto made = make_nccl_id(*nccl_);
    if (!made) return fail(made.error());
    id = *made;
    SOAPSTONE_RETURN_IF_ERROR(memory.copy_in(block.address(), bytes));
    for (const int other : ranks.subspan(1)) SOAPSTONE_RETURN_IF_ERROR(send(message, other));
    SOAPSTONE_RETURN_IF_ERROR(wait());
    return id;
  }

  /// Errors: the first failure, after which the other ranks are freed from waiting for this one.
  core::Status status() {
    const std::optional<core::Error> failed = failure_->get();
    if (!failed) return core::Done{};
    end_communicator();
    return *failed;
  }

  core::Error fail(core::Error error) {
    failure_->set(std::move(error));
    return status().error();
  }
  /// By the thread of the rank, which alone knows the communicator.
  void end_communicator() {
    if (void* const ended = std::exchange(communicator_, nullptr)) nccl_->abort(ended);
  }

  core::Error error_of(const char* call, int result) const {
    const std::string message = fmt::format("{}: {} ({})", call, nccl_->error_text(result), result);
    return core::unavailable(message);
  }

  /// Within a group calls are only noted, and what has gone wrong shows at its end.
  template <class Call>
  core::Status call(const char* name, const Call& make) {
    if (core::Status usable = status(); !usable) return usable;
    SOAPSTONE_RETURN_IF_ERROR(queue_.device().use());
    const int result = make();
    if (in_group_ && result == Nccl::kSuccess) return core::Done{};
    return settle(name, result);
  }

  /// Waits while NCCL says that a call is going on.
  core::Status settle(const char* call, int result) {
    const auto until = Clock::now() + limit_;
    while (result == Nccl::kInProgress) {
      SOAPSTONE_RETURN_IF_ERROR(check_progress(call, until));
      if (const int asked = nccl_->async_error(communicator_, &result); asked != Nccl::kSuccess)
        return fail(error_of("ncclCommGetAsyncError", asked));
      if (result == Nccl::kInProgress) std::this_thread::sleep_for(kPause);
    }
    if (result != Nccl::kSuccess) return fail(error_of(call, result));
    return core::Done{};
  }

  core::Status check_progress(const char* what, Clock::time_point until) {
    if (core::Status usable = status(); !usable) return usable;
    int error = Nccl::kSuccess;
    const int asked = nccl_->async_error(communicator_, &error);
    if (asked != Nccl::kSuccess) return fail(error_of("ncclCommGetAsyncError", asked));
    if (error != Nccl::kSuccess && error != Nccl::kInProgress) return fail(error_of(what, error));
    if (Clock::now() < until) return core::Done{};
    return fail(core::unavailable(
        fmt::format("rank {}: {} took longer than {} ms", rank_, what, limit_.count())));
  }

  std::shared_ptr<const Nccl> nccl_;
  GpuQueue& queue_;
  const int rank_, size_;
  const std::chrono::milliseconds limit_;
  void* communicator_ = nullptr;
  bool in_group_ = false;
  const std::shared_ptr<FirstFailure> failure_;  ///< Shared with subsets.
};

}  // namespace

core::Result<std::unique_ptr<runtime::Collectives>>
make_nccl_rank(std::shared_ptr<const Nccl> nccl, GpuQueue& queue, const NcclRankOptions& options) {
  if (options.size < 1 || options.rank < 0 || options.rank >= options.size)
    return core::invalid_input(
        fmt::format("there are {} ranks, and {} is none", options.size, options.rank));
  auto rank = std::make_unique<NcclRank>(std::move(nccl), queue, options);
  SOAPSTONE_RETURN_IF_ERROR(rank->init(options.id));
  return std::unique_ptr<runtime::Collectives>(std::move(rank));
}

}  // namespace soapstone::gpu
