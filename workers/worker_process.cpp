// See worker_process.h. Waiting is done by poll() on all three streams at once: a worker that
// writes while we write would otherwise block us for ever.
#include "workers/worker_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "core/base/stop_scope.h"
#include "workers/child.h"

namespace soapstone::workers {
namespace {

using Clock = std::chrono::steady_clock;

/// Bytes of standard error that are kept for messages.
constexpr std::size_t kMostWords = 4096;
/// Time between two looks at whether to stop.
constexpr std::int64_t kSliceMs = 200;

/// No more than a slice.
int milliseconds_until(Clock::time_point deadline) {
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, kSliceMs));
}

/// True: it has ended, and `status` says how.
bool has_ended(pid_t id, int& status, double wait_s) {
  const auto deadline = Clock::now() + std::chrono::duration<double>(wait_s);
  while (true) {
    const pid_t done = waitpid(id, &status, WNOHANG);
    if (done == id || (done < 0 && errno == ECHILD)) return true;
    if (Clock::now() >= deadline) return false;
    usleep(2000);
  }
}

}  // namespace

Descriptor::Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this == &other) return *this;
  close();
  number_ = std::exchange(other.number_, -1);
  return *this;
}

void Descriptor::close() {
  if (number_ >= 0) ::close(std::exchange(number_, -1));
}

core::Result<WorkerProcess> WorkerProcess::start(const std::vector<std::string>& command) {
  WorkerProcess process;
  SOAPSTONE_ASSIGN_OR_RETURN(Child child, start_child(command));
  process.id_ = child.id;
  process.input_ = std::move(child.input);
  process.output_ = std::move(child.output);
  process.errors_ = std::move(child.errors);
  for (const Descriptor* stream : {&process.input_, &process.output_, &process.errors_})
    fcntl(stream->number(), F_SETFL, fcntl(stream->number(), F_GETFL) | O_NONBLOCK);
  return process;
}

WorkerProcess::WorkerProcess(WorkerProcess&& other) noexcept
    : id_(std::exchange(other.id_, -1)), input_(std::move(other.input_)),
      output_(std::move(other.output_)), errors_(std::move(other.errors_)),
      received_(std::move(other.received_)), last_words_(std::move(other.last_words_)) {}

WorkerProcess& WorkerProcess::operator=(WorkerProcess&& other) noexcept {
  if (this == &other) return *this;
  end();
  id_ = std::exchange(other.id_, -1);
  input_ = std::move(other.input_);
  output_ = std::move(other.output_);
  errors_ = std::move(other.errors_);
  received_ = std::move(other.received_);
  last_words_ = std::move(other.last_words_);
  return *this;
}

WorkerProcess::~WorkerProcess() {
  if (id_ < 0) return;
  input_.close();  // which asks a worker to end
  int status = 0;
  if (has_ended(id_, status, 0.5)) {
    kill(-id_, SIGKILL);  // what it may have left behind
    id_ = -1;
  }
  end();
}

void WorkerProcess::end() {
  if (id_ < 0) return;
  kill(-id_, SIGKILL);
  int status = 0;
  while (waitpid(id_, &status, 0) < 0 && errno == EINTR) {
  }
  id_ = -1;
}

/// Sends what the stream takes now. False: nobody reads it any more.
bool WorkerProcess::send_some(std::string_view& rest) {
  // No SIGPIPE: that would end us.
  const ssize_t sent = send(input_.number(), rest.data(), rest.size(), MSG_NOSIGNAL);
  if (sent >= 0) {
    rest.remove_prefix(static_cast<std::size_t>(sent));
    return true;
  }
  return errno == EAGAIN || errno == EINTR;
}

/// False: the stream has ended.
bool WorkerProcess::read_answer() {
  char buffer[65536];
  const ssize_t count = read(output_.number(), buffer, sizeof buffer);
  if (count > 0) received_.append(buffer, static_cast<std::size_t>(count));
  return count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR));
}

void WorkerProcess::read_words() {
  char buffer[4096];
  const ssize_t count = read(errors_.number(), buffer, sizeof buffer);
  if (count > 0) {
    last_words_.append(buffer, static_cast<std::size_t>(count));
    if (last_words_.size() > kMostWords) last_words_.erase(0, last_words_.size() - kMostWords);
  } else if (count == 0 || (errno != EAGAIN && errno != EINTR)) {
    errors_.close();
  }
}

std::string WorkerProcess::how_it_ended() {
  int status = 0;
  if (!has_ended(id_, status, 1)) return "closed its output";
  id_ = -1;
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
    return "was killed (signal 9), as happens when memory runs out";
  if (WIFSIGNALED(status)) return fmt::format("crashed (signal {})", WTERMSIG(status));
  return fmt::format("ended with status {}", WEXITSTATUS(status));
}

core::Error WorkerProcess::failure(std::string message) {
  for (int k = 0; k < 16 && errors_.is_open(); ++k) {  // what it said last
    pollfd stream{errors_.number(), POLLIN, 0};
    if (poll(&stream, 1, 20) <= 0) break;
    read_words();
  }
  end();
  std::string said = last_words_;
  while (!said.empty() && (said.back() == '\n' || said.back() == ' ')) said.pop_back();
  if (!said.empty()) message += "; it said last: " + said;
  return core::unavailable(std::move(message));
}

core::Result<std::string> WorkerProcess::exchange(std::string_view line, double timeout_s) {
  if (id_ < 0) return core::unavailable("is not running");
  if (!received_.empty()) return failure("wrote without being asked");
  const std::string request = std::string(line) + "\n";
  std::string_view rest = request;
  const auto deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                           std::chrono::duration<double>(timeout_s));
  while (true) {
    const std::size_t end = received_.find('\n');
    if (std::min(end, received_.size()) > kMostLineBytes)
      return failure(fmt::format("wrote a line of more than {} bytes", kMostLineBytes));
    if (end != std::string::npos && rest.empty()) {
      std::string answer = received_.substr(0, end);
      received_.erase(0, end + 1);
      return answer;
    }
    pollfd streams[] = {{output_.number(), POLLIN, 0},
                        {errors_.is_open() ? errors_.number() : -1, POLLIN, 0},
                        {rest.empty() ? -1 : input_.number(), POLLOUT, 0}};
    // The answer, when it came, would answer a question that nobody asks any more.
    if (core::StopScope::stopped()) {
      this->end();
      return core::StopScope::interrupted();
    }
    const int left_ms = milliseconds_until(deadline);
    if (left_ms == 0) return failure(fmt::format("gave no answer within {:g} s", timeout_s));
    if (poll(streams, 3, left_ms) < 0 && errno != EINTR)
      return failure(fmt::format("cannot be waited for: {}", std::strerror(errno)));
    if (streams[1].revents != 0) read_words();
    // An answer that came before the process ended counts, so its output is read before a write to
    // its input can fail.
    if (streams[0].revents != 0 && !read_answer() && received_.find('\n') == std::string::npos)
      return failure(how_it_ended());
    if (streams[2].revents != 0 && !send_some(rest)) rest = {};
  }
}

}  // namespace soapstone::workers
