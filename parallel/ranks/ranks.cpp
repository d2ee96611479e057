// A message is its bytes and one more that says whether they are an Error.
#include "parallel/ranks/ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>

namespace soapstone::parallel {
namespace {

using core::Error;
using core::Result;

constexpr std::byte kIsValue{0}, kIsError{1};

void append(Bytes& bytes, std::string_view text) {
  const auto* begin = reinterpret_cast<const std::byte*>(text.data());
  bytes.insert(bytes.end(), begin, begin + text.size());
  bytes.push_back(std::byte{0});
}

Bytes encode(const Error& error) {
  Bytes bytes;
  append(bytes, std::to_string(static_cast<int>(error.code)));
  append(bytes, error.message);
  append(bytes, error.where);
  append(bytes, error.hint);
  return bytes;
}

Error decode(const Bytes& bytes) {
  std::string texts[4];
  std::size_t k = 0;
  for (std::byte b : bytes) {
    if (k == std::size(texts)) break;
    if (b == std::byte{0})
      ++k;
    else
      texts[k] += static_cast<char>(b);
  }
  const int code = std::atoi(texts[0].c_str());
  return {static_cast<core::ErrorCode>(code), texts[1], texts[2], texts[3]};
}

/// The first rank's that has one.
std::optional<Error> error_in(const std::vector<Bytes>& messages) {
  const auto is_error = [](const Bytes& m) { return m.empty() || m.back() != kIsValue; };
  const auto first = std::ranges::find_if(messages, is_error);
  if (first == messages.end()) return std::nullopt;
  const Error error = decode(*first);
  const bool is_everywhere =
      std::ranges::all_of(messages, [&](const Bytes& m) { return m == *first; });
  if (is_everywhere || first == messages.begin()) return error;
  return error.at(fmt::format("rank {}", first - messages.begin()));
}

}  // namespace

Result<std::vector<Bytes>> Ranks::all_gather(Result<Bytes> mine) {
  if (over_) return *over_;
  std::optional<Error> failure;
  if (!mine) failure = mine.error();
  Bytes message = failure ? encode(*failure) : *std::move(mine);
  message.push_back(failure ? kIsError : kIsValue);
  auto messages = gather_bytes(collectives_, message);
  if (!messages) {
    is_broken_ = true;
    over_ = failure ? *failure : messages.error();
    return *over_;
  }
  over_ = error_in(*messages);
  if (over_) return *over_;
  for (Bytes& m : *messages) m.pop_back();
  return *std::move(messages);
}

core::Status Ranks::agree(const core::Status& mine) {
  auto all = all_gather(mine ? Result<Bytes>(Bytes{}) : Result<Bytes>(mine.error()));
  if (!all) return all.error();
  return core::Done{};
}

}  // namespace soapstone::parallel
