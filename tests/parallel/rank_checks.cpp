// See rank_checks.h.
#include "tests/parallel/rank_checks.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <numeric>
#include <random>

#include "core/base/float16.h"

namespace soapstone::parallel::test {
namespace {

using core::DataType;
using runtime::Collectives;
using runtime::DeviceAddress;
using runtime::Elements;
using runtime::Reduction;
using Record = std::vector<std::byte>;

template <class T>
DeviceAddress address_of(const std::vector<T>& values) {
  return DeviceAddress(reinterpret_cast<std::uintptr_t>(values.data()));
}
template <class T>
Elements all_of(const std::vector<T>& values, DataType type) {
  return {address_of(values), static_cast<std::int64_t>(values.size()), type};
}
template <class T>
void append(Record& record, const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  record.insert(record.end(), bytes.begin(), bytes.end());
}

constexpr DataType kNumbers[] = {DataType::kFloat32,  DataType::kFloat64, DataType::kFloat16,
                                 DataType::kBFloat16, DataType::kInt64,   DataType::kInt32,
                                 DataType::kInt16,    DataType::kInt8,    DataType::kUInt64,
                                 DataType::kUInt32,   DataType::kUInt16,  DataType::kUInt8};

/// Any bits, but for floats numbers of many magnitudes: their sums depend on the order.
void draw(std::mt19937_64& random, DataType type, std::byte* element) {
  const float number = std::ldexp(static_cast<float>(static_cast<std::int64_t>(random())),
                                  static_cast<int>(random() % 12) - 66);
  std::uint64_t bits = random();
  if (type == DataType::kFloat32) bits = std::bit_cast<std::uint32_t>(number);
  if (type == DataType::kFloat64) bits = std::bit_cast<std::uint64_t>(number / 3.0);
  if (type == DataType::kFloat16) bits = core::f16_from_float(number);
  if (type == DataType::kBFloat16) bits = core::bf16_from_float(number);
  std::memcpy(element, &bits, core::size_bytes(type));
}

/// The elements that a rank gives: every rank can make it for all.
Record input_of(int rank, std::size_t count, DataType type) {
  std::mt19937_64 random(static_cast<std::uint64_t>(rank) * 1009 + count * 31 +
                         static_cast<std::uint64_t>(type));
  Record bytes(count * core::size_bytes(type));
  for (std::size_t at = 0; at < bytes.size(); at += core::size_bytes(type))
    draw(random, type, bytes.data() + at);
  return bytes;
}

Record reduction_of(int ranks, std::size_t count, DataType type, Reduction reduction) {
  std::vector<Record> inputs;
  for (int rank = 0; rank < ranks; ++rank) inputs.push_back(input_of(rank, count, type));
  std::vector<const std::byte*> from;
  for (const Record& input : inputs) from.push_back(input.data());
  Record result(inputs[0].size());
  runtime::reduce_in_order(from, static_cast<std::int64_t>(count), type, reduction, result.data());
  return result;
}

core::Status reduce(Collectives& ranks, std::size_t count, DataType type, Reduction reduction,
                    Record& record) {
  const Record mine = input_of(ranks.rank(), count, type);
  const Record wanted = reduction_of(ranks.size(), count, type, reduction);
  const auto elements = static_cast<std::int64_t>(count);
  Record apart(mine.size()), within = mine;
  SOAPSTONE_RETURN_IF_ERROR(
      ranks.all_reduce({address_of(mine), elements, type}, address_of(apart), reduction));
  SOAPSTONE_RETURN_IF_ERROR(
      ranks.all_reduce({address_of(within), elements, type}, address_of(within), reduction));
  EXPECT_TRUE(apart == wanted) << count << " " << core::to_string(type);
  EXPECT_TRUE(within == wanted) << count << " " << core::to_string(type);
  EXPECT_TRUE(mine == input_of(ranks.rank(), count, type)) << "inputs are not written";
  append(record, apart);

  const std::size_t part = count / static_cast<std::size_t>(ranks.size());
  const std::size_t bytes = part * core::size_bytes(type);
  Record result(bytes);
  SOAPSTONE_RETURN_IF_ERROR(ranks.reduce_scatter(
      address_of(mine), {address_of(result), static_cast<std::int64_t>(part), type}, reduction));
  const auto begin = wanted.begin() + static_cast<std::ptrdiff_t>(bytes) * ranks.rank();
  EXPECT_TRUE(std::equal(result.begin(), result.end(), begin)) << count;
  append(record, result);
  return core::Done{};
}

core::Status reduce_all_types(Collectives& ranks, Record& record) {
  for (const DataType type : kNumbers)
    for (const Reduction reduction : {Reduction::kSum, Reduction::kMax, Reduction::kMin})
      for (const std::size_t count : {0U, 1U, 5U, reduction == Reduction::kSum ? 20000U : 4100U})
        SOAPSTONE_RETURN_IF_ERROR(reduce(ranks, count, type, reduction, record));
  // Several chunks, and parts that are not equal.
  SOAPSTONE_RETURN_IF_ERROR(reduce(ranks, 1000003, DataType::kFloat32, Reduction::kSum, record));
  std::vector<char> truth{1};
  const auto refused =
      ranks.all_reduce(all_of(truth, DataType::kBool), address_of(truth), Reduction::kSum);
  EXPECT_EQ(refused.error().code, core::ErrorCode::kUnsupported);
  return core::Done{};
}

core::Status move_parts(Collectives& ranks, Record& record) {
  const auto n = static_cast<std::size_t>(ranks.size());
  for (const std::size_t count : {0U, 1U, 777U, 100000U}) {
    std::vector<std::int16_t> part(count, static_cast<std::int16_t>(ranks.rank())), all(n * count);
    SOAPSTONE_RETURN_IF_ERROR(ranks.all_gather(all_of(part, DataType::kInt16), address_of(all)));
    for (std::size_t k = 0; k < all.size(); ++k)
      if (all[k] != static_cast<int>(k / count)) return core::invalid_input("a wrong part");
    append(record, all);

    std::vector<std::int32_t> from(n * count), to(n * count);
    const auto value = [&](int source, std::size_t target, std::size_t k) {
      return static_cast<std::int32_t>(1000000 * source + 100000 * static_cast<int>(target)) +
             static_cast<std::int32_t>(k);
    };
    for (std::size_t k = 0; k < from.size(); ++k)
      from[k] = value(ranks.rank(), k / count, k % count);
    const auto elements = static_cast<std::int64_t>(count);
    SOAPSTONE_RETURN_IF_ERROR(
        ranks.all_to_all(address_of(from), {address_of(to), elements, DataType::kInt32}));
    for (std::size_t k = 0; k < to.size(); ++k)
      if (to[k] !=
          value(static_cast<int>(k / count), static_cast<std::size_t>(ranks.rank()), k % count))
        return core::invalid_input("a wrong exchange");
    SOAPSTONE_RETURN_IF_ERROR(
        ranks.all_to_all(address_of(from), {address_of(from), elements, DataType::kInt32}));
    EXPECT_TRUE(from == to) << "in place";
    append(record, to);
  }
  for (int root = 0; root < ranks.size(); ++root)
    for (const std::size_t count : {0U, 3U, 70000U}) {
      std::vector<double> data(count, ranks.rank() + 0.5);
      SOAPSTONE_RETURN_IF_ERROR(ranks.broadcast(all_of(data, DataType::kFloat64), root));
      EXPECT_EQ(data, std::vector<double>(count, root + 0.5));
    }
  return core::Done{};
}

/// Everybody sends all messages, small and large ones, to everybody, and only then receives.
core::Status send_before_receiving(Collectives& ranks, Record& record) {
  const std::vector<std::size_t> sizes{1, 0, 300000, 7, 5000};
  std::vector<std::vector<std::uint8_t>> out;
  for (const std::size_t size : sizes)
    out.emplace_back(size, static_cast<std::uint8_t>(10 * ranks.rank() + size % 7));
  for (int to = 0; to < ranks.size(); ++to)
    for (const auto& message : out)
      SOAPSTONE_RETURN_IF_ERROR(ranks.send(all_of(message, DataType::kUInt8), to));
  for (int from = ranks.size(); from-- > 0;)
    for (const std::size_t size : sizes) {
      std::vector<std::uint8_t> in(size);
      SOAPSTONE_RETURN_IF_ERROR(ranks.receive(all_of(in, DataType::kUInt8), from));
      EXPECT_TRUE(in ==
                  std::vector<std::uint8_t>(size, static_cast<std::uint8_t>(10 * from + size % 7)));
      append(record, in);
    }
  SOAPSTONE_RETURN_IF_ERROR(ranks.wait());
  EXPECT_EQ(ranks.send(all_of(out[0], DataType::kUInt8), ranks.size()).error().code,
            core::ErrorCode::kInvalidInput);
  return core::Done{};
}

core::Status shift_in_a_group(Collectives& ranks, Record& record) {
  const int n = ranks.size();
  std::vector<float> out(100000, static_cast<float>(ranks.rank())), in(100000, -1);
  SOAPSTONE_RETURN_IF_ERROR(ranks.begin_group());
  SOAPSTONE_RETURN_IF_ERROR(
      ranks.receive(all_of(in, DataType::kFloat32), (ranks.rank() + n - 1) % n));
  SOAPSTONE_RETURN_IF_ERROR(ranks.send(all_of(out, DataType::kFloat32), (ranks.rank() + 1) % n));
  SOAPSTONE_RETURN_IF_ERROR(ranks.end_group());
  EXPECT_EQ(in, std::vector<float>(in.size(), static_cast<float>((ranks.rank() + n - 1) % n)));
  append(record, in);
  return ranks.wait();
}

core::Status sum_of_ones(Collectives& ranks, Record& record) {
  std::vector<std::int32_t> one{1};
  SOAPSTONE_RETURN_IF_ERROR(
      ranks.all_reduce(all_of(one, DataType::kInt32), address_of(one), Reduction::kSum));
  EXPECT_EQ(one[0], ranks.size());
  append(record, one);
  return core::Done{};
}

/// Ranks of one parity, all but the first, and a subset of a subset, used alternately.
core::Status work_in_subsets(Collectives& ranks, Record& record) {
  std::vector<int> alike, later, all(static_cast<std::size_t>(ranks.size()));
  std::iota(all.begin(), all.end(), 0);
  for (const int rank : all) {
    if (rank % 2 == ranks.rank() % 2) alike.push_back(rank);
    if (rank > 0) later.push_back(rank);
  }
  SOAPSTONE_ASSIGN_OR_RETURN(const auto parity, ranks.subset(alike));
  std::unique_ptr<Collectives> behind, last;
  if (ranks.rank() > 0) {
    SOAPSTONE_ASSIGN_OR_RETURN(behind, ranks.subset(later));
    EXPECT_EQ(behind->rank(), ranks.rank() - 1);
    if (ranks.rank() == ranks.size() - 1) {
      SOAPSTONE_ASSIGN_OR_RETURN(last, behind->subset(std::vector<int>{behind->rank()}));
      SOAPSTONE_RETURN_IF_ERROR(sum_of_ones(*last, record));
    }
    SOAPSTONE_RETURN_IF_ERROR(sum_of_ones(*behind, record));
  }
  SOAPSTONE_RETURN_IF_ERROR(sum_of_ones(*parity, record));
  SOAPSTONE_ASSIGN_OR_RETURN(const auto again, ranks.subset(all));
  SOAPSTONE_RETURN_IF_ERROR(sum_of_ones(ranks, record));
  SOAPSTONE_RETURN_IF_ERROR(sum_of_ones(*again, record));
  if (behind) SOAPSTONE_RETURN_IF_ERROR(sum_of_ones(*behind, record));
  for (const std::vector<int>& none : {std::vector<int>{}, {1, 0}, {0, ranks.size()}})
    EXPECT_EQ(ranks.subset(none).error().code, core::ErrorCode::kInvalidInput);
  return core::Done{};
}

/// The same ranks twice, and beside themselves: messages come where they were sent.
core::Status keep_messages_apart(Collectives& ranks, Record& record) {
  std::vector<int> all(static_cast<std::size_t>(ranks.size()));
  std::iota(all.begin(), all.end(), 0);
  SOAPSTONE_ASSIGN_OR_RETURN(const auto first, ranks.subset(all));
  SOAPSTONE_ASSIGN_OR_RETURN(const auto second, ranks.subset(all));
  Collectives* const places[] = {&ranks, first.get(), second.get()};
  const int to = (ranks.rank() + 1) % ranks.size();
  const int from = (ranks.rank() + ranks.size() - 1) % ranks.size();
  const std::vector<std::vector<float>> out{{1}, {2}, {3}};
  for (std::size_t k = 0; k < 3; ++k)
    SOAPSTONE_RETURN_IF_ERROR(places[k]->send(all_of(out[k], DataType::kFloat32), to));
  SOAPSTONE_RETURN_IF_ERROR(sum_of_ones(*second, record));
  for (const std::size_t k : {2U, 0U, 1U}) {
    std::vector<float> in{0};
    SOAPSTONE_RETURN_IF_ERROR(places[k]->receive(all_of(in, DataType::kFloat32), from));
    EXPECT_EQ(in, out[k]);
  }
  for (Collectives* const place : places) SOAPSTONE_RETURN_IF_ERROR(place->wait());
  return core::Done{};
}

}  // namespace

std::span<const RankCheck> rank_checks() {
  static constexpr RankCheck kChecks[] = {{"reduce all types", reduce_all_types},
                                          {"move parts", move_parts},
                                          {"send before receiving", send_before_receiving},
                                          {"shift in a group", shift_in_a_group},
                                          {"work in subsets", work_in_subsets},
                                          {"keep messages apart", keep_messages_apart}};
  return kChecks;
}

}  // namespace soapstone::parallel::test
