#include "tests/parallel/brute_force_meshes.h"

#include "runtime/launches/launch_plan.h"

namespace soapstone::parallel::brute_force {

Layout gradient_of(Layout layout) {
  for (int& use : layout) use = use == kSpread ? kSum : use == kSum ? kWhole : use;
  return layout;
}

double contraction_us(const Rates& rates, double flops, double bytes) {
  const double full_us = flops / (0.77 * rates.flops_per_s) * 1e6;
  return std::max(full_us + full_us * 16 / (full_us + 16),
                  bytes / (0.52 * rates.bytes_per_s) * 1e6);
}
double passes_us(const Rates& rates, double bytes) {
  return bytes / (0.52 * rates.bytes_per_s) * 1e6;
}

Facts facts_of(const Model& model, bool is_training) {
  const std::size_t count = model.operators.size();
  Facts facts;
  facts.starts_launch.assign(count, false);
  facts.is_stored.assign(count + 1, true);
  facts.is_kept.assign(count + 1, false);
  facts.has_gradient.assign(count + 1, false);
  facts.readers.resize(count + 1);
  const ModelGraph made = graph_of_model(model);
  const core::Graph& graph = made.graph;
  const auto number = [&](core::NodeId id) {
    return std::stoul(graph.tensor(graph.node(id).outputs[0]).name.substr(1)) - 1;
  };
  for (const core::NodeId id : graph.order()) facts.order.push_back(number(id));
  const auto plan = runtime::plan_launches(graph, runtime::generic_fusion(runtime::Fusion::kFull));
  for (const runtime::Launch& launch : plan.launches) {
    const std::vector<core::NodeId> nodes = launch.nodes();
    facts.starts_launch[number(nodes.front())] = true;
    for (std::size_t k = 0; k + 1 < nodes.size(); ++k)
      facts.is_stored[number(nodes[k]) + 1] = false;
  }
  for (const std::size_t k : facts.order) {
    const Operator& here = model.operators[k];
    for (const std::size_t read : here.reads) facts.readers[read].push_back(k);
    if (!is_training) continue;
    bool depends = here.kind == Kind::kMatmul;
    for (const std::size_t read : here.reads) depends = depends || facts.has_gradient[read];
    facts.has_gradient[k + 1] = depends;
    // The gradient of a weight reads the other operand, that of relu the result.
    if (here.kind == Kind::kMatmul) facts.is_kept[here.reads[0]] = true;
    if (here.kind == Kind::kRelu && depends) facts.is_kept[k + 1] = true;
  }
  for (std::size_t t = 0; t <= count; ++t)
    if (facts.is_kept[t]) facts.is_stored[t] = true;
  return facts;
}

namespace {

/// The whole model on one device, but for the time to start kernels.
double forward_us(const Model& model, const Facts& facts, const Rates& rates) {
  double us = 0;
  const auto bytes = [&](std::size_t tensor) {
    return facts.is_stored[tensor]
               ? kBytes * static_cast<double>(model.rows * model.columns_of(tensor))
               : 0.0;
  };
  for (std::size_t k = 0; k < model.operators.size(); ++k) {
    const Operator& here = model.operators[k];
    double all = bytes(k + 1);
    for (const std::size_t read : here.reads) all += bytes(read);
    if (here.kind != Kind::kMatmul) {
      us += passes_us(rates, all);
      continue;
    }
    const auto weight =
        static_cast<double>(model.columns_of(here.reads[0])) * static_cast<double>(here.columns);
    us +=
        contraction_us(rates, 2 * static_cast<double>(model.rows) * weight, all + kBytes * weight);
  }
  return us;
}

Rates rates_of(const DeviceKind& kind) {
  return {kind.flops_per_s.at(core::DataType::kFloat32), kind.memory_bytes_per_s};
}

}  // namespace

Mesh even_mesh(const Model& model, const Facts& facts, const Topology& machine,
               const std::array<std::int64_t, kAxes>& sizes) {
  Mesh mesh{sizes, {}, 1, {{}}, kInfinite, {}};
  double longest_us = -1;
  for (std::size_t d = 0; d < machine.device_count(); ++d) {
    const Rates rates = rates_of(machine.kind_of(DeviceId(d)));
    const double us = forward_us(model, facts, rates);
    if (us > longest_us) mesh.positions[0].rates = rates;
    longest_us = std::max(longest_us, us);
    mesh.update_bytes_per_s = std::min(mesh.update_bytes_per_s, rates.bytes_per_s);
  }
  for (std::size_t a = 0; a < kAxes; ++a) mesh.largest[a] = 1 / static_cast<double>(sizes[a]);
  return mesh;
}

std::optional<Mesh> uneven_mesh(const Model& model, const Facts& facts, const Topology& machine,
                                const std::array<std::int64_t, kAxes>& sizes, std::int64_t rows) {
  Mesh mesh = even_mesh(model, facts, machine, sizes);
  std::size_t axis = kAxes - 1;
  while (axis > 0 && sizes[axis] == 1) --axis;
  const auto size = static_cast<std::size_t>(sizes[axis]);
  const std::size_t each = machine.device_count() / size;
  std::vector<Position> all(size);
  std::vector<double> speeds(size);
  double sum = 0;
  for (std::size_t d = 0; d < machine.device_count(); ++d) {
    const std::size_t kind = machine.kind_index(DeviceId(d));
    if (kind != machine.kind_index(DeviceId(d / each * each))) return std::nullopt;
    all[d / each].rates = rates_of(machine.kinds()[kind]);
  }
  for (std::size_t p = 0; p < size; ++p)
    sum += speeds[p] = 1 / forward_us(model, facts, all[p].rates);
  std::int64_t grains = std::min<std::int64_t>(rows, 8 * sizes[axis]), left = 0;
  while (rows % grains != 0) --grains;
  std::vector<std::pair<double, std::size_t>> rest;
  for (std::size_t p = 0; p < size; ++p) {
    const double exact = static_cast<double>(grains) * speeds[p] / sum;
    all[p].grains = static_cast<std::int64_t>(exact);
    left += all[p].grains;
    rest.emplace_back(static_cast<double>(all[p].grains) - exact, p);
  }
  std::ranges::stable_sort(rest, {}, &std::pair<double, std::size_t>::first);
  left = grains - left;
  for (std::size_t k = 0; left > 0; ++k, --left) ++all[rest[k % size].second].grains;
  const auto [least, most] = std::ranges::minmax_element(all, {}, &Position::grains);
  if (least->grains == 0 || least->grains == most->grains) return std::nullopt;
  mesh.uneven = axis;
  mesh.all_grains = grains;
  mesh.largest[axis] = static_cast<double>(most->grains) / static_cast<double>(grains);
  mesh.positions.clear();
  for (Position& position : all) {
    position.share = static_cast<double>(position.grains) / static_cast<double>(grains);
    if (std::ranges::find(mesh.positions, position.key(), &Position::key) == mesh.positions.end())
      mesh.positions.push_back(position);
  }
  return mesh;
}

}  // namespace soapstone::parallel::brute_force
