// Models and machines that the brute force is tried on.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tests/parallel/brute_force.h"
#include "tests/support/graphs.h"

namespace soapstone::parallel::brute_force {
namespace {

std::size_t below(std::mt19937& random, std::size_t bound) {
  return std::uniform_int_distribution<std::size_t>(0, bound - 1)(random);
}

template <class T>
const T& one_of(std::mt19937& random, const std::vector<T>& choices) {
  return choices[below(random, choices.size())];
}

std::int64_t random_size(std::mt19937& random) {
  static const std::vector<std::int64_t> awkward{3, 5, 6, 7, 12};
  static const std::vector<std::int64_t> powers{2, 8, 64, 256, 1024, 4096, 8192};
  return below(random, 3) == 0 ? one_of(random, awkward) : one_of(random, powers);
}

/// Each matmul reads the weight of the first one that has the same sizes.
void share_weights(Model& model) {
  for (std::size_t k = 0; k < model.operators.size(); ++k)
    for (std::size_t other = 0; other < k && !model.operators[k].weight_of; ++other) {
      const Operator &here = model.operators[k], &before = model.operators[other];
      if (here.kind == Kind::kMatmul && before.kind == Kind::kMatmul &&
          here.columns == before.columns &&
          model.columns_of(here.reads[0]) == model.columns_of(before.reads[0]))
        model.operators[k].weight_of = other;
    }
}

}  // namespace

Model random_model(std::mt19937& random, const ModelSize& size) {
  Model model;
  model.rows = random_size(random);
  if (below(random, 2) == 0) model.rows = std::max<std::int64_t>(model.rows, 8192);
  model.columns = random_size(random);
  const auto append = [&](Kind kind, std::vector<std::size_t> reads, std::int64_t columns) {
    model.operators.push_back({kind, std::move(reads), columns});
  };
  const auto append_any = [&](std::size_t read) {
    if (size.has_matmuls_alone || below(random, 5) < 3) {
      // A square weight serves again behind its own result.
      const bool is_square = size.shares_weights && below(random, 2) == 0;
      append(Kind::kMatmul, {read}, is_square ? model.columns_of(read) : random_size(random));
      return;
    }
    std::vector<std::size_t> others;
    for (std::size_t t = 0; t < model.operators.size(); ++t)
      if (t != read && model.columns_of(t) == model.columns_of(read)) others.push_back(t);
    if (!others.empty() && below(random, 2) == 0)
      append(Kind::kAdd, {read, one_of(random, others)}, model.columns_of(read));
    else
      append(Kind::kRelu, {read}, model.columns_of(read));
  };
  const bool is_diamond = !size.has_matmuls_alone && size.operators >= 3 && below(random, 2) == 0;
  if (is_diamond) {
    // Two ways from one tensor, of which one may be the tensor itself, and their sum.
    append_any(0);
    const std::int64_t columns = size.operators == 3 ? model.columns_of(1) : random_size(random);
    if (size.operators == 4) append(Kind::kMatmul, {1}, columns);
    if (below(random, 2) == 0 && columns == model.columns_of(1))
      append(Kind::kRelu, {1}, columns);
    else
      append(Kind::kMatmul, {1}, columns);
    const std::size_t last = model.operators.size();
    append(Kind::kAdd, {last, last - 1}, columns);
    if (size.shares_weights) share_weights(model);
    return model;
  }
  while (model.operators.size() < size.operators) append_any(model.operators.size());
  if (size.shares_weights) share_weights(model);
  return model;
}

Topology random_machine(std::mt19937& random, std::int64_t devices, bool has_unlike_devices) {
  std::vector<std::string> names{"k80", "p100", "v100", "a100"};
  std::shuffle(names.begin(), names.end(), random);
  const std::vector<double> latencies{0.5, 3, 20}, rates{1e9, 1.2e10, 1.5e11};
  std::vector<DeviceKind> kinds{*runtime::find_device_kind(names[0])};
  if (has_unlike_devices) kinds.push_back(*runtime::find_device_kind(names[1]));
  const std::int64_t first = has_unlike_devices ? (devices + 1) / 2 : devices;
  if (below(random, 2) == 0) {
    // Two switches, as in the preset v100-p100, or one.
    Network network{"random", kinds, {}, {}, {"a", "b"}, {}};
    const auto hub = static_cast<std::size_t>(devices);
    for (std::int64_t d = 0; d < devices; ++d) {
      const auto at = static_cast<std::size_t>(d);
      network.devices.push_back(fmt::format("d{}", d));
      network.kind_of.push_back(d < first ? 0 : kinds.size() - 1);
      const bool is_second = 2 * d >= devices;
      network.wires.push_back({at, is_second ? hub + 1 : hub, is_second ? 2.5 : 1.5,
                               is_second ? one_of(random, rates) : 1.5e11});
    }
    network.wires.push_back({hub, hub + 1, one_of(random, latencies), one_of(random, rates)});
    return *Topology::make(std::move(network));
  }
  Hierarchy machine{"random", kinds, {{0, first}}, {}};
  if (has_unlike_devices) machine.devices.push_back({1, devices - first});
  if (devices == 4 && below(random, 2) == 0)
    machine.levels = {{"node", 2, one_of(random, latencies), one_of(random, rates)},
                      {"cluster", 2, one_of(random, latencies), one_of(random, rates)}};
  else
    machine.levels = {{"node", devices, one_of(random, latencies), one_of(random, rates)}};
  return *Topology::make(std::move(machine));
}

std::string to_string(const Model& model) {
  std::string weights, body, results;
  for (std::size_t k = 0; k < model.operators.size(); ++k) {
    const Operator& here = model.operators[k];
    std::vector<std::string> reads;
    for (const std::size_t read : here.reads) reads.push_back(fmt::format("t{}", read));
    if (here.kind == Kind::kMatmul) {
      if (!here.weight_of)
        weights += fmt::format("  w{}: f32[{}, {}]\n", k + 1, model.columns_of(here.reads[0]),
                               here.columns);
      reads.push_back(fmt::format("w{}", here.weight_of.value_or(k) + 1));
    }
    const char* const name = here.kind == Kind::kMatmul ? "matmul"
                             : here.kind == Kind::kAdd  ? "add"
                                                        : "relu";
    body += fmt::format("  t{} = {}({})\n", k + 1, name, fmt::join(reads, ", "));
    const auto reads_it = [&](const Operator& other) {
      return std::ranges::find(other.reads, k + 1) != other.reads.end();
    };
    if (std::ranges::none_of(model.operators, reads_it))
      results += fmt::format("{}t{}", results.empty() ? "" : ", ", k + 1);
  }
  return fmt::format("graph tiny\n  t0: f32[{}, {}]\n{}{}  return {}\n", model.rows, model.columns,
                     weights, body, results);
}

ModelGraph graph_of_model(const Model& model) {
  ModelGraph result{graph_of(to_string(model)), {}};
  result.is_weight.resize(result.graph.tensor_bound());
  for (const core::TensorId id : result.graph.inputs())
    result.is_weight[id.index()] = result.graph.tensor(id).name.starts_with('w');
  return result;
}

}  // namespace soapstone::parallel::brute_force
