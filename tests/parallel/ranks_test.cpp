// Ranks that are threads: what they say to each other, and how they end.
#include "parallel/ranks/ranks.h"

#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <thread>

namespace soapstone::parallel {
namespace {

struct Board {
  explicit Board(std::size_t ranks) : barrier(static_cast<std::ptrdiff_t>(ranks)), slots(ranks) {}
  std::barrier<> barrier;
  std::vector<Bytes> slots;
  std::atomic<int> calls = 0;
  bool is_cut = false;
};

class ThreadCommunicator final : public Communicator {
 public:
  ThreadCommunicator(Board& board, std::size_t rank) : board_(board), rank_(rank) {}
  std::size_t rank() const override { return rank_; }
  std::size_t size() const override { return board_.slots.size(); }
  core::Result<std::vector<Bytes>> all_gather(std::span<const std::byte> mine) override {
    ++board_.calls;
    if (board_.is_cut) return core::unavailable("the line is cut");
    board_.slots[rank_].assign(mine.begin(), mine.end());
    board_.barrier.arrive_and_wait();
    std::vector<Bytes> all = board_.slots;
    board_.barrier.arrive_and_wait();
    return all;
  }
  [[noreturn]] void abort(int exit_code) override { std::_Exit(exit_code); }

 private:
  Board& board_;
  std::size_t rank_;
};

void on_ranks(Board& board, const std::function<void(Ranks&)>& body) {
  std::vector<std::jthread> threads;
  for (std::size_t r = 0; r < board.slots.size(); ++r)
    threads.emplace_back([&, r] {
      ThreadCommunicator communicator(board, r);
      Ranks ranks(communicator);
      body(ranks);
    });
}

TEST(Ranks, GatherWhatEachGives) {
  Board board(3);
  on_ranks(board, [](Ranks& ranks) {
    const auto all = ranks.all_gather(Bytes(ranks.rank(), std::byte{7}));
    ASSERT_TRUE(all);
    for (std::size_t r = 0; r < 3; ++r) EXPECT_EQ((*all)[r], Bytes(r, std::byte{7}));
    EXPECT_TRUE(ranks.agree(core::Done{}));
  });
}

TEST(Ranks, AnErrorOfOneReachesAllAndEndsIt) {
  Board board(3);
  on_ranks(board, [](Ranks& ranks) {
    EXPECT_TRUE(ranks.agree(core::Done{}));
    // One fails while the others exchange something else.
    const core::Error full{core::ErrorCode::kUnavailable, "no room", "tiles", "make room"};
    const auto all = ranks.rank() == 1 ? ranks.all_gather(full) : ranks.all_gather(Bytes(5));
    ASSERT_FALSE(all);
    EXPECT_EQ(all.error().code, core::ErrorCode::kUnavailable);
    EXPECT_EQ(all.error().to_string(), "rank 1: tiles: no room (make room)");
    EXPECT_EQ(ranks.agree(core::Done{}).error().message, "no room");
    EXPECT_FALSE(ranks.is_broken());
  });
  EXPECT_EQ(board.calls, 6) << "something was sent after the end";
}

TEST(Ranks, WhatAllSayIsNotSaidOfOne) {
  Board board(2);
  on_ranks(board, [](Ranks& ranks) {
    const core::Status status = ranks.agree(core::invalid_input("no such preset"));
    EXPECT_EQ(status.error().to_string(), "no such preset");
  });
}

TEST(Ranks, KnowWhenTheLineIsCut) {
  Board board(2);
  board.is_cut = true;
  on_ranks(board, [](Ranks& ranks) {
    EXPECT_EQ(ranks.agree(core::Done{}).error().message, "the line is cut");
    EXPECT_TRUE(ranks.is_broken());
    // The error that the rank itself had first matters more.
    EXPECT_EQ(ranks.agree(core::invalid_input("later")).error().message, "the line is cut");
  });
}

}  // namespace
}  // namespace soapstone::parallel
