// Our collective operations over MPI beside MPI's own, in turn in one process:
//
//   mpirun -n 2 compare-with-mpi [LARGEST-MIB]
//
// prints for each operation and size the time of both (of the slowest rank; the lower quartile of
// many tries), bytes per second, and ours over MPI's.
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "parallel/ranks/mpi.h"

namespace {

using soapstone::core::DataType;
using soapstone::parallel::mpi_world;
using soapstone::runtime::Collectives;
using soapstone::runtime::DeviceAddress;
using soapstone::runtime::Elements;
using soapstone::runtime::Reduction;
using Clock = std::chrono::steady_clock;

struct Buffers {
  std::vector<float> from, to;
  std::size_t bytes;
  int count() const { return static_cast<int>(bytes / sizeof(float)); }
  DeviceAddress from_address() { return address(from); }
  DeviceAddress to_address() { return address(to); }

 private:
  static DeviceAddress address(std::vector<float>& values) {
    return DeviceAddress(reinterpret_cast<std::uintptr_t>(values.data()));
  }
};

struct Operation {
  const char* name;
  /// `bytes` is of what a rank has in all: it gives as much to a reduction, it gets as much from a
  /// gathering.
  std::function<bool(Collectives&, Buffers&)> ours;
  std::function<void(Buffers&, int ranks)> theirs;
};

Elements elements(DeviceAddress address, int count) { return {address, count, DataType::kFloat32}; }

/// There and back.
bool our_ping_pong(Collectives& c, Buffers& b) {
  const Elements data = elements(b.from_address(), b.count());
  const Elements back = elements(b.to_address(), b.count());
  if (c.rank() == 0) return c.send(data, 1) && c.receive(back, 1) && c.wait();
  return c.rank() != 1 || (c.receive(back, 0) && c.send(data, 0) && c.wait());
}
void their_ping_pong(Buffers& b, int) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank > 1) return;
  const auto send = [&] {
    MPI_Send(b.from.data(), b.count(), MPI_FLOAT, 1 - rank, 0, MPI_COMM_WORLD);
  };
  if (rank == 0) send();
  MPI_Recv(b.to.data(), b.count(), MPI_FLOAT, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank == 1) send();
}

std::vector<Operation> operations() {
  return {
      {"all_reduce",
       [](Collectives& c, Buffers& b) {
         return c.all_reduce(elements(b.from_address(), b.count()), b.to_address(), Reduction::kSum)
             .ok();
       },
       [](Buffers& b, int) {
         MPI_Allreduce(b.from.data(), b.to.data(), b.count(), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
       }},
      {"reduce_scatter",
       [](Collectives& c, Buffers& b) {
         return c
             .reduce_scatter(b.from_address(), elements(b.to_address(), b.count() / c.size()),
                             Reduction::kSum)
             .ok();
       },
       [](Buffers& b, int ranks) {
         MPI_Reduce_scatter_block(b.from.data(), b.to.data(), b.count() / ranks, MPI_FLOAT, MPI_SUM,
                                  MPI_COMM_WORLD);
       }},
      {"all_gather",
       [](Collectives& c, Buffers& b) {
         return c.all_gather(elements(b.from_address(), b.count() / c.size()), b.to_address()).ok();
       },
       [](Buffers& b, int ranks) {
         const int part = b.count() / ranks;
         MPI_Allgather(b.from.data(), part, MPI_FLOAT, b.to.data(), part, MPI_FLOAT,
                       MPI_COMM_WORLD);
       }},
      {"broadcast",
       [](Collectives& c, Buffers& b) {
         return c.broadcast(elements(b.from_address(), b.count()), 0).ok();
       },
       [](Buffers& b, int) { MPI_Bcast(b.from.data(), b.count(), MPI_FLOAT, 0, MPI_COMM_WORLD); }},
      {"all_to_all",
       [](Collectives& c, Buffers& b) {
         return c.all_to_all(b.from_address(), elements(b.to_address(), b.count() / c.size())).ok();
       },
       [](Buffers& b, int ranks) {
         const int part = b.count() / ranks;
         MPI_Alltoall(b.from.data(), part, MPI_FLOAT, b.to.data(), part, MPI_FLOAT, MPI_COMM_WORLD);
       }},
      {"send, receive and back", our_ping_pong, their_ping_pong},
  };
}

/// Microseconds of one call on the slowest rank.
template <class Call>
double time_us(int calls, const Call& call) {
  MPI_Barrier(MPI_COMM_WORLD);
  const auto begin = Clock::now();
  for (int k = 0; k < calls; ++k) call();
  double us = std::chrono::duration<double, std::micro>(Clock::now() - begin).count() / calls;
  MPI_Allreduce(MPI_IN_PLACE, &us, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return us;
}

double lower_quartile(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 4];
}

void compare(const Operation& operation, Collectives& c, std::size_t bytes) {
  const std::size_t padded = (bytes + 63) / 4;
  Buffers buffers{std::vector<float>(padded, 1), std::vector<float>(padded, 0), bytes};
  const int calls = bytes <= 65536 ? 50 : bytes <= (1U << 20) ? 5 : 1;
  const int tries = bytes <= (1U << 20) ? 60 : 12;
  std::vector<double> ours, theirs;
  for (int k = 0; k < tries; ++k) {
    ours.push_back(time_us(calls, [&] {
      if (!operation.ours(c, buffers)) std::abort();
    }));
    theirs.push_back(time_us(calls, [&] { operation.theirs(buffers, c.size()); }));
  }
  const double mine = lower_quartile(ours), other = lower_quartile(theirs);
  if (c.rank() == 0)
    fmt::print("{:24} {:>9} B {:>11.2f} us {:>11.2f} us {:>7.2f} {:>7.2f} GB/s {:>6.2f}\n",
               operation.name, bytes, mine, other, static_cast<double>(bytes) / mine / 1e3,
               static_cast<double>(bytes) / other / 1e3, mine / other);
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t largest = argc > 1 ? std::strtoul(argv[1], nullptr, 10) << 20 : 64U << 20;
  const auto world = mpi_world({.waiting = soapstone::parallel::Waiting::kSpin});
  if (!world) return 7;
  if ((*world)->rank() == 0)
    fmt::print("{:24} {:>11} {:>14} {:>14} {:>20} {:>13}\n", "operation", "bytes", "ours", "MPI's",
               "ours, MPI's", "ours / MPI's");
  for (const Operation& operation : operations())
    for (std::size_t bytes = 8; bytes <= largest; bytes *= bytes < 4096 ? 8 : 4)
      compare(operation, **world, bytes);
  return 0;
}
