// See message_collectives.h. Parts go directly from each rank to each other one: between processes
// of one machine no way is shorter, and whoever has not come is known by its missing message.
#include "parallel/ranks/message_collectives.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "core/base/check.h"
#include "parallel/ranks/chunked_reduction.h"
#include "parallel/ranks/rank_messages.h"
#include "runtime/device/host_memory.h"

namespace soapstone::parallel {
namespace {

using runtime::DeviceAddress;
using runtime::Elements;
using runtime::host_pointer;
using runtime::Reduction;

/// Shorter tensors are gathered by all ranks and reduced by each: one message less to wait for.
constexpr std::size_t kGatheredBytes = std::size_t{1} << 16;  // All that a rank receives.

std::size_t bytes_of(const Elements& elements) {
  return static_cast<std::size_t>(elements.count) * core::size_bytes(elements.type);
}
std::span<std::byte> span_of(const Elements& elements) {
  return {host_pointer(elements.address), bytes_of(elements)};
}

class CollectiveName final : public CallName {
 public:
  CollectiveName(const char* call, const Elements& elements, const char* how = nullptr)
      : call_(call), elements_(elements), how_(how) {}
  std::string missing(const std::string& ranks) const override {
    return fmt::format("{} of {} {}{}{}: no call of rank {}", call_, elements_.count,
                       core::to_string(elements_.type), how_ ? ", " : "", how_ ? how_ : "", ranks);
  }

 private:
  const char* call_;
  const Elements& elements_;
  const char* how_;
};

class SubsetName final : public CallName {
 public:
  std::string missing(const std::string& ranks) const override {
    return fmt::format("subset: no call of rank {}", ranks);
  }
};

class ReceiveName final : public CallName {
 public:
  explicit ReceiveName(int rank) : rank_(rank) {}
  std::string missing(const std::string& ranks) const override {
    return fmt::format("no message from rank {} to rank {}", ranks, rank_);
  }

 private:
  int rank_;
};

class SendName final : public CallName {
 public:
  explicit SendName(int rank) : rank_(rank) {}
  std::string missing(const std::string& ranks) const override {
    return fmt::format("a message of rank {} was not taken by rank {}", rank_, ranks);
  }

 private:
  int rank_;
};

class MessageCollectives final : public runtime::Collectives {
 public:
  /// `number`: of the subset; 0: all.
  MessageCollectives(const std::shared_ptr<Connection>& connection, std::vector<int> ranks,
                     int number)
      : together_(connection, ranks, 2 * number),
        messages_(connection, std::move(ranks), 2 * number + 1) {}
  ~MessageCollectives() override {
    (void)wait();  // What is still under way may not outlive its memory; a failure was told before.
  }

  int rank() const override { return together_.place(); }
  int size() const override { return together_.size(); }

  core::Status all_reduce(const Elements& from, DeviceAddress to, Reduction reduction) override {
    SOAPSTONE_RETURN_IF_ERROR(check_reducible(from.type));
    const CollectiveName name("all_reduce", from, runtime::to_string(reduction));
    if (bytes_of(from) * static_cast<std::size_t>(size() - 1) <= kGatheredBytes)
      return reduce_gathered(from, to, reduction, name);
    return reduce_parts(from, to, reduction, name);
  }

  core::Status reduce_scatter(DeviceAddress from, const Elements& part,
                              Reduction reduction) override {
    SOAPSTONE_RETURN_IF_ERROR(check_reducible(part.type));
    ReductionParts parts{host_pointer(from), host_pointer(part.address), {}, part.type, reduction};
    for (int place = 0; place <= size(); ++place) parts.bounds.push_back(place * part.count);
    ChunkedReduction reducing(together_, std::move(parts), scratch_);
    return reducing.run(CollectiveName("reduce_scatter", part, runtime::to_string(reduction)),
                        [](std::int64_t) { return core::Done{}; });
  }

  core::Status all_gather(const Elements& part, DeviceAddress to) override {
    return gather(span_of(part), host_pointer(to), CollectiveName("all_gather", part));
  }

  core::Status broadcast(const Elements& data, int root) override {
    SOAPSTONE_RETURN_IF_ERROR(check_rank(root));
    std::vector<StartedMessage>& started = started_;
    if (root != rank()) {
      SOAPSTONE_RETURN_IF_ERROR(together_.receive(span_of(data), root, started));
    } else {
      for (int other = 0; other < size(); ++other)
        if (other != root) SOAPSTONE_RETURN_IF_ERROR(together_.send(span_of(data), other, started));
    }
    return together_.finish(started, CollectiveName("broadcast", data));
  }

  core::Status all_to_all(DeviceAddress from, const Elements& part) override {
    const std::size_t bytes = bytes_of(part), all = bytes * static_cast<std::size_t>(size());
    std::span<const std::byte> source(host_pointer(from), all);
    const std::span<std::byte> target(host_pointer(part.address), all);
    if (source.data() == target.data() && all > 0) {
      const std::span<std::byte> copy = scratch_.take(all);
      std::ranges::copy(source, copy.begin());
      source = copy;
    }
    const auto piece = [&](auto span, int place) {
      return span.subspan(static_cast<std::size_t>(place) * bytes, bytes);
    };
    const auto exchange = [&](int other) -> core::Status {
      SOAPSTONE_RETURN_IF_ERROR(together_.receive(piece(target, other), other, started_));
      return together_.send(piece(source, other), other, started_);
    };
    SOAPSTONE_RETURN_IF_ERROR(for_each_other(exchange));
    std::ranges::copy(piece(source, rank()), piece(target, rank()).begin());
    return together_.finish(started_, CollectiveName("all_to_all", part));
  }

  core::Status send(const Elements& data, int to) override {
    SOAPSTONE_RETURN_IF_ERROR(check_rank(to));
    return messages_.send(span_of(data), to, sent_);
  }

  core::Status receive(const Elements& data, int from) override {
    SOAPSTONE_RETURN_IF_ERROR(check_rank(from));
    SOAPSTONE_RETURN_IF_ERROR(messages_.receive(span_of(data), from, awaited_));
    if (in_group_) return core::Done{};
    return finish_receives();
  }

  core::Status begin_group() override {
    in_group_ = true;
    return core::Done{};
  }
  core::Status end_group() override {
    in_group_ = false;
    return finish_receives();
  }

  core::Result<std::unique_ptr<Collectives>> subset(std::span<const int> ranks) override;

  core::Status wait() override {
    return messages_.finish(sent_, SendName(together_.rank_at(rank())));
  }
  void abort(const std::string& reason) override {
    together_.connection()->messenger().abort(reason);
  }

 private:
  core::Status check_rank(int rank) const {
    if (rank >= 0 && rank < size()) return core::Done{};
    return core::invalid_input(fmt::format("there are {} ranks, and {} is none", size(), rank));
  }
  static core::Status check_reducible(core::DataType type) {
    if (runtime::can_reduce(type)) return core::Done{};
    return core::unsupported(fmt::format("{} cannot be reduced", core::to_string(type)));
  }

  core::Status finish_receives() {
    return messages_.finish(awaited_, ReceiveName(together_.rank_at(rank())));
  }

  /// The nearest ones first, so that not all begin with the same.
  template <class Call>
  core::Status for_each_other(const Call& call) const {
    for (int distance = 1; distance < size(); ++distance)
      SOAPSTONE_RETURN_IF_ERROR(call((rank() + distance) % size()));
    return core::Done{};
  }

  core::Status gather(std::span<const std::byte> part, std::byte* to, const CallName& name);
  core::Status reduce_gathered(const Elements& from, DeviceAddress to, Reduction reduction,
                               const CallName& name);
  core::Status reduce_parts(const Elements& from, DeviceAddress to, Reduction reduction,
                            const CallName& name);

  RankMessages together_;  ///< Of collective operations.
  RankMessages messages_;  ///< Of send() and receive().
  bool in_group_ = false;
  std::vector<StartedMessage> started_, sent_, awaited_;
  std::vector<const std::byte*> gathered_;
  Scratch scratch_;
};

core::Status MessageCollectives::gather(std::span<const std::byte> part, std::byte* to,
                                        const CallName& name) {
  const auto place_of = [&](int place) {
    return to + static_cast<std::size_t>(place) * part.size();
  };
  const auto exchange = [&](int other) -> core::Status {
    SOAPSTONE_RETURN_IF_ERROR(together_.receive({place_of(other), part.size()}, other, started_));
    return together_.send(part, other, started_);
  };
  SOAPSTONE_RETURN_IF_ERROR(for_each_other(exchange));
  if (!part.empty()) std::memmove(place_of(rank()), part.data(), part.size());
  return together_.finish(started_, name);
}

core::Status MessageCollectives::reduce_gathered(const Elements& from, DeviceAddress to,
                                                 Reduction reduction, const CallName& name) {
  const std::size_t bytes = bytes_of(from);
  const auto all = scratch_.take(static_cast<std::size_t>(size()) * bytes);
  SOAPSTONE_RETURN_IF_ERROR(gather(span_of(from), all.data(), name));
  gathered_.clear();
  for (std::size_t place = 0; place < static_cast<std::size_t>(size()); ++place)
    gathered_.push_back(all.data() + place * bytes);
  runtime::reduce_in_order(gathered_, from.count, from.type, reduction, host_pointer(to));
  return core::Done{};
}

/// Each rank reduces a part, and sends a chunk of it to the others while it reduces the next.
core::Status MessageCollectives::reduce_parts(const Elements& from, DeviceAddress to,
                                              Reduction reduction, const CallName& name) {
  std::byte* const result = host_pointer(to);
  ReductionParts parts{host_pointer(from.address), nullptr, {}, from.type, reduction};
  for (int place = 0; place <= size(); ++place)
    parts.bounds.push_back(from.count / size() * place +
                           std::min<std::int64_t>(place, from.count % size()));
  parts.to = result + static_cast<std::size_t>(parts.bounds[static_cast<std::size_t>(rank())]) *
                          core::size_bytes(from.type);
  ChunkedReduction reducing(together_, std::move(parts), scratch_);
  const auto chunk_of = [&](int place, std::int64_t chunk) -> std::span<std::byte> {
    const ElementRange range = reducing.range(place, chunk);
    return {result + reducing.bytes({0, range.begin}), reducing.bytes(range)};
  };
  const auto exchange = [&](int other, std::int64_t chunk) -> core::Status {
    const auto theirs = chunk_of(other, chunk), mine = chunk_of(rank(), chunk);
    if (!theirs.empty()) SOAPSTONE_RETURN_IF_ERROR(together_.receive(theirs, other, started_));
    if (mine.empty()) return core::Done{};
    return together_.send(mine, other, started_);
  };
  const auto spread = [&](std::int64_t chunk) -> core::Status {
    SOAPSTONE_RETURN_IF_ERROR(together_.finish(started_, name));  // the chunk before
    return for_each_other([&](int other) { return exchange(other, chunk); });
  };
  SOAPSTONE_RETURN_IF_ERROR(reducing.run(name, spread));
  return together_.finish(started_, name);
}

/// All its ranks take the first number that is free on each of them.
core::Result<std::unique_ptr<runtime::Collectives>>
MessageCollectives::subset(std::span<const int> ranks) {
  SOAPSTONE_RETURN_IF_ERROR(runtime::check_subset(ranks, rank(), size()));
  CHECK(!in_group_, "a subset within a group");
  Connection& connection = *together_.connection();
  const int mine = connection.next_number();
  std::vector<int> numbers(ranks.size(), mine);
  for (std::size_t k = 0; k < ranks.size(); ++k) {
    if (ranks[k] == rank()) continue;
    SOAPSTONE_RETURN_IF_ERROR(
        together_.receive(std::as_writable_bytes(std::span(&numbers[k], 1)), ranks[k], started_));
    SOAPSTONE_RETURN_IF_ERROR(
        together_.send(std::as_bytes(std::span(&mine, 1)), ranks[k], started_));
  }
  SOAPSTONE_RETURN_IF_ERROR(together_.finish(started_, SubsetName()));
  const int number = *std::ranges::max_element(numbers);
  if (number > (connection.messenger().largest_tag() - 1) / 2)
    return connection.fail(core::unavailable("too many subsets of ranks for MPI"));
  connection.take_number(number);
  std::vector<int> members;
  for (const int place : ranks) members.push_back(together_.rank_at(place));
  return std::unique_ptr<runtime::Collectives>(
      std::make_unique<MessageCollectives>(together_.connection(), std::move(members), number));
}

}  // namespace

std::unique_ptr<runtime::Collectives>
make_message_collectives(const std::shared_ptr<Connection>& connection) {
  std::vector<int> all(static_cast<std::size_t>(connection->messenger().size()));
  std::iota(all.begin(), all.end(), 0);
  return std::make_unique<MessageCollectives>(connection, std::move(all), 0);
}

}  // namespace soapstone::parallel
