// Machines: their routes, the file format and its errors, what is known by name.
#include "parallel/topology/topology.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "core/base/file_io.h"
#include "parallel/topology/collectives.h"
#include "parallel/topology/presets.h"
#include "parallel/topology/topology_json.h"

namespace soapstone::parallel {
namespace {

using testing::HasSubstr;

Topology machine(std::string_view name) {
  auto topology = preset_topology(name);
  EXPECT_TRUE(topology) << name;
  return *std::move(topology);
}

DeviceId device(std::size_t k) { return DeviceId(k); }

TEST(Topology, LevelsRouteThroughTheLowestCommonGroup) {
  const Topology dgx = machine("dgx-a100x4");
  EXPECT_EQ(dgx.device_count(), 32U);
  EXPECT_EQ(dgx.device_name(device(13)), "1.5");
  EXPECT_TRUE(dgx.route(device(3), device(3)).empty());
  EXPECT_EQ(dgx.route(device(3), device(4)).size(), 2U);
  EXPECT_DOUBLE_EQ(dgx.path(device(3), device(4)).bytes_per_s, 3e11);
  EXPECT_DOUBLE_EQ(dgx.path(device(7), device(8)).bytes_per_s, 2.5e10);
  EXPECT_DOUBLE_EQ(dgx.path(device(7), device(8)).latency_us, 6);
  EXPECT_DOUBLE_EQ(dgx.path(device(0), device(31)).us(2.5e10), 6 + 1e6);
}

TEST(Topology, DevicesOfANodeShareItsPort) {
  const Topology k80 = machine("k80x4-ib");
  EXPECT_EQ(k80.route(device(0), device(4))[0], k80.route(device(3), device(60))[0]);
  EXPECT_NE(k80.route(device(0), device(4))[0], k80.route(device(4), device(0))[0]);
  EXPECT_EQ(k80.route(device(0), device(4))[1], k80.route(device(63), device(5))[1]);
  const Topology dgx = machine("dgx-h100x2");
  EXPECT_NE(dgx.route(device(0), device(8))[0], dgx.route(device(1), device(8))[0]);
}

TEST(Topology, SixteenThousandDevicesNeedNoTable) {
  const Topology large = machine("dgx-h200x2048");
  EXPECT_EQ(large.device_count(), 16384U);
  EXPECT_EQ(large.channel_count(), 4 * 16384U);
  for (std::size_t k = 1; k < 16384; ++k) {
    const auto route = large.route(device(0), device(k));
    ASSERT_EQ(route.size(), 2U);
    for (const ChannelId channel : route)
      ASSERT_DOUBLE_EQ(large.channel(channel).bytes_per_s, k < 8 ? 4.5e11 : 5e10);
  }
}

TEST(Topology, NetworksRouteByTheTimeOfAMebibyte) {
  const DeviceKind kind{"d", "d", 1e9, 1e9, {{core::DataType::kFloat32, 1e9}}};
  // A fast way over two switches, and a slow wire that is shorter.
  const Network network{
      "n",
      {kind},
      {"a", "b", "c"},
      {0, 0, 0},
      {"s", "t"},
      {{0, 1, 1, 1e8}, {0, 3, 1, 1e10}, {3, 4, 1, 1e10}, {4, 1, 1, 5e9}, {2, 4, 1, 1e10, false}}};
  const Topology topology = *Topology::make(network);
  EXPECT_EQ(topology.route(device(0), device(1)).size(), 3U);
  EXPECT_DOUBLE_EQ(topology.path(device(0), device(1)).bytes_per_s, 5e9);
  EXPECT_DOUBLE_EQ(topology.path(device(1), device(0)).latency_us, 3);
  // A wire that is not duplex is one channel, the others are two.
  EXPECT_EQ(topology.channel_count(), 9U);
  EXPECT_EQ(topology.route(device(2), device(1))[0], topology.route(device(1), device(2))[1]);
}

TEST(Topology, DevicesPassNothingOn) {
  const DeviceKind kind{"d", "d", 1e9, 1e9, {{core::DataType::kFloat32, 1e9}}};
  const Network line{"n", {kind}, {"a", "b", "c"}, {0, 0, 0}, {}, {{0, 1, 1, 1e9}, {1, 2, 1, 1e9}}};
  const auto topology = Topology::make(line);
  ASSERT_FALSE(topology);
  EXPECT_EQ(topology.error().code, core::ErrorCode::kInvalidInput);
  EXPECT_THAT(topology.error().to_string(), HasSubstr("no route leads from 'a' to 'c'"));
}

TEST(Topology, PresetsSurviveAsJson) {
  for (std::string name : preset_names()) {
    if (name.ends_with("N")) name.back() = '3';
    const Topology topology = machine(name);
    const std::string text = topology_to_json(topology);
    const auto again = topology_from_json(text);
    ASSERT_TRUE(again) << name << ": " << again.error().to_string();
    EXPECT_EQ(topology_to_json(*again), text);
    EXPECT_EQ(again->device_count(), topology.device_count());
    const DeviceId last = device(topology.device_count() - 1);
    EXPECT_EQ(again->path(device(0), last).us(1e6), topology.path(device(0), last).us(1e6));
    EXPECT_EQ(again->kind_of(last).cost_key, topology.kind_of(last).cost_key);
  }
}

TEST(Topology, UnknownPresetsAreRefusedWithAList) {
  for (const char* name : {"dgx", "dgx-a100x", "dgx-a100x0", "dgx-a100x2049", "dgx-a100x-1", ""}) {
    const auto topology = preset_topology(name);
    ASSERT_FALSE(topology) << name;
    EXPECT_EQ(topology.error().code, core::ErrorCode::kInvalidInput);
  }
  EXPECT_THAT(preset_topology("dgx").error().hint, HasSubstr("tpu-v2v3"));
}

TEST(Topology, ExamplesOfItsDocumentAreRead) {
  const auto document = core::read_file(SOAPSTONE_SOURCE_DIR "/docs/topology.md");
  ASSERT_TRUE(document);
  const std::regex example("```json\n([^`]*)```");
  int count = 0;
  for (std::sregex_iterator it(document->begin(), document->end(), example), end; it != end; ++it) {
    const auto topology = topology_from_json((*it)[1].str());
    EXPECT_TRUE(topology) << topology.error().to_string();
    ++count;
  }
  EXPECT_EQ(count, 3);
}

struct Refused {
  const char* from;  ///< In one of the documents below; what it becomes is `to`.
  const char* to;
  const char* message;
};

class TopologyError : public testing::TestWithParam<Refused> {};

constexpr const char* kLevels = R"({"version": 1, "name": "n", "kinds": [
  {"name": "d", "memory_bytes": 1e9, "memory_bytes_per_s": 2e9, "flops_per_s": {"f32": 3e9}}],
  "devices": [{"kind": "d", "count": 4}],
  "levels": [{"name": "l", "size": 4, "latency_us": 5, "bytes_per_s": 6e9}]})";
constexpr const char* kLinks = R"({"version": 1, "name": "n", "kinds": [
  {"name": "d", "memory_bytes": 1e9, "memory_bytes_per_s": 2e9, "flops_per_s": {"f32": 3e9}}],
  "devices": [{"name": "a", "kind": "d"}, {"name": "b", "kind": "d"}], "switches": ["s"],
  "links": [{"between": ["a", "s"], "latency_us": 5, "bytes_per_s": 6e9},
            {"between": ["b", "s"], "latency_us": 5, "bytes_per_s": 6e9}]})";

TEST_P(TopologyError, NamesThePlace) {
  ASSERT_TRUE(topology_from_json(kLevels) && topology_from_json(kLinks));
  std::string text = kLevels;
  if (text.find(GetParam().from) == std::string::npos) text = kLinks;
  const std::size_t position = text.find(GetParam().from);
  ASSERT_NE(position, std::string::npos);
  text.replace(position, std::string_view(GetParam().from).size(), GetParam().to);
  const auto topology = topology_from_json(text);
  ASSERT_FALSE(topology);
  EXPECT_EQ(topology.error().code, core::ErrorCode::kInvalidInput);
  EXPECT_EQ(topology.error().to_string(), GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Each, TopologyError,
    testing::Values(
        Refused{"\"version\": 1", "\"version\": 2", "version: only version 1 is known"},
        Refused{"{\"version\": 1, ", "{", "the document: the key 'version' is missing"},
        Refused{"\"version\": 1", "\"version\": 1, \"x\": 1",
                "the document: there is no key 'x' here"},
        Refused{"{\"version\": 1", "{\n\n\"version\"! 1",
                "this is no JSON: after 13 bytes, in line 3"},
        Refused{"\"size\": 4, ", "", "levels[0]: the key 'size' is missing"},
        Refused{"\"size\": 4", "\"size\": 4.5", "levels[0].size: 4.5 is no integer"},
        Refused{"\"size\": 4", "\"size\": 0", "levels[0].size: a level joins one group at least"},
        Refused{"\"size\": 4", "\"size\": 2", "levels: the levels join 2 devices, and there are 4"},
        Refused{"\"size\": 4", "\"size\": 4, \"width\": 3",
                "levels[0]: there is no key 'width' here"},
        Refused{"\"size\": 4", "\"size\": 4, \"duplex\": 1",
                "levels[0].duplex: 1 is neither true nor false"},
        Refused{"\"size\": 4", "\"size\": 4, \"devices_per_port\": 2",
                "levels[0].devices_per_port: 2 does not divide the 1 devices of a group"},
        Refused{"\"count\": 4", "\"count\": -4",
                "devices[0].count: the number of devices is not from 1 to 16777216"},
        Refused{"\"bytes_per_s\": 6e9", "\"bytes_per_s\": 0",
                "levels[0].bytes_per_s: 0 is not a positive number"},
        Refused{"\"latency_us\": 5", "\"latency_us\": -1",
                "levels[0].latency_us: -1 is not a time of 0 or more"},
        Refused{"\"latency_us\": 5", "\"latency_us\": \"5\"",
                "levels[0].latency_us: \"5\" is no number"},
        Refused{"\"f32\": 3e9", "\"f31\": 3e9",
                "kinds[0].flops_per_s.f31: there is no data type 'f31'"},
        Refused{"\"f32\": 3e9", "\"f32\": -3e9",
                "kinds[0].flops_per_s.f32: -3000000000 is not a positive number"},
        Refused{"\"f32\": 3e9", "",
                "kinds[0].flops_per_s: a kind needs a rate for one data type at least"},
        Refused{"\"memory_bytes\": 1e9", "\"memory_bytes\": 0",
                "kinds[0].memory_bytes: 0 is not a positive number"},
        Refused{"\"kind\": \"d\", \"count\"", "\"kind\": \"e\", \"count\"",
                "devices[0].kind: there is no kind 'e'"},
        Refused{"\"kinds\": [", "\"kinds\": {}, \"was\": [",
                "the document: there is no key 'was' here"},
        Refused{"\"levels\": [", "\"links\": [], \"levels\": [",
                "the document: a topology has levels or links, not both"},
        Refused{"\"name\": \"b\"", "\"name\": \"a\"",
                "devices[1].name: the name 'a' is used twice"},
        Refused{"\"switches\": [\"s\"]", "\"switches\": [\"a\"]",
                "switches[0]: the name 'a' is used twice"},
        Refused{"[\"b\", \"s\"]", "[\"b\", \"t\"]",
                "links[1].between[1]: there is no device or switch 't'"},
        Refused{"[\"b\", \"s\"]", "[\"b\"]", "links[1].between: a link is between two"},
        Refused{"[\"b\", \"s\"]", "[\"b\", \"b\"]",
                "links[1].between: a link joins two different devices or switches"},
        Refused{"[\"b\", \"s\"]", "[\"a\", \"s\"]", "links: no route leads from 'a' to 'b'"}));

constexpr std::string_view kMeasuredMachine = R"({
  "version": 1, "name": "m",
  "kinds": [{"name": "d", "memory_bytes": 1e9, "memory_bytes_per_s": 1e9, "flops_per_s": {"f32": 3e9},
             "slowdown_when_all_compute": {"contractions": 1.5, "others": 2}}],
  "devices": [{"kind": "d", "count": 4}],
  "levels": [{"name": "l", "size": 4, "latency_us": 5, "bytes_per_s": 1e9}],
  "collectives": [{"operation": "all_reduce", "devices": 2, "bytes": [8, 1000, 2000], "us": [1, 11, 31]},
                  {"operation": "send", "devices": 2, "bytes": [0], "us": [2]}]
})";

TEST(MeasuredCollectives, CountBeforeClosedForms) {
  const auto topology = topology_from_json(kMeasuredMachine);
  ASSERT_TRUE(topology) << topology.error().to_string();
  EXPECT_DOUBLE_EQ(topology->kinds()[0].contraction_slowdown, 1.5);
  EXPECT_DOUBLE_EQ(topology->kinds()[0].other_slowdown, 2);
  for (const GroupShape& pairs :
       {shape_of_axis(*topology, 1, 2),
        shape_of_devices(*topology, std::vector<DeviceId>{device(0), device(3)})}) {
    const auto us = [&](double bytes) {
      const CollectiveTime time = best_collective(Collective::kAllReduce, pairs, bytes);
      EXPECT_EQ(time.algorithm, Algorithm::kMeasured);
      return time.us;
    };
    EXPECT_DOUBLE_EQ(us(1), 1) << "below the least";
    EXPECT_DOUBLE_EQ(us(8), 1);
    EXPECT_DOUBLE_EQ(us(1000), 11);
    EXPECT_DOUBLE_EQ(us(1500), 21) << "on the line between";
    EXPECT_DOUBLE_EQ(us(4000), 62) << "at the rate of the largest";
    EXPECT_NE(best_collective(Collective::kAllGather, pairs, 8).algorithm, Algorithm::kMeasured);
  }
  const GroupShape all = shape_of_axis(*topology, 1, 4);
  EXPECT_NE(best_collective(Collective::kAllReduce, all, 8).algorithm, Algorithm::kMeasured);
}

TEST(MeasuredCollectives, AreWrittenAsTheyAreRead) {
  const auto topology = topology_from_json(kMeasuredMachine);
  ASSERT_TRUE(topology);
  const std::string text = topology_to_json(*topology);
  const auto again = topology_from_json(text);
  ASSERT_TRUE(again) << again.error().to_string();
  EXPECT_EQ(topology_to_json(*again), text);
  ASSERT_TRUE(again->measured());
  EXPECT_EQ((*again->measured())[0].times, (*topology->measured())[0].times);
  EXPECT_DOUBLE_EQ(again->kinds()[0].other_slowdown, 2);
}

TEST(MeasuredCollectives, ThatCannotBeAreRefused) {
  const auto error_with = [](const std::string& from, const std::string& to) {
    std::string text(kMeasuredMachine);
    text.replace(text.find(from), from.size(), to);
    const auto topology = topology_from_json(text);
    return topology ? std::string("none") : topology.error().to_string();
  };
  EXPECT_EQ(error_with("\"all_reduce\"", "\"all_reduces\""),
            "collectives[0].operation: there is no operation 'all_reduces'");
  EXPECT_EQ(error_with("[8, 1000, 2000]", "[8, 1000]"),
            "collectives[0]: there are 2 sizes and 3 times");
  EXPECT_EQ(error_with("[8, 1000, 2000]", "[8, 1000, 1000]"),
            "collectives[0]: the sizes do not ascend");
  EXPECT_EQ(error_with("[1, 11, 31]", "[1, 0, 31]"), "collectives[0]: a time is not positive");
  EXPECT_EQ(error_with("\"send\", \"devices\": 2", "\"send\", \"devices\": 1"),
            "collectives[1]: a collective operation takes two devices at least");
  EXPECT_EQ(error_with("\"contractions\": 1.5", "\"contractions\": 0"),
            "kinds[0].slowdown_when_all_compute.contractions: 0 is not a positive number");
}

TEST(Topology, AFileIsNamedInItsErrors) {
  const auto topology = read_topology("/nowhere/machine.json");
  ASSERT_FALSE(topology);
  EXPECT_THAT(topology.error().to_string(), HasSubstr("/nowhere/machine.json"));
}

#if __has_include(<hwloc.h>)
/// hwloc can be told of a machine that is not there.
class SyntheticMachine {
 public:
  explicit SyntheticMachine(const char* description) {
    setenv("HWLOC_SYNTHETIC", description, 1);
    setenv("HWLOC_THISSYSTEM", "0", 1);
  }
  ~SyntheticMachine() {
    unsetenv("HWLOC_SYNTHETIC");
    unsetenv("HWLOC_THISSYSTEM");
  }
};

TEST(LocalTopology, HasTheNodesOfMemoryThatHwlocSees) {
  const SyntheticMachine described("package:2 numanode:1(memory=1073741824) core:4 pu:2");
  const Topology local = machine("local");
  EXPECT_EQ(local.device_count(), 16);
  ASSERT_EQ(local.levels().size(), 2);
  EXPECT_EQ(local.levels()[0].size, 8);
  EXPECT_EQ(local.levels()[1].size, 2);
  EXPECT_EQ(local.levels()[1].devices_per_port, 8);
  EXPECT_DOUBLE_EQ(local.kinds()[0].memory_bytes, 1073741824.0 / 8);
}

TEST(LocalTopology, SharesACoreAmongItsThreads) {
  const auto flops_per_s = [](const char* description) {
    const SyntheticMachine described(description);
    return machine("local").kinds()[0].flops_per_s.at(core::DataType::kFloat32);
  };
  const double alone = flops_per_s("numanode:1 core:8 pu:1");
  // The clock is that of the real machine, which changes from one look to the next.
  EXPECT_NEAR(flops_per_s("numanode:1 core:4 pu:2") / alone, 0.5, 0.2);
}
#endif

TEST(LocalTopology, HasThreadsAndMemory) {
  const Topology local = machine("local");
  EXPECT_GE(local.device_count(), 1);
  EXPECT_EQ(local.kinds()[0].cost_key, "cpu");
  EXPECT_GT(local.kinds()[0].memory_bytes, 1e6);
}

}  // namespace
}  // namespace soapstone::parallel
