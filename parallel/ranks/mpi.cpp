// The only file that sees MPI (its C interface, MPI 3). All that communicates is started without
// waiting and tested: a call of MPI that waits has no time limit, and takes a core from ranks that
// still work.
#include "parallel/ranks/mpi.h"

#include <mpi.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "parallel/ranks/message_collectives.h"
#include "parallel/ranks/messenger.h"

namespace soapstone::parallel {
namespace {

static_assert(sizeof(MPI_Request) <= sizeof(StartedMessage::handle));

std::uint64_t handle_of(MPI_Request request) {
  std::uint64_t handle = 0;
  std::memcpy(&handle, &request, sizeof(MPI_Request));
  return handle;
}
MPI_Request request_of(std::uint64_t handle) {
  MPI_Request request = MPI_REQUEST_NULL;
  std::memcpy(&request, &handle, sizeof(MPI_Request));
  return request;
}

core::Error error_of(int code, std::string_view what) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  return core::unavailable(fmt::format("MPI failed to {}: {}", what, text),
                           "another rank or the connection to it may have died");
}

core::Status checked(int code, std::string_view what) {
  if (code == MPI_SUCCESS) return core::Done{};
  return error_of(code, what);
}

class MpiMessenger final : public Messenger {
 public:
  explicit MpiMessenger(const MpiOptions& options) : options_(options) {}
  ~MpiMessenger() override {
    // Once communication has failed, waiting for the others could be for ever.
    if (is_initialized_ && !has_given_up_) MPI_Finalize();
  }
  MpiMessenger(const MpiMessenger&) = delete;
  MpiMessenger& operator=(const MpiMessenger&) = delete;

  core::Status initialize() {
    int provided = MPI_THREAD_SINGLE;
    const int code = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided);
    if (code != MPI_SUCCESS) return core::unavailable("MPI cannot be initialized");
    is_initialized_ = true;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    void* most = nullptr;
    int is_set = 0;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, static_cast<void*>(&most), &is_set);
    if (is_set) largest_tag_ = *static_cast<const int*>(most);
    SOAPSTONE_RETURN_IF_ERROR(checked(MPI_Comm_rank(MPI_COMM_WORLD, &rank_), "tell the rank"));
    return checked(MPI_Comm_size(MPI_COMM_WORLD, &size_), "count the ranks");
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int largest_tag() const override { return largest_tag_; }

  core::Status start_send(std::span<const std::byte> data, int to, int tag,
                          std::vector<StartedMessage>& started) override {
    return in_pieces(data, [&](std::span<const std::byte> piece) {
      MPI_Request request = MPI_REQUEST_NULL;
      const int code = MPI_Isend(piece.data(), static_cast<int>(piece.size()), MPI_BYTE, to, tag,
                                 MPI_COMM_WORLD, &request);
      // NOLINTNEXTLINE(clang-analyzer-optin.mpi.MPI-Checker): test() waits for it
      started.push_back({to, true, piece.size(), handle_of(request)});
      return checked(code, "send");
    });
  }

  core::Status start_receive(std::span<std::byte> data, int from, int tag,
                             std::vector<StartedMessage>& started) override {
    return in_pieces(data, [&](std::span<std::byte> piece) {
      MPI_Request request = MPI_REQUEST_NULL;
      const int code = MPI_Irecv(piece.data(), static_cast<int>(piece.size()), MPI_BYTE, from, tag,
                                 MPI_COMM_WORLD, &request);
      // NOLINTNEXTLINE(clang-analyzer-optin.mpi.MPI-Checker): test() waits for it
      started.push_back({from, false, piece.size(), handle_of(request)});
      return checked(code, "receive");
    });
  }

  core::Result<bool> test(StartedMessage& message) override {
    const std::lock_guard lock(mutex_);
    MPI_Request request = request_of(message.handle);
    if (request == MPI_REQUEST_NULL) return true;
    int is_done = 0;
    MPI_Status status;
    const int code = MPI_Test(&request, &is_done, &status);
    message.handle = handle_of(request);
    if (code == MPI_ERR_TRUNCATE)
      return core::unavailable(fmt::format("rank {} sends more than the {} bytes that rank {} "
                                           "waits for",
                                           message.peer, message.bytes, rank_));
    if (code != MPI_SUCCESS) return error_of(code, "wait for the other ranks");
    if (!is_done || message.is_sent) return is_done != 0;
    int bytes = 0;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    if (static_cast<std::size_t>(bytes) == message.bytes) return true;
    return core::unavailable(fmt::format("rank {} sends {} bytes, and rank {} waits for {}",
                                         message.peer, bytes, rank_, message.bytes));
  }

  void give_up() override { has_given_up_ = true; }

  [[noreturn]] void abort(const std::string& reason) override {
    // When several ranks give up at once, the first alone gets to say why.
    std::this_thread::sleep_for(std::min(rank_, 50) * std::chrono::milliseconds(20));
    if (options_.on_abort) options_.on_abort(reason);
    const std::lock_guard lock(mutex_);
    MPI_Abort(MPI_COMM_WORLD, static_cast<int>(core::ErrorCode::kUnavailable));
    std::_Exit(static_cast<int>(core::ErrorCode::kUnavailable));  // It is not declared noreturn.
  }

 private:
  /// An empty message is one piece.
  template <class Byte, class Start>
  core::Status in_pieces(std::span<Byte> data, const Start& start) {
    const std::lock_guard lock(mutex_);
    do {
      const std::size_t bytes = std::min(data.size(), options_.most_bytes_at_once);
      SOAPSTONE_RETURN_IF_ERROR(start(data.first(bytes)));
      data = data.subspan(bytes);
    } while (!data.empty());
    return core::Done{};
  }

  const MpiOptions options_;
  bool is_initialized_ = false, has_given_up_ = false;
  int rank_ = 0, size_ = 1, largest_tag_ = 32767;  // the least that MPI promises
  std::mutex mutex_;  // MPI_THREAD_SERIALIZED: abort() may come from another thread.
};

}  // namespace

core::Result<std::unique_ptr<runtime::Collectives>> mpi_world(const MpiOptions& options) {
  auto messenger = std::make_unique<MpiMessenger>(options);
  SOAPSTONE_RETURN_IF_ERROR(messenger->initialize());
  return make_message_collectives(std::make_shared<Connection>(
      std::move(messenger), WaitOptions{options.waiting, options.time_limit}));
}

}  // namespace soapstone::parallel
