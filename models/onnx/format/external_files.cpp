// Weights outside the model file: where they may lie, and whether they are all there. A model is
// untrusted input, so it must not make us read a file outside its own directory.
#include <fmt/format.h>

#include <charconv>

#include "models/onnx/format/onnx_weights.h"

namespace soapstone::models {
namespace {

namespace fs = std::filesystem;

struct Reference {
  std::string location;
  std::uint64_t offset = 0;
  std::optional<std::uint64_t> length;
};

core::Error broken_reference(const onnx::TensorProto& tensor, std::string why,
                             std::string hint = {}) {
  return core::invalid_input(std::move(why), std::move(hint))
      .at(fmt::format("tensor '{}'", tensor.name()));
}

std::optional<std::uint64_t> parse_number(const std::string& text) {
  std::uint64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end) return std::nullopt;
  return number;
}

core::Result<Reference> reference_of(const onnx::TensorProto& tensor) {
  Reference reference;
  for (const auto& entry : tensor.external_data()) {
    if (entry.key() == "location") reference.location = entry.value();
    if (entry.key() != "offset" && entry.key() != "length") continue;
    const auto number = parse_number(entry.value());
    if (!number) {
      return broken_reference(tensor, fmt::format("its external {} is '{}', which is no number",
                                                  entry.key(), entry.value()));
    }
    if (entry.key() == "offset")
      reference.offset = *number;
    else
      reference.length = *number;
  }
  if (reference.location.empty())
    return broken_reference(tensor, "is external, but does not say where");
  return reference;
}

/// Whether byte k belongs to a control character of ASCII, or of UTF-8 (C2 80 to C2 9F).
bool is_control(std::string_view text, std::size_t k) {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  if (byte(k) < 0x20 || byte(k) == 0x7f) return true;
  return k > 0 && byte(k - 1) == 0xc2 && byte(k) >= 0x80 && byte(k) < 0xa0;
}

/// The text with control characters as \x07; empty: it has none.
std::string with_marked_controls(std::string_view text) {
  bool has_controls = false;
  std::string marked;
  for (std::size_t k = 0; k < text.size(); ++k) {
    if (!is_control(text, k)) {
      marked += text[k];
      continue;
    }
    has_controls = true;
    marked += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[k]));
  }
  return has_controls ? marked : std::string();
}

bool lies_in(const fs::path& path, const fs::path& directory) {
  const auto [rest, _] =
      std::mismatch(directory.begin(), directory.end(), path.begin(), path.end());
  return rest == directory.end();
}

}  // namespace

std::vector<fs::path> weight_folders(const fs::path& model) {
  const auto folder_of = [](const fs::path& file) {
    return file.has_parent_path() ? file.parent_path() : fs::path(".");
  };
  std::vector<fs::path> folders = {folder_of(model)};
  // Download caches link models and weights from one place into another.
  std::error_code error;
  const auto real = fs::canonical(model, error);
  if (!error) folders.push_back(folder_of(real));
  return folders;
}

std::vector<fs::path> ExternalFiles::paths() const {
  std::vector<fs::path> paths;
  for (const auto& [location, file] : open_) paths.push_back(directories_[0] / location);
  return paths;
}

core::Result<std::shared_ptr<const core::MappedFile>>
ExternalFiles::open(const std::string& location) {
  if (const auto known = open_.find(location); known != open_.end()) return known->second;
  // A system call ends a name at a zero byte, so that another file would be read.
  if (const std::string marked = with_marked_controls(location); !marked.empty()) {
    return core::invalid_input(
        fmt::format("its external location '{}' has control characters", marked),
        "give the file a plain name, and export the model again");
  }
  const fs::path relative = fs::path(location).lexically_normal();
  if (relative.is_absolute() || relative.empty() || *relative.begin() == "..") {
    return core::invalid_input(
        fmt::format("its external location '{}' is outside the model's directory", location),
        "keep external weights beside the model");
  }
  const fs::path path = directories_[0] / relative;
  std::error_code error;
  const fs::path real = fs::weakly_canonical(path, error);
  bool allowed = false;
  for (const fs::path& directory : directories_) {
    allowed = allowed || (!error && lies_in(real, fs::weakly_canonical(directory, error)));
  }
  if (!allowed) {
    return core::invalid_input(
        fmt::format("its external location '{}' is a link out of the model's directory", location),
        "copy the file beside the model");
  }
  SOAPSTONE_ASSIGN_OR_RETURN(auto file, core::MappedFile::open(path));
  open_.emplace(location, file);
  return file;
}

core::Result<ExternalFiles::Bytes> ExternalFiles::read(const onnx::TensorProto& tensor,
                                                       std::uint64_t expected_bytes) {
  SOAPSTONE_ASSIGN_OR_RETURN(const Reference reference, reference_of(tensor));
  if (directories_.empty()) {
    return broken_reference(
        tensor,
        fmt::format("its data is in the file '{}', whose directory is not known",
                    reference.location),
        "read the model from a file");
  }
  if (reference.length && *reference.length != expected_bytes) {
    return broken_reference(tensor,
                            fmt::format("has {} bytes of external data, but its dimensions need {}",
                                        *reference.length, expected_bytes));
  }
  auto file = open(reference.location);
  if (!file) return file.error().at(fmt::format("tensor '{}'", tensor.name()));
  const auto bytes = (*file)->bytes();
  if (reference.offset > bytes.size() || expected_bytes > bytes.size() - reference.offset) {
    return broken_reference(tensor,
                            fmt::format("needs bytes {} to {} of '{}', which has {}",
                                        reference.offset, reference.offset + expected_bytes,
                                        reference.location, bytes.size()),
                            "the file is truncated or belongs to another model");
  }
  return Bytes{bytes.subspan(reference.offset, expected_bytes), *std::move(file)};
}

}  // namespace soapstone::models
