// A program of someone else's, run as a process of its own, that answers each line with a line.
// It may crash, hang or print anything: all of that is an Error here, never ours to suffer.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace soapstone::workers {

/// A file descriptor that is closed with its owner.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept;
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor() { close(); }
  int number() const { return number_; }
  bool is_open() const { return number_ >= 0; }
  void close();

 private:
  int number_ = -1;
};

class WorkerProcess {
 public:
  /// The longest line that is read. More is garbage.
  static constexpr std::size_t kMostLineBytes = std::size_t{1} << 20;

  /// Starts the program with these arguments in a process group of its own, so that Ctrl-C at the
  /// terminal does not reach it. The kernel kills it when we die.
  /// Errors: kUnavailable: it cannot be started.
  static core::Result<WorkerProcess> start(const std::vector<std::string>& command);
  /// Closes its input, waits for a moment, then kills it with all that it has started.
  ~WorkerProcess();
  WorkerProcess(WorkerProcess&& other) noexcept;
  WorkerProcess& operator=(WorkerProcess&& other) noexcept;

  /// Sends a line and waits for the line that answers it. After an Error the process is dead.
  /// Errors: kUnavailable: it crashed, was silent for too long, or wrote more than a line may have;
  /// kInterrupted: the core::StopScope of this thread asked to stop, which is answered at once.
  core::Result<std::string> exchange(std::string_view line, double timeout_s);
  bool is_running() const { return id_ >= 0; }
  /// Kills it and makes an Error of the message and of the end of what it wrote to its standard
  /// error.
  core::Error failure(std::string message);
  pid_t id() const { return id_; }

 private:
  WorkerProcess() = default;
  void end();
  bool send_some(std::string_view& rest);
  bool read_answer();
  void read_words();
  std::string how_it_ended();

  pid_t id_ = -1;
  Descriptor input_, output_, errors_;  ///< Its standard streams, seen from here.
  std::string received_;                ///< Output of the process that is not yet a whole line.
  std::string last_words_;
};

}  // namespace soapstone::workers
