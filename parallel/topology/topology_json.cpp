// See topology_json.h. What figures mean is checked by Topology::make; here is only their form.
#include "parallel/topology/topology_json.h"

#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/base/file_io.h"
#include "parallel/topology/collectives.h"
#include "parallel/topology/json_parser.h"
#include "parallel/topology/json_reader.h"

namespace soapstone::parallel {
namespace {

using TopologyJson = nlohmann::ordered_json;
using TopologyReader = JsonReader<TopologyJson>;

constexpr int kVersion = 1;

DeviceKind read_kind(const TopologyReader& entry) {
  entry.expect_keys({"name", "cost_key", "memory_bytes", "memory_bytes_per_s", "flops_per_s",
                     "slowdown_when_all_compute"});
  DeviceKind kind;
  kind.name = entry.field("name").text();
  kind.cost_key = entry.has("cost_key") ? entry.field("cost_key").text() : kind.name;
  kind.memory_bytes = entry.field("memory_bytes").number();
  kind.memory_bytes_per_s = entry.field("memory_bytes_per_s").number();
  entry.field("flops_per_s")
      .for_each_field([&](const std::string& name, const TopologyReader& rate) {
        const auto type = core::parse_data_type(name);
        if (!type) return rate.fail(fmt::format("there is no data type '{}'", name));
        kind.flops_per_s[*type] = rate.number();
      });
  if (entry.has("slowdown_when_all_compute")) {
    const TopologyReader slowdown = entry.field("slowdown_when_all_compute");
    slowdown.expect_keys({"contractions", "others"});
    kind.contraction_slowdown = slowdown.field("contractions").number();
    kind.other_slowdown = slowdown.field("others").number();
  }
  return kind;
}

Collective read_collective(const TopologyReader& name) {
  const std::string wanted = name.text();
  for (const Collective collective :
       {Collective::kAllReduce, Collective::kReduceScatter, Collective::kAllGather,
        Collective::kAllToAll, Collective::kBroadcast, Collective::kSend})
    if (wanted == to_string(collective)) return collective;
  name.fail(fmt::format("there is no operation '{}'", wanted));
  return Collective::kAllReduce;
}

std::vector<MeasuredCollective> read_measured(const TopologyReader& document) {
  std::vector<MeasuredCollective> result;
  if (!document.has("collectives")) return result;
  document.field("collectives").for_each([&](const TopologyReader& entry) {
    entry.expect_keys({"operation", "devices", "bytes", "us"});
    MeasuredCollective& measured = result.emplace_back();
    measured.collective = read_collective(entry.field("operation"));
    measured.devices = entry.field("devices").integer();
    std::vector<double> bytes, us;
    entry.field("bytes").for_each(
        [&](const TopologyReader& one) { bytes.push_back(one.number()); });
    entry.field("us").for_each([&](const TopologyReader& one) { us.push_back(one.number()); });
    if (bytes.size() != us.size())
      return entry.fail(fmt::format("there are {} sizes and {} times", bytes.size(), us.size()));
    for (std::size_t k = 0; k < us.size(); ++k) measured.times.emplace_back(bytes[k], us[k]);
  });
  return result;
}

std::vector<DeviceKind> read_kinds(const TopologyReader& document) {
  std::vector<DeviceKind> kinds;
  document.field("kinds").for_each(
      [&](const TopologyReader& entry) { kinds.push_back(read_kind(entry)); });
  return kinds;
}

std::size_t read_kind_name(const TopologyReader& name, const std::vector<DeviceKind>& kinds) {
  const std::string wanted = name.text();
  for (std::size_t k = 0; k < kinds.size(); ++k)
    if (kinds[k].name == wanted) return k;
  name.fail(fmt::format("there is no kind '{}'", wanted));
  return 0;
}

Hierarchy read_hierarchy(const TopologyReader& document) {
  Hierarchy result;
  document.expect_keys({"version", "name", "kinds", "devices", "levels", "collectives"});
  result.name = document.field("name").text();
  result.kinds = read_kinds(document);
  document.field("devices").for_each([&](const TopologyReader& entry) {
    entry.expect_keys({"kind", "count"});
    const std::size_t kind = read_kind_name(entry.field("kind"), result.kinds);
    result.devices.push_back({kind, entry.field("count").integer()});
  });
  document.field("levels").for_each([&](const TopologyReader& entry) {
    entry.expect_keys({"name", "size", "latency_us", "bytes_per_s", "devices_per_port", "duplex"});
    Level level{entry.field("name").text(), entry.field("size").integer(),
                entry.field("latency_us").number(), entry.field("bytes_per_s").number()};
    if (entry.has("devices_per_port"))
      level.devices_per_port = entry.field("devices_per_port").integer();
    if (entry.has("duplex")) level.duplex = entry.field("duplex").truth();
    result.levels.push_back(std::move(level));
  });
  result.measured = read_measured(document);
  return result;
}

/// `between`: the two ends by name.
void read_ends(const TopologyReader& between, const std::map<std::string, std::size_t>& vertices,
               Wire& wire) {
  std::vector<std::size_t> ends;
  between.for_each([&](const TopologyReader& name) {
    const auto found = vertices.find(name.text());
    if (found == vertices.end())
      return name.fail(fmt::format("there is no device or switch '{}'", name.text()));
    ends.push_back(found->second);
  });
  if (ends.size() != 2) return between.fail("a link is between two");
  wire.from = ends[0];
  wire.to = ends[1];
}

Network read_network(const TopologyReader& document) {
  Network result;
  document.expect_keys({"version", "name", "kinds", "devices", "switches", "links", "collectives"});
  result.name = document.field("name").text();
  result.kinds = read_kinds(document);
  std::map<std::string, std::size_t> vertices;
  const auto add = [&](const TopologyReader& name, std::vector<std::string>& names) {
    names.push_back(name.text());
    if (!vertices.emplace(names.back(), vertices.size()).second)
      name.fail(fmt::format("the name '{}' is used twice", names.back()));
  };
  document.field("devices").for_each([&](const TopologyReader& entry) {
    entry.expect_keys({"name", "kind"});
    add(entry.field("name"), result.devices);
    result.kind_of.push_back(read_kind_name(entry.field("kind"), result.kinds));
  });
  if (document.has("switches"))
    document.field("switches").for_each([&](const TopologyReader& name) {
      add(name, result.switches);
    });
  document.field("links").for_each([&](const TopologyReader& entry) {
    entry.expect_keys({"between", "latency_us", "bytes_per_s", "duplex"});
    Wire wire;
    read_ends(entry.field("between"), vertices, wire);
    wire.latency_us = entry.field("latency_us").number();
    wire.bytes_per_s = entry.field("bytes_per_s").number();
    if (entry.has("duplex")) wire.duplex = entry.field("duplex").truth();
    result.wires.push_back(wire);
  });
  result.measured = read_measured(document);
  return result;
}

TopologyJson kinds_json(const Topology& topology) {
  TopologyJson kinds = TopologyJson::array();
  for (const DeviceKind& kind : topology.kinds()) {
    TopologyJson rates = TopologyJson::object();
    for (const auto& [type, rate] : kind.flops_per_s) rates[std::string(to_string(type))] = rate;
    kinds.push_back({{"name", kind.name},
                     {"cost_key", kind.cost_key},
                     {"memory_bytes", kind.memory_bytes},
                     {"memory_bytes_per_s", kind.memory_bytes_per_s},
                     {"flops_per_s", rates}});
    if (kind.contraction_slowdown != 1 || kind.other_slowdown != 1)
      kinds.back()["slowdown_when_all_compute"] = {{"contractions", kind.contraction_slowdown},
                                                   {"others", kind.other_slowdown}};
  }
  return kinds;
}

void add_hierarchy(const Topology& topology, TopologyJson& document) {
  document["devices"] = TopologyJson::array();
  for (const DeviceRun& run : topology.device_runs())
    document["devices"].push_back(
        {{"kind", topology.kinds()[run.kind].name}, {"count", run.count}});
  document["levels"] = TopologyJson::array();
  for (const Level& level : topology.levels())
    document["levels"].push_back({{"name", level.name},
                                  {"size", level.size},
                                  {"latency_us", level.latency_us},
                                  {"bytes_per_s", level.bytes_per_s},
                                  {"devices_per_port", level.devices_per_port},
                                  {"duplex", level.duplex}});
}

void add_network(const Topology& topology, TopologyJson& document) {
  document["devices"] = TopologyJson::array();
  std::vector<std::string> names;
  for (std::size_t k = 0; k < topology.device_count(); ++k) {
    names.push_back(topology.device_name(DeviceId(k)));
    document["devices"].push_back(
        {{"name", names.back()}, {"kind", topology.kind_of(DeviceId(k)).name}});
  }
  names.insert(names.end(), topology.switches().begin(), topology.switches().end());
  document["switches"] = TopologyJson(topology.switches());
  document["links"] = TopologyJson::array();
  for (const Wire& wire : topology.wires())
    document["links"].push_back({{"between", {names[wire.from], names[wire.to]}},
                                 {"latency_us", wire.latency_us},
                                 {"bytes_per_s", wire.bytes_per_s},
                                 {"duplex", wire.duplex}});
}

void add_measured(std::span<const MeasuredCollective> measured, TopologyJson& document) {
  document["collectives"] = TopologyJson::array();
  for (const MeasuredCollective& one : measured) {
    TopologyJson bytes = TopologyJson::array(), us = TopologyJson::array();
    for (const auto& [size, time] : one.times) {
      bytes.push_back(size);
      us.push_back(time);
    }
    document["collectives"].push_back({{"operation", to_string(one.collective)},
                                       {"devices", one.devices},
                                       {"bytes", bytes},
                                       {"us", us}});
  }
}

}  // namespace

core::Result<Topology> topology_from_json(std::string_view text) {
  SOAPSTONE_ASSIGN_OR_RETURN(const TopologyJson json, parse_json<TopologyJson>(text));
  std::optional<core::Error> error;
  const TopologyReader document(json, "", error);
  if (document.field("version").integer() != kVersion)
    document.field("version").fail(fmt::format("only version {} is known", kVersion));
  if (document.has("levels") && document.has("links"))
    document.fail("a topology has levels or links, not both");
  if (document.has("links")) {
    Network network = read_network(document);
    return error ? core::Result<Topology>(*error) : Topology::make(std::move(network));
  }
  Hierarchy hierarchy = read_hierarchy(document);
  return error ? core::Result<Topology>(*error) : Topology::make(std::move(hierarchy));
}

core::Result<Topology> read_topology(const std::filesystem::path& path) {
  SOAPSTONE_ASSIGN_OR_RETURN(const std::string text, core::read_file(path));
  auto topology = topology_from_json(text);
  if (!topology) return topology.error().at(path.string());
  return topology;
}

std::string topology_to_json(const Topology& topology) {
  TopologyJson document = {
      {"version", kVersion}, {"name", topology.name()}, {"kinds", kinds_json(topology)}};
  if (topology.device_runs().empty())
    add_network(topology, document);
  else
    add_hierarchy(topology, document);
  if (topology.measured()) add_measured(*topology.measured(), document);
  return document.dump(2) + "\n";
}

}  // namespace soapstone::parallel
