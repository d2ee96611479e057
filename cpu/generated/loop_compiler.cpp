// See loop_compiler.h.
#include "cpu/generated/loop_compiler.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <vector>

#include <fmt/format.h>

#include "core/base/cache_folder.h"
#include "core/base/file_io.h"
#include "core/base/private_folder.h"
#include "core/base/sha256.h"
#include "cpu/generated/prelude.h"

extern char** environ;

namespace soapstone::cpu {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFunction = "run_loops";
constexpr std::size_t kDigest = 64;

const std::vector<std::string>& compiler_options() {
  static const std::vector<std::string> options = {"-std=c++17",
                                                   "-O3",
                                                   "-march=native",
                                                   "-fopenmp-simd",
                                                   "-fno-math-errno",
                                                   "-fno-trapping-math",
                                                   "-shared",
                                                   "-fPIC",
                                                   "-w"};
  return options;
}

/// Runs a program whose output and errors go to a file. False if it could not be started or failed.
bool run_program(const std::vector<std::string>& words, const fs::path& output) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  pid_t process = 0;
  const int failed =
      posix_spawnp(&process, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return false;
  int status = 0;
  while (waitpid(process, &status, 0) < 0)
    if (errno != EINTR) return false;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

std::string text_in(const fs::path& path) {
  const auto text = core::read_file(path);
  return text ? *text : std::string();
}

/// The lines of /proc/cpuinfo that say what `-march=native` means here, each once.
std::string processor_features() {
  std::ifstream file("/proc/cpuinfo");
  std::string features;
  for (std::string line; std::getline(file, line) && !line.empty();)
    if (line.starts_with("flags") || line.starts_with("Features") || line.starts_with("model"))
      features += line + "\n";
  return features;
}

/// Nobody else may have written it, for it is run.
bool is_own(const fs::path& path, mode_t kind) {
  constexpr mode_t kOthersWrite = 0022;
  struct stat status {};
  return lstat(path.c_str(), &status) == 0 && (status.st_mode & S_IFMT) == kind &&
         status.st_uid == geteuid() && (status.st_mode & kOthersWrite) == 0;
}

fs::path own_folder(const fs::path& folder) {
  constexpr mode_t kMode = 0700;
  if (folder.empty()) return {};
  std::error_code ignored;
  fs::create_directories(folder.parent_path(), ignored);
  mkdir(folder.c_str(), kMode);  // that it is there already is fine
  return is_own(folder, S_IFDIR) ? folder : fs::path();
}

/// A kept file ends with the digest of what stands before it, which loaders do not read.
bool is_intact(const fs::path& path) {
  if (!is_own(path, S_IFREG)) return false;
  const auto file = core::MappedFile::open(path);
  if (!file) return false;
  const std::string_view text = (*file)->text();
  return text.size() > kDigest &&
         core::sha256(text.substr(0, text.size() - kDigest)) == text.substr(text.size() - kDigest);
}

/// A failure costs time only: the next process compiles again.
void keep(const fs::path& library, const fs::path& path) {
  constexpr mode_t kMode = 0700;
  const auto binary = core::read_file(library);
  const auto file = core::AtomicFile::create(path);
  if (!binary || !file || fchmod((*file)->descriptor(), kMode) != 0) return;
  if ((*file)->write(*binary) && (*file)->write(core::sha256(*binary))) (void)(*file)->commit();
}

core::Result<LoopFunction> load(const fs::path& path) {
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) return core::unavailable(dlerror());
  void* const function = dlsym(library, kFunction);
  if (!function) return core::unavailable(path.string() + " lacks its function");
  return LoopFunction{reinterpret_cast<decltype(LoopFunction::run)>(function)};
}

}  // namespace

LoopCompiler::LoopCompiler(fs::path folder, std::string program, std::string identity)
    : folder_(std::move(folder)), program_(std::move(program)), identity_(std::move(identity)) {}

std::unique_ptr<LoopCompiler> LoopCompiler::find(const fs::path& folder) {
  constexpr const char* kNothing = "extern \"C\" void @(void* const*, long, long, long) {}\n";
  const auto work = core::PrivateFolder::make();
  if (!work) return nullptr;
  const fs::path answer = work->path() / "version";
  for (const char* program : {"c++", "g++", "clang++"}) {
    if (!run_program({program, "--version"}, answer)) continue;
    std::string identity = text_in(answer) + processor_features() + loop_prelude();
    for (const std::string& option : compiler_options()) identity += option + "\n";
    std::unique_ptr<LoopCompiler> compiler(
        new LoopCompiler(own_folder(folder), program, std::move(identity)));
    if (compiler->get(kNothing)) return compiler;
  }
  return nullptr;
}

core::Result<LoopFunction> LoopCompiler::get(const std::string& source) {
  const std::string digest = core::sha256(identity_ + source);
  const std::scoped_lock lock(mutex_);
  if (const auto found = loaded_.find(digest); found != loaded_.end()) return found->second;
  const fs::path kept = folder_.empty() ? fs::path() : folder_ / (digest + ".so");
  auto function = !kept.empty() && is_intact(kept) ? load(kept) : compile(source, kept);
  if (function) loaded_.emplace(digest, *function);
  return function;
}

core::Result<LoopFunction> LoopCompiler::compile(const std::string& source, const fs::path& kept) {
  SOAPSTONE_ASSIGN_OR_RETURN(const auto work, core::PrivateFolder::make());
  const fs::path text = work.path() / "loops.cpp", library = work.path() / "loops.so",
                 words = work.path() / "words";
  std::string named = source;
  named.replace(named.find('@'), 1, kFunction);
  std::ofstream(text) << loop_prelude() << named;
  std::vector<std::string> command = {program_};
  command.insert(command.end(), compiler_options().begin(), compiler_options().end());
  command.insert(command.end(), {"-o", library.string(), text.string()});
  ++runs_;
  if (!run_program(command, words))
    return core::unavailable(
        fmt::format("{} does not compile generated loops: {}", program_, text_in(words)));
  if (!kept.empty()) keep(library, kept);
  return load(library);
}

fs::path default_loop_folder() {
  const fs::path cache = core::cache_folder();
  return cache.empty() ? cache : cache / "loops";
}

}  // namespace soapstone::cpu
