// See launch_estimate.h.
#include "gpu/targets/launch_estimate.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <mutex>
#include <span>
#include <utility>

#include "gpu/targets/library_proposals.h"
#include "gpu/text/kernel_text.h"
#include "gpu/text/traffic.h"
#include "runtime/generated/region.h"

namespace soapstone::gpu {
namespace {

using runtime::generated::make_region;
using runtime::generated::RegionStage;

using core::Graph;

constexpr int kWarp = 32;
constexpr int kQuarters = 4;  ///< Of a multiprocessor, each with a part of the registers.
constexpr int kRegisterPiece = 256;
constexpr int kSharedPiece = 128;
/// Of the peaks of data sheets, what long kernels that do nothing else get.
constexpr double kOfBandwidth = 0.92;
constexpr double kOfVectorRate = 0.5;  ///< Few operations are a multiplication with an addition.
/// Loads of a thread that are on their way at once.
constexpr double kLoadsInFlight = 4;
constexpr int kThreadsToCompute = 512;  ///< Of a multiprocessor, to hide how long operations take.

int round_up(int value, int piece) { return (value + piece - 1) / piece * piece; }

double rate_of(const runtime::DeviceKind& kind, core::DataType type) {
  const auto found = kind.flops_per_s.find(type);
  return (found == kind.flops_per_s.end() ? kind.flops_per_s.at(core::DataType::kFloat32)
                                          : found->second);
}

/// Of the result, computed by one block; `share`: of the peak rate that it reaches in long sums.
struct ProductTile {
  double elements, share;
};
constexpr std::array kTiles = {ProductTile{256 * 128, 0.85}, ProductTile{128 * 128, 0.8},
                               ProductTile{128 * 64, 0.7}, ProductTile{64 * 64, 0.55},
                               ProductTile{64 * 32, 0.35}};
/// Into so many parts a sum is divided at most.
constexpr std::array kSplits = {1, 2, 4, 8, 16};

bool is_contraction(const Region& region) {
  return std::ranges::any_of(region.stages, &RegionStage::is_contraction);
}

double elements_of(const Graph& graph, core::TensorId id) {
  const core::TensorType& type = graph.tensor(id).type;
  const auto dims = type.shape_known ? core::concrete(type.shape) : std::nullopt;
  const auto count = dims ? core::checked_element_count(*dims) : std::nullopt;
  return count ? static_cast<double>(*count) : 1;
}

}  // namespace

int resident_blocks(const Target& target, const KernelResources& resources, int threads) {
  const int warps = round_up(threads, kWarp) / kWarp;
  const int by_threads = target.threads / (warps * kWarp);
  const int shared = round_up(
      static_cast<int>(resources.shared_bytes) + target.reserved_shared_bytes, kSharedPiece);
  const int by_shared = target.shared_bytes / shared;
  int by_registers = target.blocks;
  if (resources.registers > 0) {
    const int of_a_warp = round_up(resources.registers * kWarp, kRegisterPiece);
    by_registers = target.registers / kQuarters / of_a_warp * kQuarters / warps;
  }
  return std::min({by_threads, by_shared, by_registers, target.blocks});
}

class LaunchEstimator::Impl {
 public:
  Impl(const Target& target, std::filesystem::path folder, std::shared_ptr<const Cudnn> cudnn)
      : target_(target), kind_(target_.kind()), cache_(std::move(folder)),
        proposals_(target_, std::move(cudnn)) {}

  double launch_us(const Graph& graph, const runtime::Launch& launch, const Work& work) {
    const core::DataType type = graph.tensor(launch.outputs.front()).type.data_type;
    const double rate = rate_of(kind_, type);
    const auto region = make_region(graph, launch.nodes(), launch.outputs);
    if (region && is_contraction(*region)) return library_us(graph, launch, *region, rate, work);
    if (!region) return copy_us(work.bytes) + work.flops / (rate * kOfVectorRate) * 1e6;
    return generated_us(*region, rate, work);
  }

  double copy_us(double bytes) const {
    return target_.launch_us + target_.latency_us + bytes / bandwidth() * 1e6;
  }

 private:
  double bandwidth() const { return kind_.memory_bytes_per_s * kOfBandwidth; }

  double library_us(const Graph& graph, const runtime::Launch& launch, const Region& region,
                    double rate, const Work& work) {
    const LibraryProposals::Answer answer = proposals_.ask(graph, launch);
    const double elements = elements_of(graph, launch.outputs.front());
    if (answer.has_engine)
      return contraction_us(elements, rate, work, answer.proposal.parts) +
             static_cast<double>(answer.runs - 1) * target_.launch_us;
    if (launch.nodes().size() == 1) return generated_us(region, rate, work);
    // In parts: what lies between is stored and read again.
    const core::DataType type = graph.tensor(launch.outputs.front()).type.data_type;
    const double between = 2 * elements * static_cast<double>(core::size_bytes(type));
    return contraction_us(elements, rate, work, 1) + copy_us(between);
  }

  /// `parts_said`: into so many a library divides the sum; 1: it does not say, and the best is
  /// taken.
  double contraction_us(double elements, double rate, const Work& work, int parts_said) const {
    if (elements == 0) return 0;
    const double of_one = rate / target_.multiprocessors;
    double best_us = std::numeric_limits<double>::infinity();
    const std::span<const int> splits =
        parts_said > 1 ? std::span(&parts_said, 1) : std::span<const int>(kSplits);
    for (const ProductTile& tile : kTiles) {
      for (const int parts : splits) {
        const double blocks = std::ceil(elements / tile.elements) * parts;
        const double waves = std::ceil(blocks / target_.multiprocessors);
        const double flops = work.flops / elements * tile.elements / parts;
        // Parts of sums are stored and added.
        const double bytes = work.bytes + (parts > 1 ? 2.0 * parts * elements * sizeof(float) : 0);
        const double us =
            std::max(waves * flops / (of_one * tile.share), bytes / bandwidth()) * 1e6;
        best_us = std::min(best_us, us);
      }
    }
    return target_.launch_us + 2 * target_.latency_us + best_us;
  }

  double generated_us(const Region& region, double rate, const Work& work) {
    const KernelPlan plan = plan_for_gpu(region);
    const KernelText text = kernel_text(region, plan, "estimated");
    if (text.blocks == 0) return 0;
    const double resident = std::max(resident_of(text), 1);
    const double blocks = std::min(static_cast<double>(text.blocks),
                                   resident * static_cast<double>(target_.multiprocessors));
    const double threads = blocks * text.threads;
    constexpr double kWidestLoad = 16;
    const double load = plan.width > 1 ? kWidestLoad : sizeof(float);
    const double in_flight = threads * load * kLoadsInFlight;
    const double moved_per_us = std::min(bandwidth() / 1e6, in_flight / target_.latency_us);
    const double busy = std::min(1.0, threads / kThreadsToCompute / target_.multiprocessors);
    const double computed_per_us = rate * kOfVectorRate * busy / 1e6;
    // Rows that are not held are read once for each sum over them, and again for what is stored;
    // tiles are stored when they have been read.
    const bool reads_again = plan.row_count > 0 && plan.held.empty();
    const double passes = reads_again ? static_cast<double>(plan.rows.size()) + 1
                                      : 1 + static_cast<double>(text.shared_bytes > 0);
    const double moved = work.bytes + excess_bytes(region, plan);
    return target_.launch_us + passes * target_.latency_us +
           std::max(moved / moved_per_us, work.flops / computed_per_us);
  }

  int resident_of(const KernelText& text) {
    const std::lock_guard lock(mutex_);
    const auto binary = cache_.get(std::span(&text, 1), target_.compute);
    // What cannot be compiled here is taken for a kernel of ordinary size.
    static const KernelResources kOrdinary{{}, 40, 0, 0};
    const bool is_known = binary && !binary->resources.empty();
    return resident_blocks(target_, is_known ? binary->resources.front() : kOrdinary, text.threads);
  }

  const Target target_;
  const runtime::DeviceKind& kind_;
  std::mutex mutex_;
  KernelCache cache_;
  LibraryProposals proposals_;
};

LaunchEstimator::LaunchEstimator(const Target& target, std::filesystem::path cache,
                                 std::shared_ptr<const Cudnn> cudnn)
    : impl_(std::make_unique<Impl>(target, std::move(cache), std::move(cudnn))) {}
LaunchEstimator::~LaunchEstimator() = default;

double LaunchEstimator::launch_us(const Graph& graph, const runtime::Launch& launch,
                                  const Work& work) {
  return impl_->launch_us(graph, launch, work);
}

double LaunchEstimator::copy_us(double bytes) const { return impl_->copy_us(bytes); }

}  // namespace soapstone::gpu
