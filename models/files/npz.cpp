// The zip container is libzip's work; the array header is a Python dictionary literal of fixed form
// (NEP 1).
#include "models/files/npz.h"

#include <fmt/format.h>
#include <zip.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>
#include <string_view>

#include "core/base/float16.h"
#include "core/base/memory_limit.h"

namespace soapstone::models {
namespace {

using core::DataType;
using core::Literal;
using core::Result;

constexpr std::uint64_t kChunk = std::uint64_t{1} << 24;

struct CloseArchive {
  void operator()(zip_t* archive) const { zip_discard(archive); }
};
struct CloseFile {
  void operator()(zip_file_t* file) const { zip_fclose(file); }
};

constexpr std::pair<std::string_view, DataType> kTypes[] = {
    {"<f4", DataType::kFloat32}, {"<f8", DataType::kFloat64}, {"<f2", DataType::kFloat16},
    {"<i8", DataType::kInt64},   {"<i4", DataType::kInt32},   {"<i2", DataType::kInt16},
    {"|i1", DataType::kInt8},    {"|u1", DataType::kUInt8},   {"|b1", DataType::kBool},
    {"<u8", DataType::kUInt64},  {"<u4", DataType::kUInt32},  {"<u2", DataType::kUInt16}};

std::optional<DataType> data_type(std::string_view descr) {
  for (const auto& [text, type] : kTypes) {
    if (text == descr) return type;
  }
  return std::nullopt;
}

/// The text behind `'key':`, up to the end of the header.
std::string_view value_of(std::string_view header, std::string_view key) {
  const std::size_t at = header.find(fmt::format("'{}':", key));
  if (at == std::string_view::npos) return {};
  std::string_view rest = header.substr(at + key.size() + 3);
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  return rest;
}

std::optional<core::Dims> parse_shape(std::string_view text) {
  if (!text.starts_with('(')) return std::nullopt;
  text = text.substr(1, text.find(')') - 1);
  core::Dims dims;
  while (!text.empty()) {
    if (text.front() == ' ' || text.front() == ',') {
      text.remove_prefix(1);
      continue;
    }
    std::int64_t size = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
    if (error != std::errc() || size < 0) return std::nullopt;
    dims.push_back(size);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  }
  return dims;
}

Result<Literal> parse_array(std::string_view bytes) {
  constexpr std::string_view kMagic = "\x93NUMPY";
  if (!bytes.starts_with(kMagic) || bytes.size() < 12) {
    return core::invalid_input("is not a NumPy array");
  }
  const auto byte = [&](std::size_t k) {
    return static_cast<std::size_t>(static_cast<unsigned char>(bytes[k]));
  };
  const bool long_header = byte(6) >= 2;  // version
  const std::size_t start = long_header ? 12 : 10;
  const std::size_t length =
      byte(8) + 256 * byte(9) + (long_header ? 65536 * byte(10) + 16777216 * byte(11) : 0);
  if (bytes.size() < start + length) return core::invalid_input("ends in the middle of its header");
  const std::string_view header = bytes.substr(start, length);
  if (!value_of(header, "fortran_order").starts_with("False")) {
    return core::invalid_input("is in Fortran order", "save numpy.ascontiguousarray(array)");
  }
  std::string_view descr = value_of(header, "descr");
  descr = descr.size() > 4 ? descr.substr(1, descr.find('\'', 1) - 1) : descr;
  const auto type = data_type(descr);
  if (!type) return core::invalid_input(fmt::format("has elements of type {}", descr));
  const auto dims = parse_shape(value_of(header, "shape"));
  const auto count = dims ? core::checked_element_count(*dims) : std::nullopt;
  if (!count) return core::invalid_input("has a shape that makes no sense");
  const std::string_view data = bytes.substr(start + length);
  if (data.size() / core::size_bytes(*type) != static_cast<std::size_t>(*count) ||
      data.size() % core::size_bytes(*type) != 0) {
    return core::invalid_input(
        fmt::format("has {} bytes where its shape says {} elements", data.size(), *count));
  }
  return Literal::copy(*type, *dims, std::as_bytes(std::span(data.data(), data.size())));
}

/// Errors: kInvalidInput if no compression packs so much into so little; kUnsupported if it is more
/// than may be held, once as it is read and once as an array.
core::Status check_claim(const zip_stat_t& stat) {
  constexpr std::uint64_t kMostRatio = 1100;  // deflate reaches 1032
  if ((stat.valid & ZIP_STAT_COMP_SIZE) != 0 && stat.size / kMostRatio > stat.comp_size)
    return core::invalid_input(
        fmt::format("is damaged: {} bytes are said to hold {}", stat.comp_size, stat.size));
  if (stat.size > core::memory_limit() / 2)
    return core::check_fits_memory(std::max(stat.size, 2 * stat.size), "the array");
  return core::Done{};
}

Result<std::string> read_entry(zip_t* archive, zip_uint64_t index) {
  zip_stat_t stat;
  if (zip_stat_index(archive, index, 0, &stat) != 0 || (stat.valid & ZIP_STAT_SIZE) == 0) {
    return core::invalid_input("cannot be read");
  }
  const std::unique_ptr<zip_file_t, CloseFile> file(zip_fopen_index(archive, index, 0));
  if (!file) return core::invalid_input(zip_strerror(archive));
  SOAPSTONE_RETURN_IF_ERROR(check_claim(stat));
  // Room is made for what has come, not for what is announced.
  std::string bytes;
  while (bytes.size() < stat.size) {
    const std::size_t done = bytes.size();
    bytes.resize(done + std::min<std::uint64_t>(stat.size - done, kChunk));
    const zip_int64_t got = zip_fread(file.get(), bytes.data() + done, bytes.size() - done);
    if (got <= 0) return core::invalid_input("is damaged: it ends early");
    bytes.resize(done + static_cast<std::size_t>(got));
  }
  // The checksum is compared at the end of the file.
  if (char beyond = 0; zip_fread(file.get(), &beyond, 1) != 0)
    return core::invalid_input("is damaged: its bytes do not have its checksum");
  return bytes;
}

/// The array as a file of its own (`.npy`). Errors: kUnsupported.
Result<std::string> array_file(const Literal& array) {
  if (array.data_type() == DataType::kBFloat16) {
    const std::vector<double> values = array.to_doubles();
    return array_file(
        Literal::floats(array.dims(), std::vector<float>(values.begin(), values.end())));
  }
  const auto* const type =
      std::ranges::find(kTypes, array.data_type(), &std::pair<std::string_view, DataType>::second);
  if (type == std::end(kTypes))
    return core::unsupported(
        fmt::format("NumPy has no elements of type {}", core::to_string(array.data_type())));
  std::string shape;
  for (const std::int64_t size : array.dims()) shape += fmt::format("{}, ", size);
  std::string header =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", type->first, shape);
  constexpr std::size_t kMultiple = 64, kBefore = 10;
  header.append(kMultiple - 1 - (kBefore + header.size()) % kMultiple, ' ');
  header += '\n';
  std::string file("\x93NUMPY\x01\x00", 8);
  file += static_cast<char>(header.size() % 256);
  file += static_cast<char>(header.size() / 256);
  file += header;
  const std::span<const std::byte> bytes = array.bytes();
  file.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return file;
}

bool is_disk_error(int zip_code) {
  return zip_code == ZIP_ER_WRITE || zip_code == ZIP_ER_SEEK || zip_code == ZIP_ER_CLOSE;
}

/// `file` must live until the archive is closed. False: the archive says why.
bool add_entry(zip_t* archive, const std::string& name, const std::string& file) {
  zip_source_t* const source = zip_source_buffer(archive, file.data(), file.size(), 0);
  if (source == nullptr) return false;
  const zip_int64_t added =
      zip_file_add(archive, (name + ".npy").c_str(), source, ZIP_FL_ENC_UTF_8);
  if (added < 0) {
    zip_source_free(source);
    return false;
  }
  const auto index = static_cast<zip_uint64_t>(added);
  constexpr zip_uint16_t kFirstDay = (1 << 5) + 1;  // 1 January 1980
  return zip_set_file_compression(archive, index, ZIP_CM_STORE, 0) == 0 &&
         zip_file_set_dostime(archive, index, 0, kFirstDay, 0) == 0;
}

}  // namespace

std::optional<Literal> with_type(const Literal& array, DataType type) {
  if (array.data_type() == type) return array;
  if (array.data_type() != DataType::kFloat32 || type != DataType::kBFloat16) return std::nullopt;
  std::vector<std::uint16_t> rounded;
  for (const double value : array.to_doubles())
    rounded.push_back(core::bf16_from_float(static_cast<float>(value)));
  return Literal::copy(type, array.dims(), std::as_bytes(std::span(rounded)));
}

core::Status write_npz(const std::filesystem::path& path,
                       const std::vector<std::pair<std::string, Literal>>& arrays) {
  std::vector<std::string> files;
  for (const auto& [name, array] : arrays) {
    auto file = array_file(array);
    if (!file) return file.error().at(fmt::format("{}: array {}", path.string(), name));
    files.push_back(*std::move(file));
  }
  int code = 0;
  std::unique_ptr<zip_t, CloseArchive> archive(
      zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &code));
  const auto failed = [&](const char* why) {
    return core::invalid_input(fmt::format("{} cannot be written: {}", path.string(), why));
  };
  if (!archive) {
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    const std::string why = zip_error_strerror(&error);
    zip_error_fini(&error);
    return failed(why.c_str());
  }
  for (std::size_t k = 0; k < files.size(); ++k)
    if (!add_entry(archive.get(), arrays[k].first, files[k]))
      return failed(zip_strerror(archive.get()));
  if (zip_close(archive.get()) != 0) {
    core::Error error = failed(zip_strerror(archive.get()));
    if (is_disk_error(zip_error_code_zip(zip_get_error(archive.get()))))
      error = core::unavailable(error.message, "nothing was written; is the disk full?");
    return error;
  }
  (void)archive.release();
  return core::Done{};
}

Result<std::vector<std::pair<std::string, Literal>>> read_npz(const std::filesystem::path& path) {
  int code = 0;
  const std::unique_ptr<zip_t, CloseArchive> archive(zip_open(path.c_str(), ZIP_RDONLY, &code));
  if (!archive) {
    return core::invalid_input(fmt::format("{} cannot be opened as an .npz archive", path.string()),
                               "write it with numpy.savez(file, input_name=array)");
  }
  std::vector<std::pair<std::string, Literal>> arrays;
  const zip_int64_t count = zip_get_num_entries(archive.get(), 0);
  for (zip_int64_t k = 0; k < count; ++k) {
    const auto index = static_cast<zip_uint64_t>(k);
    const char* const entry_name = zip_get_name(archive.get(), index, 0);
    std::string name = entry_name == nullptr ? fmt::format("number {}", k) : entry_name;
    if (name.ends_with(".npy")) name.resize(name.size() - 4);
    const std::string where = fmt::format("{}: array {}", path.string(), name);
    auto bytes = read_entry(archive.get(), index);
    if (!bytes) return bytes.error().at(where);
    auto literal = parse_array(*bytes);
    if (!literal) return literal.error().at(where);
    arrays.emplace_back(std::move(name), *std::move(literal));
  }
  return arrays;
}

}  // namespace soapstone::models
