// See exchange_files.h.
#include "workers/exchange_files.h"

#include <fstream>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace soapstone::workers {
namespace {

namespace fs = std::filesystem;

core::Status write_elements(const core::Literal& value, const fs::path& path) {
  std::ofstream file(path, std::ios::binary);
  const auto bytes = value.bytes();
  file.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  if (file.flush()) return core::Done{};
  return core::unavailable("cannot be written", "is the disk full?").at(path.string());
}

/// The size of a plain file. Errors: kUnavailable: there is none.
core::Result<std::uintmax_t> size_of(const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(fs::symlink_status(path, error)) || error)
    return core::unavailable("its answer names a file that it has not written");
  const std::uintmax_t size = fs::file_size(path, error);
  if (error) return core::unavailable("its answer names a file that cannot be read");
  return size;
}

/// Reads exactly as many bytes as `bytes` has.
core::Status read_all(const fs::path& path, std::span<char> bytes) {
  std::ifstream file(path, std::ios::binary);
  if (file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()))) return core::Done{};
  return core::unavailable("a file that it has written cannot be read");
}

}  // namespace

void empty_folder(const fs::path& folder) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) fs::remove_all(entry, ignored);
}

core::Result<std::vector<TensorFile>> write_tensors(std::span<const NamedTensor> tensors,
                                                    const fs::path& folder) {
  std::vector<TensorFile> files;
  for (const NamedTensor& tensor : tensors) {
    TensorFile file{tensor.name, tensor.value.data_type(), tensor.value.dims(),
                    fmt::format("in{}.bin", files.size())};
    if (core::size_bytes(file.type) == 0)
      return core::unsupported(fmt::format("input '{}' does not hold numbers", tensor.name));
    SOAPSTONE_RETURN_IF_ERROR(write_elements(tensor.value, folder / file.file));
    files.push_back(std::move(file));
  }
  return files;
}

core::Result<core::Literal> read_tensor(const TensorFile& tensor, const fs::path& folder) {
  const fs::path path = folder / tensor.file;
  SOAPSTONE_ASSIGN_OR_RETURN(const std::uintmax_t size, size_of(path));
  if (size != tensor.bytes()) {
    return core::unavailable(fmt::format("its output '{}' is to have {} bytes and has {}",
                                         tensor.name, tensor.bytes(), size));
  }
  std::vector<std::byte> bytes(static_cast<std::size_t>(size));
  SOAPSTONE_RETURN_IF_ERROR(read_all(path, {reinterpret_cast<char*>(bytes.data()), bytes.size()}));
  std::error_code ignored;
  fs::remove(path, ignored);
  return core::Literal::copy(tensor.type, tensor.dims, bytes);
}

core::Result<std::string> read_text(const fs::path& path, std::uintmax_t most_bytes) {
  SOAPSTONE_ASSIGN_OR_RETURN(const std::uintmax_t size, size_of(path));
  if (size > most_bytes)
    return core::unavailable(fmt::format("it wrote a file of more than {} bytes", most_bytes));
  std::string text(static_cast<std::size_t>(size), '\0');
  SOAPSTONE_RETURN_IF_ERROR(read_all(path, text));
  return text;
}

}  // namespace soapstone::workers
