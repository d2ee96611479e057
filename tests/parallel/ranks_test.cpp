// Ranks that are threads: what they say to each other, and how they end.
#include "parallel/ranks/ranks.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "runtime/collectives/virtual_ranks.h"

namespace soapstone::parallel {
namespace {

using VirtualRanks = std::vector<std::unique_ptr<runtime::Collectives>>;

void on_ranks(const VirtualRanks& all, const std::function<void(Ranks&)>& body) {
  std::vector<std::jthread> threads;
  for (const auto& one : all)
    threads.emplace_back([&] {
      Ranks ranks(*one);
      body(ranks);
    });
}

TEST(Ranks, GatherWhatEachGives) {
  const auto all_ranks = runtime::make_virtual_ranks(3);
  on_ranks(all_ranks, [](Ranks& ranks) {
    const auto all = ranks.all_gather(Bytes(ranks.rank(), std::byte{7}));
    ASSERT_TRUE(all);
    for (std::size_t r = 0; r < 3; ++r) EXPECT_EQ((*all)[r], Bytes(r, std::byte{7}));
    EXPECT_TRUE(ranks.agree(core::Done{}));
  });
}

TEST(Ranks, AnErrorOfOneReachesAllAndEndsIt) {
  const auto all_ranks = runtime::make_virtual_ranks(3);
  on_ranks(all_ranks, [](Ranks& ranks) {
    EXPECT_TRUE(ranks.agree(core::Done{}));
    // One fails while the others exchange something else.
    const core::Error full{core::ErrorCode::kUnavailable, "no room", "tiles", "make room"};
    const auto all = ranks.rank() == 1 ? ranks.all_gather(full) : ranks.all_gather(Bytes(5));
    ASSERT_FALSE(all);
    EXPECT_EQ(all.error().code, core::ErrorCode::kUnavailable);
    EXPECT_EQ(all.error().to_string(), "rank 1: tiles: no room (make room)");
    // Nothing is sent after the end: one alone gets its answer at once.
    if (ranks.rank() == 2) {
      EXPECT_EQ(ranks.agree(core::Done{}).error().message, "no room");
    }
    EXPECT_FALSE(ranks.is_broken());
  });
  for (const auto& one : all_ranks) EXPECT_TRUE(one->wait());
}

TEST(Ranks, WhatAllSayIsNotSaidOfOne) {
  const auto all_ranks = runtime::make_virtual_ranks(2);
  on_ranks(all_ranks, [](Ranks& ranks) {
    const core::Status status = ranks.agree(core::invalid_input("no such preset"));
    EXPECT_EQ(status.error().to_string(), "no such preset");
  });
}

TEST(Ranks, KnowWhenTheLineIsCut) {
  const auto all_ranks = runtime::make_virtual_ranks(2);
  all_ranks[0]->abort("the line is cut");
  on_ranks(all_ranks, [](Ranks& ranks) {
    EXPECT_EQ(ranks.agree(core::Done{}).error().message, "the line is cut");
    EXPECT_TRUE(ranks.is_broken());
    // The error that the rank itself had first matters more.
    EXPECT_EQ(ranks.agree(core::invalid_input("later")).error().message, "the line is cut");
  });
}

}  // namespace
}  // namespace soapstone::parallel
