// The file format of tiles: a header, the candidates as they lie in memory, XXH64 of both. It is
// for this machine alone.
#include "generator/enumeration/tiles.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <fstream>

#include "core/base/file_io.h"
#include "core/base/hash.h"

namespace soapstone::generator {
namespace {

struct Header {
  std::uint64_t run = 0, count = 0;
  TileRange range;
};
static_assert(std::is_trivially_copyable_v<EvaluatedTerm> && sizeof(Header) == 32);

using Bytes = std::vector<std::byte>;

constexpr const char* kRunFile = "run";

std::optional<std::vector<std::byte>> read_bytes(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return std::nullopt;
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  if (!in) return std::nullopt;
  std::vector<std::byte> bytes(static_cast<std::size_t>(in.tellg()));
  in.seekg(0);
  in.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!in) return std::nullopt;
  return bytes;
}

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void append(Bytes& bytes, std::uint64_t number) {
  const auto* begin = reinterpret_cast<const std::byte*>(&number);
  bytes.insert(bytes.end(), begin, begin + sizeof(number));
}

/// Takes a number off the front; 0 if there is none.
std::uint64_t take_number(std::span<const std::byte>& rest) {
  std::uint64_t number = 0;
  if (rest.size() < sizeof(number)) return 0;
  std::memcpy(&number, rest.data(), sizeof(number));
  rest = rest.subspan(sizeof(number));
  return number;
}

/// The run, so that all ranks see if one differs, and the tiles of this rank behind their sizes.
Bytes pack(const TileExchange& exchange, std::uint64_t run, std::span<const TileResult> tiles) {
  Bytes all;
  append(all, run);
  for (std::size_t k = 0; k < tiles.size(); ++k) {
    if (!exchange.is_mine(k)) continue;
    const Bytes tile = serialize(tiles[k], run);
    append(all, tile.size());
    all.insert(all.end(), tile.begin(), tile.end());
  }
  return all;
}

}  // namespace

std::vector<std::byte> serialize(const TileResult& result, std::uint64_t run) {
  const Header header{run, result.candidates.size(), result.range};
  const std::size_t body = result.candidates.size() * sizeof(EvaluatedTerm);
  std::vector<std::byte> bytes(sizeof(Header) + body + sizeof(std::uint64_t));
  std::memcpy(bytes.data(), &header, sizeof(Header));
  if (body != 0) std::memcpy(bytes.data() + sizeof(Header), result.candidates.data(), body);
  const std::uint64_t checksum = core::hash_bytes(std::span(bytes).first(sizeof(Header) + body));
  std::memcpy(bytes.data() + sizeof(Header) + body, &checksum, sizeof(checksum));
  return bytes;
}

core::Result<TileResult> deserialize(std::span<const std::byte> bytes, const TileRange& range,
                                     std::uint64_t run) {
  Header header;
  std::uint64_t checksum = 0;
  const auto damaged = [] { return core::invalid_input("the tile is damaged"); };
  if (bytes.size() < sizeof(Header) + sizeof(checksum)) return damaged();
  const std::size_t body = bytes.size() - sizeof(Header) - sizeof(checksum);
  std::memcpy(&header, bytes.data(), sizeof(Header));
  std::memcpy(&checksum, bytes.data() + sizeof(Header) + body, sizeof(checksum));
  if (checksum != core::hash_bytes(bytes.first(sizeof(Header) + body)) ||
      body % sizeof(EvaluatedTerm) != 0 || header.count != body / sizeof(EvaluatedTerm))
    return damaged();
  if (header.run != run || header.range != range)
    return core::invalid_input("the tile is of another run");
  TileResult result{range, std::vector<EvaluatedTerm>(header.count)};
  if (body != 0) std::memcpy(result.candidates.data(), bytes.data() + sizeof(Header), body);
  return result;
}

core::Status share(TileExchange& exchange, std::uint64_t run, const core::Status& mine,
                   std::span<TileResult> tiles) {
  SOAPSTONE_ASSIGN_OR_RETURN(const auto all,
                             exchange.all_gather(mine ? core::Result(pack(exchange, run, tiles))
                                                      : core::Result<Bytes>(mine.error())));
  std::vector<std::span<const std::byte>> rest(all.begin(), all.end());
  const std::uint64_t first_run = take_number(rest[0]);
  for (std::size_t rank = 1; rank < rest.size(); ++rank)
    if (take_number(rest[rank]) != first_run)
      return core::invalid_input(fmt::format("ranks 0 and {} enumerate different things", rank),
                                 "all ranks need the same program and the same options");
  for (std::size_t k = 0; k < tiles.size(); ++k) {
    if (exchange.is_mine(k)) continue;
    auto& bytes = rest[k % exchange.ranks()];
    const std::uint64_t size = std::min<std::uint64_t>(take_number(bytes), bytes.size());
    SOAPSTONE_ASSIGN_OR_RETURN(tiles[k], deserialize(bytes.first(size), tiles[k].range, run));
    bytes = bytes.subspan(size);
  }
  return core::Done{};
}

core::Result<TileFiles> TileFiles::open(std::filesystem::path folder, std::uint64_t run) {
  if (folder.empty()) return TileFiles({}, run);
  std::error_code failure;
  std::filesystem::create_directories(folder, failure);
  const std::filesystem::path mark = folder / kRunFile;
  const auto* bytes = reinterpret_cast<const std::byte*>(&run);
  if (const auto known = read_bytes(mark)) {
    if (known->size() != sizeof(run) || std::memcmp(known->data(), &run, sizeof(run)) != 0)
      return core::invalid_input(
          fmt::format("'{}' holds tiles of a run with other options", folder.string()),
          "give the same options, or another folder");
  } else {
    SOAPSTONE_RETURN_IF_ERROR(core::write_file(mark, as_text(std::span(bytes, sizeof(run)))));
  }
  return TileFiles(std::move(folder), run);
}

std::filesystem::path TileFiles::path_of(const TileRange& r) const {
  return folder_ / fmt::format("{}-{}-{:09}.tile", r.ops, r.driver_ops, r.begin);
}

std::optional<TileResult> TileFiles::read(const TileRange& range) const {
  if (folder_.empty()) return std::nullopt;
  const auto bytes = read_bytes(path_of(range));
  if (!bytes) return std::nullopt;
  auto result = deserialize(*bytes, range, run_);
  if (!result) return std::nullopt;
  return *std::move(result);
}

core::Status TileFiles::write(const TileResult& result) const {
  if (folder_.empty()) return core::Done{};
  return core::write_file(path_of(result.range), as_text(serialize(result, run_)));
}

}  // namespace soapstone::generator
