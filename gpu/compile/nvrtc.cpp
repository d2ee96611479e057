// See nvrtc.h.
#include "gpu/compile/nvrtc.h"

#include <charconv>
#include <cstring>

#include <fmt/format.h>

#include "core/base/file_io.h"
#include "core/base/sha256.h"
#include "gpu/compile/nvrtc_library.h"
#include "gpu/text/prelude.h"

namespace soapstone::gpu {
namespace {

std::vector<std::string> options_for(CompileTarget target) {
  return {fmt::format("--gpu-architecture=sm_{}{}", target.major, target.minor), "--std=c++17",
          "--ptxas-options=-v"};
}

std::string whole_source(std::span<const KernelText> texts) {
  std::string source(prelude());
  for (const KernelText& text : texts) source += text.source;
  return source;
}

/// Owns a program of NVRTC.
class Program {
 public:
  Program(const Nvrtc& nvrtc, const std::string& source) : nvrtc_(nvrtc) {
    result_ = nvrtc.create(&program_, source.c_str(), "kernels.cu", 0, nullptr, nullptr);
  }
  ~Program() {
    if (program_) nvrtc_.destroy(&program_);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  int compile(const std::vector<std::string>& options) {
    if (result_ != Nvrtc::kSuccess) return result_;
    std::vector<const char*> list;
    for (const std::string& option : options) list.push_back(option.c_str());
    return nvrtc_.compile(program_, static_cast<int>(list.size()), list.data());
  }
  std::string log() const {
    std::size_t size = 0;
    if (!program_ || nvrtc_.log_size(program_, &size) != Nvrtc::kSuccess || size == 0) return {};
    std::string text(size, '\0');
    nvrtc_.log(program_, text.data());
    text.resize(std::strlen(text.c_str()));
    return text;
  }
  int cubin(std::vector<std::byte>& bytes) const {
    std::size_t size = 0;
    if (const int result = nvrtc_.cubin_size(program_, &size); result != Nvrtc::kSuccess)
      return result;
    bytes.resize(size);
    return nvrtc_.cubin(program_, reinterpret_cast<char*>(bytes.data()));
  }

 private:
  const Nvrtc& nvrtc_;
  Nvrtc::Program program_ = nullptr;
  int result_;
};

/// The number that stands right before `words` in the line; 0 if they are not in it.
std::int64_t number_before(std::string_view line, std::string_view words) {
  const std::size_t end = line.find(words);
  if (end == std::string_view::npos) return 0;
  std::size_t begin = end;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9') --begin;
  std::int64_t number = 0;
  std::from_chars(line.data() + begin, line.data() + end, number);
  return number;
}

/// What `ptxas -v` says of each kernel.
std::vector<KernelResources> resources_in(std::string_view log) {
  std::vector<KernelResources> all;
  constexpr std::string_view kEntry = "Compiling entry function '";
  while (!log.empty()) {
    const std::size_t end = std::min(log.find('\n'), log.size());
    const std::string_view line = log.substr(0, end);
    log.remove_prefix(std::min(end + 1, log.size()));
    if (const std::size_t at = line.find(kEntry); at != std::string_view::npos) {
      const std::string_view name = line.substr(at + kEntry.size());
      all.push_back({std::string(name.substr(0, name.find('\''))), 0, 0, 0});
    }
    if (all.empty()) continue;
    KernelResources& last = all.back();
    last.spilled_bytes += number_before(line, " bytes spill stores");
    last.spilled_bytes += number_before(line, " bytes spill loads");
    last.shared_bytes += number_before(line, " bytes smem");
    last.registers += static_cast<int>(number_before(line, " registers"));
  }
  return all;
}

// A file of the cache: a digest of all that follows, a line for each kernel, an empty line, the
// binary.
std::string to_file(const KernelBinary& binary) {
  std::string rest;
  for (const KernelResources& r : binary.resources)
    rest += fmt::format("{} {} {} {}\n", r.name, r.registers, r.spilled_bytes, r.shared_bytes);
  rest += "\n";
  rest.append(reinterpret_cast<const char*>(binary.cubin.data()), binary.cubin.size());
  return core::sha256(rest) + "\n" + rest;
}

std::optional<KernelBinary> from_file(std::string_view file) {
  constexpr std::size_t kDigest = 64;
  if (file.size() <= kDigest || core::sha256(file.substr(kDigest + 1)) != file.substr(0, kDigest))
    return std::nullopt;
  file.remove_prefix(kDigest + 1);
  KernelBinary binary;
  for (std::size_t end; (end = file.find('\n')) != 0; file.remove_prefix(end + 1)) {
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view line = file.substr(0, end);
    KernelResources r;
    const std::size_t name = line.find(' ');
    r.name = line.substr(0, name);
    const char* at = line.data() + name + 1;
    const char* const last = line.data() + line.size();
    at = std::from_chars(at, last, r.registers).ptr + 1;
    at = std::from_chars(at, last, r.spilled_bytes).ptr + 1;
    std::from_chars(at, last, r.shared_bytes);
    binary.resources.push_back(std::move(r));
  }
  const auto bytes = std::as_bytes(std::span(file.substr(1)));
  binary.cubin.assign(bytes.begin(), bytes.end());
  return binary;
}

}  // namespace

core::Result<KernelBinary> compile_kernels(std::span<const KernelText> texts,
                                           CompileTarget target) {
  SOAPSTONE_ASSIGN_OR_RETURN(const Nvrtc* const library, nvrtc());
  Program program(*library, whole_source(texts));
  KernelBinary binary;
  int result = program.compile(options_for(target));
  if (result == Nvrtc::kInvalidOption)
    return core::unsupported(fmt::format("this version of NVRTC compiles nothing for sm_{}{}",
                                         target.major, target.minor));
  if (result == Nvrtc::kSuccess) result = program.cubin(binary.cubin);
  if (result != Nvrtc::kSuccess)
    return core::Error{core::ErrorCode::kInternal,
                       fmt::format("NVRTC: {}\n{}", library->error_text(result), program.log()),
                       {},
                       {}};
  binary.resources = resources_in(program.log());
  return binary;
}

core::Result<KernelBinary> KernelCache::get(std::span<const KernelText> texts,
                                            CompileTarget target) {
  SOAPSTONE_ASSIGN_OR_RETURN(const Nvrtc* const library, nvrtc());
  int major = 0, minor = 0;
  library->version(&major, &minor);
  std::string key = fmt::format("NVRTC {}.{}\n", major, minor);
  for (const std::string& option : options_for(target)) key += option + "\n";
  const std::filesystem::path path = folder_ / (core::sha256(key + whole_source(texts)) + ".cubin");
  if (const auto file = core::MappedFile::open(path))
    if (auto binary = from_file((*file)->text())) {
      ++hits_;
      return *std::move(binary);
    }
  SOAPSTONE_ASSIGN_OR_RETURN(KernelBinary binary, compile_kernels(texts, target));
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  SOAPSTONE_ASSIGN_OR_RETURN(const auto file, core::AtomicFile::create(path));
  const std::string contents = to_file(binary);
  SOAPSTONE_RETURN_IF_ERROR(file->write(std::as_bytes(std::span(contents))));
  SOAPSTONE_RETURN_IF_ERROR(file->commit());
  return binary;
}

}  // namespace soapstone::gpu
