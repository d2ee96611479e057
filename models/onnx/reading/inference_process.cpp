// Both ends of the socket: questions and answers are a number of bytes and a kind, then the bytes.
#include "models/onnx/reading/inference_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <limits>
#include <new>
#include <optional>
#include <vector>

#include "models/onnx/reading/onnx_document.h"
#include "onnx/defs/schema.h"
#include "onnx/shape_inference/implementation.h"

namespace soapstone::models {
namespace {

enum class Kind : std::uint32_t { kLenient, kStrict, kTypes, kRefusal, kNoMemory };

struct Head {
  std::uint64_t size = 0;
  Kind kind = Kind::kLenient;
};

struct Message {
  Kind kind = Kind::kLenient;
  std::string bytes;
};

/// Longer than any answer takes within its limit of CPU time, on however busy a machine.
constexpr int kLongestWaitMs = 300'000;

bool send_all(int socket, const void* data, std::size_t size) {
  const auto* at = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t sent = ::send(socket, at, size, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    at += sent;
    size -= static_cast<std::size_t>(sent);
  }
  return true;
}

bool receive_all(int socket, void* data, std::size_t size) {
  auto* at = static_cast<char*>(data);
  while (size > 0) {
    pollfd ready{socket, POLLIN, 0};
    const int count = ::poll(&ready, 1, kLongestWaitMs);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    const ssize_t got = ::recv(socket, at, size, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

bool send_message(int socket, Kind kind, const std::string& bytes) {
  const Head head{bytes.size(), kind};
  return send_all(socket, &head, sizeof head) && send_all(socket, bytes.data(), bytes.size());
}

std::optional<Message> receive_message(int socket) {
  Head head;
  if (!receive_all(socket, &head, sizeof head)) return std::nullopt;
  Message message{head.kind, std::string(head.size, '\0')};
  if (!receive_all(socket, message.bytes.data(), message.bytes.size())) return std::nullopt;
  return message;
}

// The process that is asked.

Message answer(const Message& question) {
  try {
    onnx::ModelProto model;
    if (!model.ParseFromString(question.bytes)) return {Kind::kRefusal, "the question is broken"};
    const bool strict = question.kind == Kind::kStrict;
    onnx::shape_inference::InferShapes(model.mutable_graph(), opsets_of(model),
                                       onnx::OpSchemaRegistry::Instance(),
                                       onnx::ShapeInferenceOptions(strict, strict ? 1 : 0, false));
    return {Kind::kTypes, model.graph().SerializeAsString()};
  } catch (const std::bad_alloc&) {
    return {Kind::kNoMemory, {}};
  } catch (const std::length_error&) {
    return {Kind::kNoMemory, {}};
  } catch (const std::exception& error) {
    return {Kind::kRefusal, one_line(error.what())};
  }
}

/// A timer of CPU time, whose signal ends the process.
void allow_cpu_s(int seconds) {
  itimerval time{};
  time.it_value.tv_sec = seconds;
  ::setitimer(ITIMER_VIRTUAL, &time, nullptr);
}

/// Limits this process to the memory that it has from its parent and `more_bytes` on top.
void limit_to(std::size_t more_bytes) {
  std::uint64_t size = 0, resident = 0, shared = 0, text = 0, library = 0, data = 0;
  std::ifstream("/proc/self/statm") >> size >> resident >> shared >> text >> library >> data;
  const std::uint64_t now = data * static_cast<std::uint64_t>(::sysconf(_SC_PAGE_SIZE));
  rlimit limit{};
  if (::getrlimit(RLIMIT_DATA, &limit) != 0) return;
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, now + more_bytes);
  (void)::setrlimit(RLIMIT_DATA, &limit);
  const rlimit none{};
  (void)::setrlimit(RLIMIT_CORE, &none);
}

[[noreturn]] void serve(int socket, const InferenceProcess::Limits& limits) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (const int signal : {SIGFPE, SIGSEGV, SIGBUS, SIGILL, SIGABRT, SIGTERM, SIGVTALRM})
    std::signal(signal, SIG_DFL);
  std::signal(SIGINT, SIG_IGN);  // Ctrl-C is for the parent to decide
  const int nowhere = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (nowhere >= 0) ::dup2(nowhere, STDERR_FILENO);
  limit_to(limits.memory_bytes);
  while (const auto question = receive_message(socket)) {
    allow_cpu_s(limits.cpu_s);
    const Message reply = answer(*question);
    allow_cpu_s(0);
    if (!send_message(socket, reply.kind, reply.bytes)) break;
  }
  ::_exit(0);
}

}  // namespace

InferenceProcess::~InferenceProcess() { stop(); }

core::Status InferenceProcess::start() {
  if (process_ >= 0) return core::Done{};
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return core::unavailable(fmt::format("no socket for a process: {}", std::strerror(errno)));
  process_ = ::fork();
  if (process_ == 0) {
    ::close(ends[0]);
    serve(ends[1], limits_);
  }
  ::close(ends[1]);
  socket_ = ends[0];
  if (process_ > 0) return core::Done{};
  const int why = errno;
  stop();
  return core::unavailable(fmt::format("a process cannot be started: {}", std::strerror(why)));
}

void InferenceProcess::stop() {
  if (socket_ >= 0) ::close(socket_);
  if (process_ > 0) {
    ::kill(process_, SIGKILL);
    while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  socket_ = -1;
  process_ = -1;
}

/// The process sends nothing more: it is at its end, or waits for something that never comes.
core::Error InferenceProcess::why_it_ended() {
  int status = 0;
  pid_t ended = 0;
  for (int tries = 0; tries < 200 && ended == 0; ++tries) {
    ended = ::waitpid(process_, &status, WNOHANG);
    if (ended == 0) ::usleep(10'000);
  }
  if (ended == process_) process_ = -1;  // there is nothing left to wait for
  stop();
  const char* const hint = "look at its attributes and at the sizes that it is given";
  if (ended <= 0 ||
      (WIFSIGNALED(status) && (WTERMSIG(status) == SIGVTALRM || WTERMSIG(status) == SIGKILL))) {
    return core::unsupported("ONNX's own shape inference does not come to an end on it", hint);
  }
  const std::string how = WIFSIGNALED(status) ? ::strsignal(WTERMSIG(status)) : "an exit";
  return core::invalid_input(fmt::format("ONNX's own shape inference breaks on it ({})", how),
                             hint);
}

core::Result<InferenceProcess::Answer> InferenceProcess::infer(const onnx::ModelProto& model,
                                                               bool strict) {
  SOAPSTONE_RETURN_IF_ERROR(start());
  const QuietProtobuf quiet;
  if (model.ByteSizeLong() > static_cast<std::size_t>(std::numeric_limits<int>::max()))
    return core::unsupported("the node is larger than 2 GB");
  std::optional<Message> reply;
  if (send_message(socket_, strict ? Kind::kStrict : Kind::kLenient, model.SerializeAsString()))
    reply = receive_message(socket_);
  if (!reply) return why_it_ended();
  if (reply->kind == Kind::kNoMemory) {
    return core::unsupported(
        "ONNX's own shape inference takes more memory on it than a shape can need",
        "look at its attributes and at the sizes that it is given");
  }
  Answer result;
  if (reply->kind == Kind::kRefusal)
    result.refusal = std::move(reply->bytes);
  else if (!result.graph.ParseFromString(reply->bytes))
    return why_it_ended();
  return result;
}

}  // namespace soapstone::models
