// Closed forms of collectives against the rounds of messages that the algorithms consist of.
#include "parallel/topology/collectives.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "parallel/topology/presets.h"

namespace soapstone::parallel {
namespace {

struct Flow {
  std::size_t from, to;
  double bytes;
};

/// Time of messages that are sent at once: the longest latency, and the fullest channel.
struct Round {
  double latency_us = 0, transfer_us = 0;
  double us() const { return latency_us + transfer_us; }
};

Round round_of(const Topology& topology, const std::vector<Flow>& flows) {
  std::vector<double> load_us(topology.channel_count());
  Round round;
  for (const Flow& flow : flows) {
    const DeviceId from(flow.from), to(flow.to);
    round.latency_us = std::max(round.latency_us, topology.path(from, to).latency_us);
    for (const ChannelId id : topology.route(from, to))
      load_us[id.index()] += flow.bytes / topology.channel(id).bytes_per_s * 1e6;
  }
  round.transfer_us = *std::max_element(load_us.begin(), load_us.end());
  return round;
}

Topology preset_of(std::string_view name) { return *preset_topology(name); }

std::vector<DeviceId> devices(std::size_t first, std::size_t count, std::size_t stride = 1) {
  std::vector<DeviceId> ids;
  for (std::size_t k = 0; k < count; ++k) ids.emplace_back(first + k * stride);
  return ids;
}

constexpr double kTensorBytes = 64e6;

TEST(Collectives, ARingOnOneLevelIsItsRounds) {
  const Topology dgx = preset_of("dgx-a100x1");
  const GroupShape shape = shape_of_devices(dgx, devices(0, 8));
  std::vector<Flow> flows;
  for (std::size_t k = 0; k < 8; ++k) flows.push_back({k, (k + 1) % 8, kTensorBytes / 8});
  const double round_us = round_of(dgx, flows).us();
  const auto time = [&](Collective collective) {
    return *collective_us(collective, Algorithm::kRing, shape, kTensorBytes);
  };
  EXPECT_DOUBLE_EQ(time(Collective::kAllReduce), 14 * round_us);
  EXPECT_DOUBLE_EQ(time(Collective::kReduceScatter), 7 * round_us);
  EXPECT_DOUBLE_EQ(time(Collective::kAllGather), 7 * round_us);
}

TEST(Collectives, RingsOverNodesUseAllTheirPorts) {
  // Eight rings; ring r leaves each node by its device r and enters the next one by the same port.
  const Topology dgx = preset_of("dgx-h100x4");
  std::vector<Flow> flows;
  for (std::size_t ring = 0; ring < 8; ++ring)
    for (std::size_t node = 0; node < 4; ++node) {
      for (std::size_t k = 1; k < 8; ++k)
        flows.push_back(
            {node * 8 + (ring + k) % 8, node * 8 + (ring + k + 1) % 8, kTensorBytes / 32 / 8});
      flows.push_back(
          {node * 8 + ring, (node + 1) % 4 * 8 + (ring + 1) % 8, kTensorBytes / 32 / 8});
    }
  const GroupShape shape = shape_of_devices(dgx, devices(0, 32));
  const double ring_us =
      *collective_us(Collective::kAllGather, Algorithm::kRing, shape, kTensorBytes);
  EXPECT_NEAR(ring_us, 31 * round_of(dgx, flows).us(), 1e-9 * ring_us);
}

TEST(Collectives, HalvingAndDoublingIsItsExchanges) {
  for (const char* name : {"dgx-a100x4", "p100x4-nvlink"}) {
    const Topology topology = preset_of(name);
    const std::size_t n = topology.device_count();
    double us = 0, bytes = kTensorBytes;
    for (std::size_t distance = 1; distance < n; distance *= 2) {
      bytes /= 2;
      std::vector<Flow> flows;
      for (std::size_t k = 0; k < n; ++k) flows.push_back({k, k ^ distance, bytes});
      us += round_of(topology, flows).us();
    }
    const GroupShape shape = shape_of_devices(topology, devices(0, n));
    const auto time = [&](Collective collective) {
      return *collective_us(collective, Algorithm::kHalvingDoubling, shape, kTensorBytes);
    };
    EXPECT_NEAR(time(Collective::kReduceScatter), us, 1e-9 * us) << name;
    EXPECT_NEAR(time(Collective::kAllReduce), 2 * us, 1e-9 * us) << name;
    EXPECT_NEAR(time(Collective::kBroadcast), 2 * us, 1e-9 * us) << name;
  }
}

TEST(Collectives, LevelAfterLevelIsRingsWithinEach) {
  const Topology dgx = preset_of("dgx-a100x4");
  double us = 0;
  std::vector<Flow> inner, outer;
  for (std::size_t k = 0; k < 32; ++k) {
    inner.push_back({k, k / 8 * 8 + (k + 1) % 8, kTensorBytes / 8});
    outer.push_back({k, (k + 8) % 32, kTensorBytes / 8 / 4});
  }
  us = 7 * round_of(dgx, inner).us() + 3 * round_of(dgx, outer).us();
  const GroupShape shape = shape_of_devices(dgx, devices(0, 32));
  EXPECT_NEAR(
      *collective_us(Collective::kReduceScatter, Algorithm::kHierarchical, shape, kTensorBytes), us,
      1e-9 * us);
}

TEST(Collectives, AnAllToAllFillsTheSlowestPorts) {
  for (const char* name : {"dgx-a100x4", "k80x4-ib", "p100x4-nvlink"}) {
    const Topology topology = preset_of(name);
    const std::size_t n = topology.device_count();
    std::vector<Flow> flows;
    for (std::size_t from = 0; from < n; ++from)
      for (std::size_t to = 0; to < n; ++to)
        if (from != to) flows.push_back({from, to, kTensorBytes / static_cast<double>(n)});
    const GroupShape shape = shape_of_devices(topology, devices(0, n));
    const double us =
        *collective_us(Collective::kAllToAll, Algorithm::kDirect, shape, kTensorBytes);
    const double latency_us = *collective_us(Collective::kAllToAll, Algorithm::kDirect, shape, 0);
    EXPECT_NEAR(us - latency_us, round_of(topology, flows).transfer_us, 1e-9 * us) << name;
  }
}

TEST(Collectives, ATreeDoublesItsMembers) {
  const Topology dgx = preset_of("dgx-a100x4");
  double us = 0;
  for (std::size_t have = 1; have < 32; have *= 2) {
    std::vector<Flow> flows;  // First to other nodes, then within each.
    for (std::size_t k = 0; k < have; ++k) {
      const std::size_t stride = 32 / have / 2;
      flows.push_back({2 * k * stride, (2 * k + 1) * stride, kTensorBytes});
    }
    us += round_of(dgx, flows).us();
  }
  const GroupShape shape = shape_of_devices(dgx, devices(0, 32));
  EXPECT_NEAR(*collective_us(Collective::kBroadcast, Algorithm::kTree, shape, kTensorBytes), us,
              1e-9 * us);
  EXPECT_NEAR(*collective_us(Collective::kAllReduce, Algorithm::kTree, shape, kTensorBytes), 2 * us,
              1e-9 * us);
}

TEST(Collectives, GroupsOfAnAxisShareThePortsOfANode) {
  // Four groups, each with one device in each of 16 nodes: a quarter of the node's port for each.
  const Topology k80 = preset_of("k80x4-ib");
  std::vector<Flow> flows;
  for (std::size_t k = 0; k < 64; ++k) flows.push_back({k, (k + 4) % 64, kTensorBytes / 16});
  const double together_us = 15 * round_of(k80, flows).us();
  const GroupShape axis = shape_of_axis(k80, 4, 16);
  EXPECT_EQ(axis.size(), 16);
  EXPECT_NEAR(*collective_us(Collective::kAllGather, Algorithm::kRing, axis, kTensorBytes),
              together_us, 1e-9 * together_us);
  const GroupShape alone = shape_of_devices(k80, devices(0, 16, 4));
  EXPECT_LT(*collective_us(Collective::kAllGather, Algorithm::kRing, alone, kTensorBytes),
            together_us / 3);
  // Where each device has a port, others take nothing away.
  const Topology dgx = preset_of("dgx-a100x4");
  const GroupShape rail = shape_of_axis(dgx, 8, 4),
                   rail_alone = shape_of_devices(dgx, devices(0, 4, 8));
  EXPECT_EQ(best_collective(Collective::kAllReduce, rail, kTensorBytes).us,
            best_collective(Collective::kAllReduce, rail_alone, kTensorBytes).us);
}

TEST(Collectives, ShapesFollowTheLevels) {
  const Topology dgx = preset_of("dgx-a100x4");
  const auto counts = [](const GroupShape& shape) {
    std::vector<std::int64_t> result;
    for (const Span& span : shape.spans) result.push_back(span.count);
    return result;
  };
  using Counts = std::vector<std::int64_t>;
  EXPECT_EQ(counts(shape_of_axis(dgx, 1, 8)), Counts{8});
  EXPECT_EQ(counts(shape_of_axis(dgx, 2, 8)), (Counts{4, 2}));
  EXPECT_EQ(counts(shape_of_axis(dgx, 8, 4)), Counts{4});
  EXPECT_EQ(counts(shape_of_axis(dgx, 1, 32)), (Counts{8, 4}));
  EXPECT_EQ(counts(shape_of_axis(dgx, 1, 1)), Counts{});
  EXPECT_EQ(shape_of_devices(dgx, devices(5, 6)).size(), 6);  // Three on each of two nodes.
  EXPECT_EQ(shape_of_axis(preset_of("dgx-h100x2048"), 8, 2048).size(), 2048);
}

TEST(Collectives, TheBestAlgorithmDependsOnTheSize) {
  const Topology large = preset_of("dgx-h100x2048");
  const GroupShape shape = shape_of_axis(large, 1, 16384);
  const CollectiveTime small = best_collective(Collective::kAllReduce, shape, 8);
  EXPECT_NE(small.algorithm, Algorithm::kRing);
  EXPECT_LT(small.us, 200);
  const GroupShape node = shape_of_axis(large, 1, 8);
  const CollectiveTime big = best_collective(Collective::kAllReduce, node, 1e9);
  EXPECT_NEAR(big.us, 2 * 7.0 / 8 * 1e9 / 4.5e11 * 1e6, 0.02 * big.us);
  for (const Algorithm algorithm : {Algorithm::kRing, Algorithm::kTree, Algorithm::kHalvingDoubling,
                                    Algorithm::kHierarchical, Algorithm::kDirect})
    for (const double bytes : {1.0, 1e4, 1e8})
      if (const auto us = collective_us(Collective::kAllReduce, algorithm, shape, bytes)) {
        EXPECT_LE(best_collective(Collective::kAllReduce, shape, bytes).us, *us);
      }
}

TEST(Collectives, AChainIsCutIntoTheBestPieces) {
  const GroupShape shape = shape_of_devices(preset_of("dgx-a100x1"), devices(0, 8));
  const Span& span = shape.spans[0];
  const double us = *collective_us(Collective::kBroadcast, Algorithm::kRing, shape, kTensorBytes);
  for (int pieces = 1; pieces < 100; ++pieces)
    EXPECT_LE(us, (6 + pieces) *
                      (span.latency_us + kTensorBytes / pieces / span.bytes_per_s * 1e6) * 1.001);
  EXPECT_GT(us, kTensorBytes / span.bytes_per_s * 1e6);
}

TEST(Collectives, AGroupOfOneTakesNoTime) {
  const Topology dgx = preset_of("dgx-a100x1");
  const GroupShape shape = shape_of_devices(dgx, devices(3, 1));
  EXPECT_EQ(best_collective(Collective::kAllReduce, shape, kTensorBytes).us, 0);
}

TEST(Collectives, ASendIsTheLatencyAndTheRateOfOnePort) {
  const Topology k80 = preset_of("k80x4-ib");
  const std::vector<DeviceId> pair = {DeviceId(std::size_t{1}), DeviceId(std::size_t{6})};
  EXPECT_DOUBLE_EQ(best_collective(Collective::kSend, shape_of_devices(k80, pair), 7e6).us,
                   8 + 1000);
}

TEST(Collectives, NetworksCountTheFlowsOfTheirRings) {
  // The ring crosses the 50 Gbit/s between the two nodes once in each direction.
  const Topology mixed = preset_of("v100-p100");
  const GroupShape shape = shape_of_devices(mixed, devices(0, 16));
  EXPECT_EQ(shape.size(), 16);
  EXPECT_DOUBLE_EQ(shape.spans[0].bytes_per_s, 6.25e9);
  EXPECT_DOUBLE_EQ(shape.spans[0].latency_us, 24);
  // Eight pairs over the same cable.
  EXPECT_DOUBLE_EQ(shape_of_axis(mixed, 8, 2).spans[0].bytes_per_s, 6.25e9 / 8);
}

}  // namespace
}  // namespace soapstone::parallel
