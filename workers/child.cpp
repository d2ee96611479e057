// fork and exec. Between the two only functions are called that are safe after a fork of a program
// with threads.
#include "workers/child.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include <linux/close_range.h>

#include <fmt/format.h>

namespace soapstone::workers {
namespace {

struct Pair {
  Descriptor ours, theirs;
};

core::Error cannot(std::string_view what) {
  return core::unavailable(fmt::format("cannot {}: {}", what, std::strerror(errno)));
}

/// We read what they write.
core::Result<Pair> make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return cannot("make a pipe");
  return Pair{Descriptor(ends[0]), Descriptor(ends[1])};
}

/// A socket, because writing to a pipe that nobody reads raises a signal.
core::Result<Pair> make_socket() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return cannot("make a socket");
  return Pair{Descriptor(ends[0]), Descriptor(ends[1])};
}

/// In the child. Returns only if the program cannot be run.
void become(char* const* arguments, int input, int output, int errors) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  signal(SIGPIPE, SIG_DFL);
  signal(SIGINT, SIG_DFL);
  signal(SIGTERM, SIG_DFL);
  signal(SIGXFSZ, SIG_DFL);
  // Above 2, so that no dup2 overwrites what another one still needs.
  input = fcntl(input, F_DUPFD, 3);
  output = fcntl(output, F_DUPFD, 3);
  errors = fcntl(errors, F_DUPFD, 3);
  dup2(input, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  dup2(errors, STDERR_FILENO);
  close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
  execvp(arguments[0], arguments);
}

}  // namespace

core::Result<Child> start_child(const std::vector<std::string>& command) {
  if (command.empty()) return core::unavailable("no program was named");
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  SOAPSTONE_ASSIGN_OR_RETURN(Pair input, make_socket());
  SOAPSTONE_ASSIGN_OR_RETURN(Pair output, make_pipe());
  SOAPSTONE_ASSIGN_OR_RETURN(Pair errors, make_pipe());
  SOAPSTONE_ASSIGN_OR_RETURN(Pair started, make_pipe());  // says why not; closed by exec
  const pid_t id = fork();
  if (id < 0) return cannot("start a process");
  if (id == 0) {
    become(arguments.data(), input.theirs.number(), output.theirs.number(), errors.theirs.number());
    const int reason = errno;
    (void)!write(started.theirs.number(), &reason, sizeof reason);
    _exit(127);
  }
  setpgid(id, id);  // in both processes: whichever comes first
  started.theirs.close();
  int reason = 0;
  ssize_t count = 0;
  while ((count = read(started.ours.number(), &reason, sizeof reason)) < 0 && errno == EINTR) {
  }
  Child child{id, std::move(input.ours), std::move(output.ours), std::move(errors.ours)};
  if (count != sizeof reason) return child;
  while (waitpid(id, nullptr, 0) < 0 && errno == EINTR) {
  }
  return core::unavailable(fmt::format("cannot be run: {}", std::strerror(reason))).at(command[0]);
}

}  // namespace soapstone::workers
