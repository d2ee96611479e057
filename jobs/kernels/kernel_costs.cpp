// See kernel_costs.h.
#include "jobs/kernels/kernel_costs.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cost/models/roofline.h"

namespace soapstone::jobs {
namespace {

constexpr const char* kFusions = "fusions";
constexpr const char* kEdges = "neighbors";
/// Of an ordinary processor core, until a conversion was seen.
constexpr double kBytesPerUs = 14e3;

std::string record_of(std::uint64_t signature) { return fmt::format("kernel {:016x}", signature); }

std::string encode_kernel(const KernelCost& cost) {
  return fmt::format("{} {} {:.6g} {:.6g}", cost.reads_private ? 1 : 0, cost.writes_private ? 1 : 0,
                     cost.enter_us.value_or(-1), cost.leave_us.value_or(-1));
}

/// None: the text is not one that encode_kernel() makes.
std::optional<KernelCost> decode_kernel(const cost::Measurement& record) {
  std::array<double, 4> numbers{};
  std::string_view text = record.implementation;
  for (double& number : numbers) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc()) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  }
  KernelCost cost;
  cost.us = record.cost_us;
  cost.reads_private = numbers[0] != 0;
  cost.writes_private = numbers[1] != 0;
  if (numbers[2] >= 0) cost.enter_us = numbers[2];
  if (numbers[3] >= 0) cost.leave_us = numbers[3];
  return cost;
}

/// The mean over the places where a kernel occurs.
class Mean {
 public:
  void add(const ObservedLaunch& launch) {
    ++count_;
    us_ += launch.us;
    cost_.reads_private = cost_.reads_private || launch.reads_private;
    cost_.writes_private = cost_.writes_private || launch.writes_private;
    if (launch.enter_us > 0) cost_.enter_us = std::max(launch.enter_us, cost_.enter_us.value_or(0));
    if (launch.leave_us > 0) cost_.leave_us = std::max(launch.leave_us, cost_.leave_us.value_or(0));
  }
  KernelCost value() const {
    KernelCost cost = cost_;
    cost.us = cost::rounded_us(us_ / count_);
    return cost;
  }

 private:
  KernelCost cost_;
  double us_ = 0;
  int count_ = 0;
};

}  // namespace

double tensor_bytes(const core::Graph& graph, core::TensorId id) {
  const core::TensorType& type = graph.tensor(id).type;
  const auto dims = type.shape_known ? core::concrete(type.shape) : std::nullopt;
  const auto count = dims ? core::checked_element_count(*dims) : std::nullopt;
  return count ? static_cast<double>(*count) * static_cast<double>(size_bytes(type.data_type)) : 0;
}

KernelCosts::KernelCosts(cost::CostDatabase* database, std::string key)
    : database_(database), key_(std::move(key)) {
  if (database_ == nullptr) return;
  // Records that cannot be read are observed again.
  if (const auto text = database_->find(key_, kFusions)) fusions_.add_text(text->implementation);
  const auto text = database_->find(key_, kEdges);
  if (!text) return;
  const std::string& list = text->implementation;
  for (const char *at = list.data(), *end = at + list.size(); at < end;) {
    std::uint64_t edge = 0;
    const auto [next, error] = std::from_chars(at, end, edge, 16);
    if (error != std::errc()) return;
    edges_.insert(edge);
    at = next + 1;
  }
}

const KernelCost* KernelCosts::find(std::uint64_t signature) const {
  const auto at = known_.find(signature);
  return at == known_.end() ? nullptr : &at->second;
}

bool KernelCosts::recall(std::uint64_t signature) {
  if (known_.contains(signature)) return true;
  const auto record = database_ ? database_->find(key_, record_of(signature)) : std::nullopt;
  const auto cost = record ? decode_kernel(*record) : std::nullopt;
  if (cost) known_.emplace(signature, *cost);
  return cost.has_value();
}

bool KernelCosts::knows_edges(const core::Graph& graph) const {
  return std::ranges::all_of(LearnedFusions::edges(graph),
                             [this](std::uint64_t edge) { return edges_.contains(edge); });
}

double KernelCosts::conversion_us(double bytes) const {
  if (converted_bytes_ <= 0) return bytes / kBytesPerUs;
  return cost::rounded_us(bytes * converted_us_ / converted_bytes_);
}

void KernelCosts::add(const Observation& observation, bool replace) {
  const core::Graph& graph = observation.graph;
  const ObservedGraph& observed = observation.observed;
  const std::size_t patterns = fusions_.size();
  const auto is_exported = [&](core::NodeId id) {
    return std::ranges::find(observed.exported, id) != observed.exported.end();
  };
  std::map<std::uint64_t, Mean> seen;
  for (const ObservedLaunch& launch : observed.launches) {
    seen[fusions_.learn(graph, launch.nodes, is_exported)].add(launch);
    if (launch.leave_us <= 0) continue;
    converted_us_ += launch.leave_us;
    converted_bytes_ += tensor_bytes(graph, graph.node(launch.nodes.back()).outputs.front());
  }
  for (const core::NodeId id : observed.removed) {
    // What computes is not removed because it is needless, but because it is done elsewhere.
    if (graph.node(id).op->movement == core::Movement::kNone) continue;
    seen[fusions_.learn(graph, std::span(&id, 1), {})].add({});
  }
  for (const auto& [signature, mean] : seen)
    if (replace || !recall(signature)) add(signature, mean.value());
  add_edges(graph);
  if (fusions_.size() > patterns) keep_text(kFusions, fusions_.to_text());
}

void KernelCosts::add(std::uint64_t signature, KernelCost cost) {
  if (database_ != nullptr && !cost.estimated) {
    // A database that cannot be written costs time in the next run, nothing else.
    (void)database_->store(key_, record_of(signature), {cost.us, 0, 1, encode_kernel(cost)});
  }
  known_.insert_or_assign(signature, std::move(cost));
}

void KernelCosts::add_edges(const core::Graph& graph) {
  const std::size_t before = edges_.size();
  for (const std::uint64_t edge : LearnedFusions::edges(graph)) edges_.insert(edge);
  if (edges_.size() == before) return;
  const std::vector<std::uint64_t> all(edges_.begin(), edges_.end());
  keep_text(kEdges, fmt::format("{:x}", fmt::join(all, " ")));
}

void KernelCosts::keep_text(const std::string& name, std::string text) {
  if (database_ != nullptr) (void)database_->store(key_, name, {0, 0, 1, std::move(text)});
}

}  // namespace soapstone::jobs
