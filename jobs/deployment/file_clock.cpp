// See file_clock.h.
#include "jobs/deployment/file_clock.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "core/base/clock.h"
#include "cost/timing/statistics.h"
#include "search/equivalence/sample_inputs.h"

namespace soapstone::jobs {
namespace {

namespace fs = std::filesystem;

/// Models that the worker holds at once: the original, the best so far, the one on trial.
constexpr std::size_t kMostLoaded = 3;
/// Time between two looks at whether to stop.
constexpr double kSliceS = 1;
/// Rounds before the first look at the interval. With fewer it would often mislead.
constexpr int kRoundsAtOnce = 12;
constexpr int kMostRounds = 400;
/// A comparison ends early if the ratio is this far from 1, whichever way.
constexpr double kClear = 0.004;
/// It also ends if the interval is no wider than this: more rounds would tell nothing of use.
constexpr double kPrecise = 0.008;

std::string encode(const cost::Comparison& c) {
  return fmt::format("{:.6g} {:.6g} {:.6g} {:.6g} {:.6g} {:.6g} {} {:.8g} {:.8g} {:.8g}",
                     c.a.median_us, c.a.low_us, c.a.high_us, c.b.median_us, c.b.low_us, c.b.high_us,
                     c.a.rounds, c.ratio.median, c.ratio.low, c.ratio.high);
}

/// None: the text is not one that encode() makes.
std::optional<cost::Comparison> decode(std::string_view text) {
  std::array<double, 10> numbers{};
  for (double& number : numbers) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || !(number > 0)) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  }
  const auto& n = numbers;
  const int rounds = static_cast<int>(std::min(n[6], 1e9));
  return cost::Comparison{
      {n[0], n[1], n[2], rounds}, {n[3], n[4], n[5], rounds}, {n[7], n[8], n[9]}};
}

cost::Timing timing_of(std::vector<double> samples) {
  const auto rounds = static_cast<int>(samples.size());
  const cost::MedianInterval interval = cost::median_interval(std::move(samples));
  return {interval.median, interval.low, interval.high, rounds};
}

cost::Comparison compared(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> ratios;
  for (std::size_t k = 0; k < a.size(); ++k) ratios.push_back(a[k] / b[k]);
  const cost::MedianInterval ratio = cost::median_interval(std::move(ratios));
  return {timing_of(a), timing_of(b), {ratio.median, ratio.low, ratio.high}};
}

/// One thread's own time leaves out what other programs take. Not every runtime can tell it.
bool has_cpu_times(const workers::Samples& a, const workers::Samples& b) {
  const auto is_known = [](double us) { return us > 0; };
  return std::ranges::all_of(a.cpu_us, is_known) && std::ranges::all_of(b.cpu_us, is_known);
}

bool is_decided(const cost::RatioInterval& ratio) {
  return ratio.low > 1 + kClear || ratio.high < 1 - kClear || ratio.high - ratio.low < kPrecise;
}

}  // namespace

core::Result<std::unique_ptr<FileClock>> FileClock::make(Deployment deployment, fs::path original,
                                                         const core::Graph& graph, Write write,
                                                         cost::CostDatabase* records,
                                                         std::string key) {
  SOAPSTONE_ASSIGN_OR_RETURN(auto folder, workers::PrivateFolder::make());
  std::unique_ptr<FileClock> clock(new FileClock(std::move(deployment), std::move(folder),
                                                 std::move(write), records, std::move(key)));
  const auto values = search::sample_inputs(graph, search::SampleKind::kNormal, 0);
  for (std::size_t k = 0; k < values.size(); ++k)
    clock->inputs_.push_back({graph.tensor(graph.inputs()[k]).name, values[k]});
  if (!original.empty()) {
    SOAPSTONE_RETURN_IF_ERROR(clock->load_file(std::move(original), graph.hash(), true));
  } else {
    SOAPSTONE_RETURN_IF_ERROR(clock->load(graph));
    clock->loaded_.back().is_original = true;
  }
  return clock;
}

core::Result<std::size_t> FileClock::load_file(fs::path file, std::uint64_t hash,
                                               bool is_original) {
  SOAPSTONE_ASSIGN_OR_RETURN(const std::size_t model,
                             deployment_.worker.load(file, deployment_.load));
  if (auto status = deployment_.worker.prepare(model, inputs_); !status) {
    deployment_.worker.close(model);
    return status.error();
  }
  loaded_.push_back({hash, model, std::move(file), is_original});
  return model;
}

/// The original stays: it is needed again at the end.
void FileClock::close_oldest() {
  const auto oldest = std::ranges::find(loaded_, false, &Loaded::is_original);
  deployment_.worker.close(oldest->model);
  std::error_code ignored;
  fs::remove(oldest->file, ignored);
  loaded_.erase(oldest);
}

core::Result<std::size_t> FileClock::load(const core::Graph& graph) {
  const auto known = std::ranges::find(loaded_, graph.hash(), &Loaded::hash);
  if (known != loaded_.end()) {
    std::rotate(known, known + 1, loaded_.end());
    return loaded_.back().model;
  }
  if (loaded_.size() >= kMostLoaded) close_oldest();
  fs::path file = folder_.path() / fmt::format("{:016x}.onnx", graph.hash());
  SOAPSTONE_RETURN_IF_ERROR(write_(graph, file));
  return load_file(std::move(file), graph.hash(), false);
}

core::Result<cost::Comparison> FileClock::measure(std::size_t a, std::size_t b, double budget_s,
                                                  const core::StopToken& stop) {
  const std::array models = {a, b};
  const double end_s = core::wall_s() + budget_s;
  workers::Samples of_a, of_b;
  const auto append = [](const workers::Samples& from, workers::Samples& to) {
    to.wall_us.insert(to.wall_us.end(), from.wall_us.begin(), from.wall_us.end());
    to.cpu_us.insert(to.cpu_us.end(), from.cpu_us.begin(), from.cpu_us.end());
  };
  for (;;) {
    const double left_us = 1e6 * std::clamp(end_s - core::wall_s(), 0.0, kSliceS);
    SOAPSTONE_ASSIGN_OR_RETURN(const auto samples,
                               deployment_.worker.time(models, kRoundsAtOnce, left_us));
    append(samples[0], of_a);
    append(samples[1], of_b);
    if (stop.stop_requested())
      return core::Error{core::ErrorCode::kInterrupted, "interrupted", {}, {}};
    cost::Comparison result = deployment_.load.threads == 1 && has_cpu_times(of_a, of_b)
                                  ? compared(of_a.cpu_us, of_b.cpu_us)
                                  : compared(of_a.wall_us, of_b.wall_us);
    const int rounds = result.a.rounds;
    if (core::wall_s() >= end_s || rounds >= kMostRounds ||
        (rounds >= kRoundsAtOnce && is_decided(result.ratio)))
      return result;
  }
}

core::Result<cost::Comparison> FileClock::compare(const core::Graph& a, const core::Graph& b,
                                                  double budget_s, const core::StopToken& stop) {
  const std::string signature = fmt::format("comparison {:016x} {:016x}", a.hash(), b.hash());
  if (const auto known = records_ ? records_->find(key_, signature) : std::nullopt)
    if (const auto before = decode(known->implementation)) return *before;
  SOAPSTONE_ASSIGN_OR_RETURN(const std::size_t model_b, load(b));
  SOAPSTONE_ASSIGN_OR_RETURN(const std::size_t model_a, load(a));
  SOAPSTONE_ASSIGN_OR_RETURN(const cost::Comparison result,
                             measure(model_a, model_b, budget_s, stop));
  if (records_ != nullptr) {
    // What cannot be kept is measured again the next time.
    static_cast<void>(records_->store(
        key_, signature,
        {result.b.median_us, result.b.high_us - result.b.low_us, result.b.rounds, encode(result)}));
  }
  return result;
}

}  // namespace soapstone::jobs
