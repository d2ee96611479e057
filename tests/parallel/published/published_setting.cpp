#include "tests/parallel/published/published_setting.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "parallel/simulation/problem_builder.h"

namespace soapstone::parallel {
namespace {

using Json = nlohmann::json;

Json read_data(const std::string& name) {
  std::ifstream file(SOAPSTONE_SOURCE_DIR "/tests/data/parallel/" + name + ".json");
  return Json::parse(file);
}

Topology p100_nodes(const Json& costs, std::size_t devices) {
  const std::int64_t per_node = costs["devices_per_node"];
  const auto all = static_cast<std::int64_t>(devices);
  const double in_node = costs["bytes_per_ms_in_node"],
               between = costs["bytes_per_ms_between_nodes"];
  const DeviceKind kind{"p100", "p100", 16e9, 732e9, {{core::DataType::kFloat32, 9.3e12}}};
  return *Topology::make(Hierarchy{
      "published",
      {kind},
      {{0, all}},
      {{"node", per_node, 0, in_node * 1e3}, {"cluster", all / per_node, 0, between * 1e3}}});
}

struct Image {
  double channels = 0, height = 1, width = 1;
  double size() const { return channels * height * width; }
};

/// A layer with what its formula needs.
struct Layer {
  Json data;
  Image in, out;
  double weight_bytes = 0;
};

class Costs {
 public:
  explicit Costs(Json data) : data_(std::move(data)) {}
  const Json& data() const { return data_; }

  double ms(const Layer& layer, double samples, SampleGrid grid) const {
    const std::string kind = layer.data["kind"];
    if (kind == "conv") return conv_ms(layer, samples);
    if (kind == "pool") return pool_ms(layer, samples);
    if (kind == "lstm") return lstm_ms(layer, samples);
    if (kind == "linear") return linear_ms(layer, samples, grid.outputs);
    if (kind == "flat") return 0;
    const Json& shared = data_[kind];
    return shared["shared_ms"].get<double>() / grid.samples + shared.value("fixed_ms", 0.0);
  }

 private:
  double roof(double flops, double bytes, double efficiency) const {
    return std::max(flops / (data_["flops_per_ms"].get<double>() * efficiency),
                    bytes / data_["memory_bytes_per_ms"].get<double>()) +
           data_["launch_ms"].get<double>();
  }
  double efficiency(const char* kind, double rows) const {
    const double half = data_[kind]["half_rows"];
    return data_[kind]["efficiency"].get<double>() * rows / (rows + half);
  }
  static double window(const Layer& layer) {
    return layer.data["kernel"][0].get<double>() * layer.data["kernel"][1].get<double>();
  }
  double conv_ms(const Layer& layer, double b) const {
    const double pixels = layer.out.height * layer.out.width;
    const char* const passes = layer.in.channels == 3 ? "passes_of_images" : "passes";
    return data_["conv"][passes].get<double>() *
           roof(2 * b * layer.out.size() * layer.in.channels * window(layer),
                4 * (b * layer.in.size() + b * layer.out.size()) + layer.weight_bytes,
                efficiency("conv", b * pixels));
  }
  double pool_ms(const Layer& layer, double b) const {
    const double touched = b * (layer.in.size() + layer.out.size());
    return data_["pool"]["passes"].get<double>() *
           roof(touched * window(layer) / 2, 4 * touched, data_["pool"]["efficiency"]);
  }
  double lstm_ms(const Layer& layer, double b) const {
    const double ci = layer.in.channels, h = layer.out.channels, steps = data_["lstm"]["steps"];
    return data_["lstm"]["passes"].get<double>() * roof(2 * b * 4 * h * (ci + h),
                                                        4 * (4 * h * (ci + h) + steps * b * h),
                                                        efficiency("matmul", b));
  }
  double linear_ms(const Layer& layer, double b, double parts) const {
    const double rows = b * layer.data.value("steps", 1), ci = layer.in.channels;
    const double co = layer.out.channels / parts;
    double ms =
        data_["linear"]["passes"].get<double>() *
        roof(2 * rows * ci * co, 4 * (rows * ci + ci * co + rows * co), efficiency("matmul", rows));
    const Json& softmax = data_["softmax"];
    if (layer.data.value("softmax", false))
      ms += softmax["passes"].get<double>() * roof(softmax["flops"].get<double>() * rows * co,
                                                   softmax["bytes"].get<double>() * rows * co,
                                                   softmax["efficiency"]);
    return ms;
  }

  Json data_;
};

double pooled(double size, const Json& layer, std::size_t side) {
  const int padded = static_cast<int>(size) + 2 * layer["padding"][side].get<int>();
  const int steps = (padded - layer["kernel"][side].get<int>()) / layer["stride"][side].get<int>();
  return steps + 1;
}

/// Shapes, and bytes of weights.
Layer shaped(const Json& data, const std::vector<Image>& inputs) {
  Layer layer{data, inputs.front(), inputs.front()};
  const std::string kind = data["kind"];
  if (kind == "conv" || kind == "pool") {
    layer.out.height = pooled(layer.in.height, data, 0);
    layer.out.width = pooled(layer.in.width, data, 1);
  }
  if (kind == "concat") {
    layer.out.channels = 0;
    for (const Image& input : inputs) layer.out.channels += input.channels;
  }
  if (kind == "flat") layer.out = {layer.in.size()};
  if (data.contains("outputs")) layer.out.channels = data["outputs"];
  const double ci = layer.in.channels, co = layer.out.channels;
  if (kind == "conv")
    layer.weight_bytes =
        4 * ci * co * data["kernel"][0].get<double>() * data["kernel"][1].get<double>();
  if (kind == "linear") layer.weight_bytes = 4 * ci * co;
  if (kind == "lstm") layer.weight_bytes = 4 * 8 * ci * co;
  if (kind == "embedding") layer.weight_bytes = 4 * data["vocabulary"].get<double>() * co;
  return layer;
}

std::vector<SampleGrid> grids_of(const Layer& layer, std::uint32_t devices) {
  std::vector<SampleGrid> grids;
  for (std::uint32_t samples = 1; samples <= devices; samples *= 2)
    grids.push_back({samples, layer.data["kind"] == "linear" ? devices / samples : 1});
  return grids;
}

ConfigurationSpec configuration(const Costs& costs, const Layer& layer, double batch,
                                SampleGrid grid) {
  ConfigurationSpec choice;
  choice.parts = grid.samples * grid.outputs;
  choice.part_us = {1000 * costs.ms(layer, batch / grid.samples, grid)};
  for (std::uint32_t part = 0; part < choice.parts; ++part)
    choice.piece_of_part.push_back(static_cast<std::uint16_t>(part % grid.outputs));
  choice.output_bytes = 4 * batch * layer.out.size() / choice.parts;
  return choice;
}

}  // namespace

PlacementProblem published_problem(const std::string& network, std::size_t devices) {
  const Costs costs(read_data("p100_costs"));
  const Json net = read_data(network);
  const std::size_t per_node = costs.data()["devices_per_node"];
  ProblemBuilder builder = *ProblemBuilder::make(p100_nodes(costs.data(), devices), per_node);
  const double batch =
      costs.data()["samples_per_device"].get<double>() * static_cast<double>(devices);
  const double steps = costs.data()["steps_of_transfers"];
  Image first{net["input"][0]};
  if (net["input"].size() == 3) first = {first.channels, net["input"][1], net["input"][2]};

  std::map<std::string, std::uint32_t> numbers;
  std::vector<Layer> layers;
  std::vector<std::vector<SampleGrid>> grids;
  std::vector<std::pair<double, std::vector<std::uint32_t>>> groups;
  std::map<std::string, std::size_t> group_of;
  for (const Json& data : net["layers"]) {
    std::vector<Image> inputs;
    for (const Json& name : data["inputs"]) inputs.push_back(layers[numbers.at(name)].out);
    if (inputs.empty()) inputs.push_back(first);
    layers.push_back(shaped(data, inputs));
    const Layer& layer = layers.back();
    grids.push_back(grids_of(layer, static_cast<std::uint32_t>(devices)));
    std::vector<ConfigurationSpec> choices;
    for (const SampleGrid grid : grids.back())
      choices.push_back(configuration(costs, layer, batch, grid));
    const std::uint32_t op = builder.add_operator(data["name"], choices);
    numbers[data["name"]] = op;
    for (const Json& name : data["inputs"]) {
      const std::uint32_t from = numbers.at(name);
      builder.add_edge(from, op, [&](std::size_t a, std::size_t b) {
        return sample_overlaps(grids[from][a], grids[op][b],
                               4 * steps * batch * layers[from].out.size());
      });
    }
    if (layer.weight_bytes == 0 || !data.value("synchronized", true)) continue;
    const std::string weight = data.value("weight", data["name"].get<std::string>());
    const auto [group, is_new] = group_of.emplace(weight, groups.size());
    if (is_new) groups.emplace_back(layer.weight_bytes, std::vector<std::uint32_t>());
    groups[group->second].second.push_back(op);
  }
  const double in_node = costs.data()["bytes_per_ms_in_node"];
  const double between = costs.data()["bytes_per_ms_between_nodes"];
  for (const auto& [bytes, members] : groups)
    builder.add_group(members, bytes, [&](double share, std::size_t most, std::size_t nodes) {
      return 1000 * share *
             (static_cast<double>(most - 1) / in_node + static_cast<double>(nodes - 1) / between);
    });
  return *builder.finish();
}

}  // namespace soapstone::parallel
