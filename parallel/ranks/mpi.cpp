// The only file that sees MPI (its C interface, MPI 3). Every call is non-blocking and polled: a
// blocking one spins, and would take a core from ranks that still work.
#include "parallel/ranks/mpi.h"

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <thread>

namespace soapstone::parallel {
namespace {

core::Error failure(int code, std::string_view what) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  return core::unavailable(fmt::format("MPI failed to {}: {}", what, text),
                           "another rank or the connection to it may have died");
}

class MpiWorld final : public Communicator {
 public:
  explicit MpiWorld(const MpiOptions& options) : options_(options) {}
  ~MpiWorld() override {
    // Once communication has failed, waiting for the others could be for ever.
    if (is_initialized_ && !has_failed_) MPI_Finalize();
  }
  MpiWorld(const MpiWorld&) = delete;
  MpiWorld& operator=(const MpiWorld&) = delete;

  core::Status initialize() {
    int provided = MPI_THREAD_SINGLE;
    const int code = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided);
    if (code != MPI_SUCCESS) return core::unavailable("MPI cannot be initialized");
    is_initialized_ = true;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    SOAPSTONE_RETURN_IF_ERROR(check(MPI_Comm_rank(MPI_COMM_WORLD, &rank_), "tell the rank"));
    return check(MPI_Comm_size(MPI_COMM_WORLD, &size_), "count the ranks");
  }

  std::size_t rank() const override { return static_cast<std::size_t>(rank_); }
  std::size_t size() const override { return static_cast<std::size_t>(size_); }

  core::Result<std::vector<Bytes>> all_gather(std::span<const std::byte> mine) override {
    const std::uint64_t my_size = mine.size();
    std::vector<std::uint64_t> sizes(size());
    MPI_Request request = MPI_REQUEST_NULL;
    SOAPSTONE_RETURN_IF_ERROR(check(MPI_Iallgather(&my_size, 1, MPI_UINT64_T, sizes.data(), 1,
                                                   MPI_UINT64_T, MPI_COMM_WORLD, &request),
                                    "gather sizes"));
    SOAPSTONE_RETURN_IF_ERROR(wait(std::span(&request, 1)));

    std::vector<Bytes> all(size());
    for (std::size_t r = 0; r < size(); ++r)
      if (r != rank()) all[r].resize(sizes[r]);
    all[rank()].assign(mine.begin(), mine.end());
    const std::uint64_t largest = *std::ranges::max_element(sizes);
    for (std::uint64_t from = 0; from < largest; from += options_.most_bytes_at_once)
      SOAPSTONE_RETURN_IF_ERROR(broadcast_pieces(all, from));
    return all;
  }

  [[noreturn]] void abort(int exit_code) override {
    MPI_Abort(MPI_COMM_WORLD, exit_code);
    std::_Exit(exit_code);  // MPI_Abort does not return, but is not declared so
  }

 private:
  /// From each rank to the others the piece of its bytes that begins at `from`.
  core::Status broadcast_pieces(std::vector<Bytes>& all, std::uint64_t from) {
    std::vector<MPI_Request> requests;
    for (std::size_t root = 0; root < size(); ++root) {
      if (all[root].size() <= from) continue;
      const std::size_t count =
          std::min<std::size_t>(options_.most_bytes_at_once, all[root].size() - from);
      requests.push_back(MPI_REQUEST_NULL);
      SOAPSTONE_RETURN_IF_ERROR(
          check(MPI_Ibcast(all[root].data() + from, static_cast<int>(count), MPI_BYTE,
                           static_cast<int>(root), MPI_COMM_WORLD, &requests.back()),
                "send"));
    }
    return wait(requests);
  }

  core::Status wait(std::span<MPI_Request> requests) {
    using namespace std::chrono_literals;
    constexpr auto kLongestPause = 1000us;
    auto pause = 10us;
    for (;;) {
      int done = 0;
      SOAPSTONE_RETURN_IF_ERROR(check(MPI_Testall(static_cast<int>(requests.size()),
                                                  requests.data(), &done, MPI_STATUSES_IGNORE),
                                      "wait for the other ranks"));
      if (done) return core::Done{};
      std::this_thread::sleep_for(pause);
      pause = std::min<std::chrono::microseconds>(2 * pause, kLongestPause);
    }
  }

  core::Status check(int code, std::string_view what) {
    if (code == MPI_SUCCESS) return core::Done{};
    has_failed_ = true;
    return failure(code, what);
  }

  MpiOptions options_;
  bool is_initialized_ = false, has_failed_ = false;
  int rank_ = 0, size_ = 1;
};

}  // namespace

core::Result<std::unique_ptr<Communicator>> mpi_world(const MpiOptions& options) {
  auto world = std::make_unique<MpiWorld>(options);
  SOAPSTONE_RETURN_IF_ERROR(world->initialize());
  return std::unique_ptr<Communicator>(std::move(world));
}

}  // namespace soapstone::parallel
