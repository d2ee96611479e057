#include "tests/parallel/brute_force.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tests/parallel/brute_force_changes.h"
#include "tests/parallel/brute_force_meshes.h"

namespace soapstone::parallel::brute_force {
namespace {

enum class Cuts : std::uint8_t { kAllButRows, kAll, kRows };
constexpr std::array<Cuts, kAxes> kCutsOfAxis{Cuts::kAllButRows, Cuts::kAll, Cuts::kRows};

/// A way to run an operator.
struct Way {
  std::array<int, kAxes> loops{-1, -1, -1};  ///< 0: rows, 1: columns, 2: the sum.
  std::vector<Layout> inputs;                ///< The last one of a matmul is the weight.
  Layout result{};
  std::vector<double> forward_us, backward_us;  ///< By position.
};

/// A weight is otherwise where it lies than where it is read.
struct Exchange {
  double bytes = 0;
  Layout from{}, to{};
  bool is_gathered = false;
};

class MeshSearch {
 public:
  /// `model`: of one microbatch.
  MeshSearch(const Model& model, const Facts& facts, const Topology& machine, const Mesh& mesh,
             const Options& options, Step& best)
      : model_(model), facts_(facts), mesh_(mesh), is_training_(options.is_training),
        microbatches_(static_cast<double>(options.microbatches)), best_(best),
        changes_(machine, mesh) {
    for (const std::int64_t size : mesh.sizes) devices_ *= size;
    const std::size_t count = model.operators.size();
    ways_.resize(count);
    chosen_.resize(count);
    forward_exchange_.assign(count, 0);
    backward_exchange_.assign(count, 0);
    exchanges_.resize(count);
    held_.resize(count);
    copies_.resize(count + 1);
    for (std::size_t k = 0; k < count; ++k) list_ways(k, 0, {-1, -1, -1});
    for (std::size_t t = 1; t <= count; ++t)
      if (facts.readers[t].size() > 1) shared_.push_back(t);
    for (std::size_t k = 0; k < count; ++k)
      if (model.operators[k].kind == Kind::kMatmul && !model.operators[k].weight_of)
        weights_.push_back(k);
    readers_of_weights_.resize(count);
    for (const std::size_t k : facts.order)
      if (model.operators[k].kind == Kind::kMatmul)
        readers_of_weights_[model.operators[k].weight_of.value_or(k)].push_back(k);
    least_updates_us_.assign(weights_.size() + 1, 0);
    layouts_of_weights_.resize(weights_.size());
    for (std::size_t w = weights_.size(); w-- > 0;) {
      list_weight_layouts(w, 0, kWholeEverywhere);
      double least_us = kInfinite;
      for (const Layout& layout : layouts_of_weights_[w])
        least_us = std::min(least_us, update_us(weights_[w], layout));
      least_updates_us_[w] = least_updates_us_[w + 1] + least_us;
    }
  }

  void run() { choose_way(0, std::vector<double>(mesh_.positions.size(), 0), 0); }

 private:
  double change_us(double bytes, const Layout& from, const Layout& to) {
    return changes_.us(bytes, from, to);
  }
  double gradient_change_us(double bytes, const Layout& from, const Layout& to) {
    return changes_.us(bytes, gradient_of(to), gradient_of(from));
  }

  // --- Ways of operators ---

  std::int64_t columns_read(std::size_t k) const {
    return model_.columns_of(model_.operators[k].reads[0]);
  }
  std::int64_t loop_size(std::size_t k, int loop) const {
    const Operator& here = model_.operators[k];
    if (loop == 0) return model_.rows;
    if (loop == 1) return here.columns;
    return here.kind == Kind::kMatmul ? columns_read(k) : 1;
  }
  double tensor_bytes(std::size_t tensor) const {
    return kBytes * static_cast<double>(model_.rows) *
           static_cast<double>(model_.columns_of(tensor));
  }
  double weight_bytes(std::size_t k) const {
    return kBytes * static_cast<double>(columns_read(k)) *
           static_cast<double>(model_.operators[k].columns);
  }

  static bool admits(Cuts cuts, int loop) {
    return cuts == Cuts::kAll || (cuts == Cuts::kRows) == (loop == 0);
  }

  void list_ways(std::size_t k, std::size_t axis, std::array<int, kAxes> loops) {
    if (axis == kAxes) return add_way(k, loops);
    loops[axis] = -1;
    list_ways(k, axis + 1, loops);
    if (mesh_.sizes[axis] == 1) return;
    for (int loop = 0; loop < 3; ++loop) {
      if (loop_size(k, loop) < 2 || !admits(kCutsOfAxis[axis], loop)) continue;
      loops[axis] = loop;
      list_ways(k, axis + 1, loops);
    }
  }

  /// The share of a loop that the largest part has; none if a part would be empty, or larger than
  /// the mean by a quarter.
  std::optional<double> share(std::int64_t size, int loop, const std::array<int, kAxes>& loops,
                              const Position& position) const {
    std::int64_t parts = 1, here = size;
    for (std::size_t a = 0; a < kAxes; ++a) {
      if (loops[a] != loop) continue;
      if (mesh_.uneven != a) {
        parts *= mesh_.sizes[a];
      } else {
        if (size % mesh_.all_grains != 0) return std::nullopt;
        here = size / mesh_.all_grains * position.grains;
      }
    }
    if (here < parts) return std::nullopt;
    const std::int64_t largest = (here + parts - 1) / parts;
    if (static_cast<double>(largest * parts) > 1.25 * static_cast<double>(here))
      return std::nullopt;
    return static_cast<double>(largest) / static_cast<double>(size);
  }

  double piece(const Layout& layout, const Position& position) const {
    double part = 1;
    for (std::size_t a = 0; a < kAxes; ++a)
      if (is_cut(layout[a]))
        part *= mesh_.uneven == a ? position.share : 1 / static_cast<double>(mesh_.sizes[a]);
    return part;
  }
  double largest_piece(const Layout& layout) const {
    double part = 1;
    for (std::size_t a = 0; a < kAxes; ++a)
      if (is_cut(layout[a])) part *= mesh_.largest[a];
    return part;
  }

  void add_way(std::size_t k, const std::array<int, kAxes>& loops) {
    const Operator& here = model_.operators[k];
    Way way;
    way.loops = loops;
    way.inputs.assign(here.reads.size() + (here.kind == Kind::kMatmul ? 1 : 0), kWholeEverywhere);
    way.result = kWholeEverywhere;
    for (std::size_t a = 0; a < kAxes; ++a) {
      const int loop = loops[a];
      if (loop < 0) continue;
      way.result[a] = loop == 2 ? kSum : loop;
      if (here.kind == Kind::kMatmul) {
        way.inputs[0][a] = loop == 0 ? 0 : loop == 2 ? 1 : kSpread;
        way.inputs[1][a] = loop == 1 ? 1 : loop == 2 ? 0 : kSpread;
      } else {
        for (Layout& input : way.inputs) input[a] = loop;
      }
    }
    for (const Position& position : mesh_.positions) {
      std::array<double, 3> parts{};
      for (int loop = 0; loop < 3; ++loop) {
        const auto of_loop = share(loop_size(k, loop), loop, loops, position);
        if (!of_loop) return;
        parts[static_cast<std::size_t>(loop)] = *of_loop;
      }
      time_way(k, position.rates, parts, way);
    }
    ways_[k].push_back(std::move(way));
  }

  /// `parts`: the shares of rows, columns and summands that the largest part has. The gradient of a
  /// matmul reads what the matmul reads; that of relu reads the result; that of add reads neither.
  void time_way(std::size_t k, const Rates& rates, const std::array<double, 3>& parts,
                Way& way) const {
    const Operator& here = model_.operators[k];
    const bool is_matmul = here.kind == Kind::kMatmul;
    const auto [rows, columns, summands] = parts;
    double read = 0, sought = 0;
    int gradients = 0;
    for (const std::size_t tensor : here.reads) {
      const double bytes = tensor_bytes(tensor) * rows * (is_matmul ? summands : columns);
      if (facts_.is_stored[tensor]) read += bytes;
      if (!facts_.has_gradient[tensor]) continue;
      sought += bytes;
      ++gradients;
    }
    double flops = 0;
    if (is_matmul) {
      read += weight_bytes(k) * summands * columns;
      flops = 2 * static_cast<double>(model_.rows) * weight_bytes(k) / kBytes * rows * columns *
              summands;
      if (is_training_) ++gradients;
    }
    const double result = tensor_bytes(k + 1) * rows * columns;
    const double start_us = facts_.starts_launch[k] ? kLaunchUs : 0;
    const double written = facts_.is_stored[k + 1] ? result : 0;
    way.forward_us.push_back(start_us + (is_matmul ? contraction_us(rates, flops, read + written)
                                                   : passes_us(rates, read + written)));
    const double kept = here.kind == Kind::kRelu ? result : 0;
    double backward_us = 0;
    if (gradients > 0 && facts_.has_gradient[k + 1])
      backward_us = is_matmul ? gradients * (start_us + contraction_us(rates, flops, read + result))
                              : start_us + passes_us(rates, kept + result + sought);
    way.backward_us.push_back(backward_us);
  }

  // --- Weights ---

  /// Along a dimension that a reader could cut there, or that all devices could share; never into
  /// more pieces than there are elements.
  void list_weight_layouts(std::size_t w, std::size_t axis, Layout layout) {
    const std::size_t k = weights_[w];
    if (axis == kAxes) {
      std::array<std::int64_t, 2> pieces{1, 1};
      for (std::size_t a = 0; a < kAxes; ++a)
        if (is_cut(layout[a])) pieces[static_cast<std::size_t>(layout[a])] *= mesh_.sizes[a];
      if (pieces[0] <= columns_read(k) && pieces[1] <= model_.operators[k].columns)
        layouts_of_weights_[w].push_back(layout);
      return;
    }
    layout[axis] = kWhole;
    list_weight_layouts(w, axis + 1, layout);
    if (mesh_.sizes[axis] == 1) return;
    for (int dim = 0; dim < 2; ++dim) {
      const std::int64_t size = dim == 0 ? columns_read(k) : model_.operators[k].columns;
      const bool has_grains = mesh_.uneven != axis || size % mesh_.all_grains == 0;
      const bool is_read = std::ranges::any_of(readers_of_weights_[k], [&](std::size_t reader) {
        return std::ranges::any_of(ways_[reader],
                                   [&](const Way& way) { return way.inputs[1][axis] == dim; });
      });
      if (!is_read && !(size >= devices_ && has_grains)) continue;
      layout[axis] = dim;
      list_weight_layouts(w, axis + 1, layout);
    }
  }

  /// Adam reads weight and gradient and writes the weight, reads and writes two states, which all
  /// that have the same piece of the weight share.
  double update_us(std::size_t k, const Layout& layout) const {
    if (!is_training_) return 0;
    double copies = 1, longest_us = 0;
    for (std::size_t a = 0; a < kAxes; ++a)
      if (!is_cut(layout[a])) copies *= static_cast<double>(mesh_.sizes[a]);
    for (const Position& position : mesh_.positions) {
      const double bytes = weight_bytes(k) * piece(layout, position);
      const double rate = mesh_.uneven ? position.rates.bytes_per_s : mesh_.update_bytes_per_s;
      longest_us = std::max(longest_us, (3 * bytes + 2 * 2 * bytes / copies) / (0.8 * rate) * 1e6);
    }
    return longest_us;
  }

  // --- Decisions, one after the other ---

  bool is_hopeless(const std::vector<double>& work_us, double other_us) const {
    return microbatches_ * std::ranges::max(work_us) + other_us >= best_.us;
  }

  /// `work_us`: of one microbatch; `exchange_us`: of changes of layout, which all wait for, in all
  /// microbatches.
  void choose_way(std::size_t k, const std::vector<double>& work_us, double exchange_us) {
    if (k == facts_.order.size()) return choose_copy(0, work_us, exchange_us);
    const std::size_t at = facts_.order[k];
    const Operator& here = model_.operators[at];
    for (const Way& way : ways_[at]) {
      chosen_[at] = &way;
      std::vector<double> now = work_us;
      for (std::size_t p = 0; p < now.size(); ++p) now[p] += way.forward_us[p] + way.backward_us[p];
      if (is_hopeless(now, exchange_us + least_updates_us_[0])) continue;
      double forward_us = 0, backward_us = 0;
      for (std::size_t i = 0; i < here.reads.size(); ++i) {
        const std::size_t tensor = here.reads[i];
        if (tensor == 0 || facts_.readers[tensor].size() > 1) continue;
        const Layout& from = chosen_[tensor - 1]->result;
        forward_us += change_us(tensor_bytes(tensor), from, way.inputs[i]);
        if (facts_.has_gradient[tensor])
          backward_us += gradient_change_us(tensor_bytes(tensor), from, way.inputs[i]);
      }
      // Results of the model are no partial sums.
      if (facts_.readers[at + 1].empty()) {
        Layout whole = way.result;
        std::ranges::replace(whole, kSum, kWhole);
        forward_us += change_us(tensor_bytes(at + 1), way.result, whole);
      }
      forward_exchange_[at] = forward_us;
      backward_exchange_[at] = backward_us;
      choose_way(k + 1, now, exchange_us + microbatches_ * (forward_us + backward_us));
    }
  }

  /// A copy that all readers of a tensor share, as one of them wants it; the first one makes it.
  void choose_copy(std::size_t s, const std::vector<double>& work_us, double exchange_us) {
    if (is_hopeless(work_us, exchange_us + least_updates_us_[0])) return;
    if (s == shared_.size()) return choose_weight(0, work_us, exchange_us, 0);
    const std::size_t tensor = shared_[s];
    const double bytes = tensor_bytes(tensor);
    const bool has_gradient = facts_.has_gradient[tensor];
    std::vector<Layout> layouts;
    for (const std::size_t reader : facts_.readers[tensor])
      for (const Way& way : ways_[reader]) layouts.push_back(way.inputs[input_of(reader, tensor)]);
    std::ranges::sort(layouts);
    layouts.erase(std::unique(layouts.begin(), layouts.end()), layouts.end());
    const std::vector<double> forward = forward_exchange_, backward = backward_exchange_;
    for (const Layout& copy : layouts) {
      copies_[tensor] = copy;
      double all_us = 0;
      const auto pay = [&](std::size_t reader, const Layout& from, const Layout& to) {
        const double forward_us = change_us(bytes, from, to);
        const double backward_us = has_gradient ? gradient_change_us(bytes, from, to) : 0;
        forward_exchange_[reader] += forward_us;
        backward_exchange_[reader] += backward_us;
        all_us += microbatches_ * (forward_us + backward_us);
      };
      pay(facts_.readers[tensor].front(), chosen_[tensor - 1]->result, copy);
      for (const std::size_t reader : facts_.readers[tensor])
        pay(reader, copy, chosen_[reader]->inputs[input_of(reader, tensor)]);
      choose_copy(s + 1, work_us, exchange_us + all_us);
      forward_exchange_ = forward;
      backward_exchange_ = backward;
    }
  }

  std::size_t input_of(std::size_t reader, std::size_t tensor) const {
    const std::vector<std::size_t>& reads = model_.operators[reader].reads;
    return static_cast<std::size_t>(std::ranges::find(reads, tensor) - reads.begin());
  }

  void choose_weight(std::size_t w, const std::vector<double>& work_us, double exchange_us,
                     double updates_us) {
    if (is_hopeless(work_us, exchange_us + updates_us + least_updates_us_[w])) return;
    if (w == weights_.size()) return time(updates_us);
    const std::size_t k = weights_[w];
    const std::vector<std::size_t>& readers = readers_of_weights_[k];
    for (const Layout& layout : layouts_of_weights_[w])
      for (const Layout& copy : copies_of_weight(k)) {
        held_[k] = layout;
        for (const std::size_t reader : readers) exchanges_[reader].clear();
        exchange_weight(readers.front(), layout, copy);
        for (const std::size_t reader : readers)
          exchange_weight(reader, copy, chosen_[reader]->inputs[1]);
        choose_weight(w + 1, work_us, exchange_us, updates_us + update_us(k, layout));
      }
  }

  /// A copy that all readers share, as one of them may want it; of a single reader, as it does.
  std::vector<Layout> copies_of_weight(std::size_t k) const {
    const std::vector<std::size_t>& readers = readers_of_weights_[k];
    if (readers.size() == 1) return {chosen_[k]->inputs[1]};
    std::set<Layout> layouts;
    for (const std::size_t reader : readers)
      for (const Way& way : ways_[reader]) layouts.insert(way.inputs[1]);
    return {layouts.begin(), layouts.end()};
  }

  void exchange_weight(std::size_t reader, const Layout& from, const Layout& to) {
    const double bytes = weight_bytes(reader);
    const bool is_gathered = change_us(bytes, from, to) > 0;
    if (is_gathered || (is_training_ && gradient_change_us(bytes, from, to) > 0))
      exchanges_[reader].push_back({bytes, from, to, is_gathered});
  }

  // --- The time of a step ---

  /// Weights that travel together; those of which the same happens along each axis are one.
  struct Bucket {
    std::map<std::array<int, 2 * kAxes>, Exchange> kinds;
    double bytes = 0;

    void add(const Exchange& exchange, double on_device) {
      std::array<int, 2 * kAxes> kind{};
      for (std::size_t a = 0; a < kAxes; ++a) {
        const int from = exchange.from[a], to = exchange.to[a];
        kind[2 * a] = is_cut(from) ? 0 : from;
        kind[2 * a + 1] = !is_cut(to) ? to : is_cut(from) && from != to ? 1 : 0;
      }
      const auto [at, is_new] = kinds.try_emplace(kind, exchange);
      if (!is_new) at->second.bytes += exchange.bytes;
      bytes += on_device;
    }
  };

  double gather_us(const Bucket& bucket) {
    double us = 0;
    for (const auto& [kind, exchange] : bucket.kinds)
      us += change_us(exchange.bytes, exchange.from, exchange.to);
    return us;
  }
  double gradients_us(const Bucket& bucket) {
    double us = 0;
    for (const auto& [kind, exchange] : bucket.kinds)
      us += gradient_change_us(exchange.bytes, exchange.from, exchange.to);
    return us;
  }

  struct Unit {
    std::size_t begin = 0, end = 0;
    double gather_us = 0, scatter_us = 0;
  };

  /// Operators in turn, until the weights that are gathered for them fill a bucket.
  std::vector<Unit> units() {
    std::vector<Unit> all;
    Bucket bucket;
    std::size_t begin = 0;
    for (std::size_t k = 0; k < facts_.order.size(); ++k) {
      const std::size_t at = facts_.order[k];
      for (const Exchange& exchange : exchanges_[at])
        if (exchange.is_gathered) bucket.add(exchange, exchange.bytes * largest_piece(exchange.to));
      const bool is_last = k + 1 == facts_.order.size();
      if (!is_last && (bucket.kinds.empty() || bucket.bytes < kBucketBytes)) continue;
      all.push_back({begin, k + 1, gather_us(bucket), is_training_ ? gradients_us(bucket) : 0});
      bucket = {};
      begin = k + 1;
    }
    return all;
  }

  static double latest(const std::vector<double>& clocks) { return std::ranges::max(clocks); }
  static void wait(std::vector<double>& clocks, double until_us) {
    for (double& clock : clocks) clock = std::max(clock, until_us);
  }
  static void exchange(std::vector<double>& clocks, double us) {
    if (us > 0) std::ranges::fill(clocks, latest(clocks) + us);
  }
  static void work(std::vector<double>& clocks, const std::vector<double>& us) {
    for (std::size_t p = 0; p < clocks.size(); ++p) clocks[p] += us[p];
  }

  /// The link gathers the weights of a unit once those of the unit before are being used.
  double forward_pass(const std::vector<Unit>& all) {
    std::vector<double> clocks(mesh_.positions.size(), 0);
    double link_us = 0, unit_before_us = 0;
    for (const Unit& unit : all) {
      if (unit.gather_us > 0) {
        link_us = std::max(link_us, unit_before_us) + unit.gather_us;
        wait(clocks, link_us);
      }
      unit_before_us = latest(clocks);
      for (std::size_t k = unit.begin; k < unit.end; ++k) {
        const std::size_t at = facts_.order[k];
        exchange(clocks, forward_exchange_[at]);
        work(clocks, chosen_[at]->forward_us);
      }
    }
    return latest(clocks);
  }

  /// Ends of operators, by position in the order, and the end of all. Behind what is gathered for a
  /// unit, the gradients of the unit behind it are scattered.
  std::pair<std::vector<double>, double> backward_pass(const std::vector<Unit>& all) {
    std::vector<double> clocks(mesh_.positions.size(), 0), ends(facts_.order.size(), 0);
    double link_us = 0, unit_before_us = 0, scatter_us = 0;
    for (std::size_t u = all.size(); u-- > 0;) {
      const Unit& unit = all[u];
      const double complete_us = latest(clocks);
      if (unit.gather_us > 0) {
        link_us = std::max(link_us, unit_before_us) + unit.gather_us;
        wait(clocks, link_us);
      }
      if (scatter_us > 0) link_us = std::max(link_us, complete_us) + scatter_us;
      unit_before_us = latest(clocks);
      for (std::size_t k = unit.end; k-- > unit.begin;) {
        const std::size_t at = facts_.order[k];
        work(clocks, chosen_[at]->backward_us);
        exchange(clocks, backward_exchange_[at]);
        ends[k] = latest(clocks);
      }
      scatter_us = unit.scatter_us;
    }
    if (scatter_us > 0)
      wait(clocks, std::max(link_us, latest(clocks)) + scatter_us);
    else
      wait(clocks, link_us);
    return {ends, latest(clocks)};
  }

  /// Gradients of weights that are not gathered, a bucket at a time.
  double summed_us(double begin_us, const std::vector<double>& ends) {
    double link_us = 0;
    Bucket bucket;
    std::size_t last = 0;
    const auto send = [&](std::size_t k) {
      const double us = gradients_us(bucket);
      if (us > 0) link_us = std::max(link_us, begin_us + ends[k]) + us;
      bucket = {};
    };
    for (std::size_t k = facts_.order.size(); k-- > 0;) {
      const std::size_t at = facts_.order[k];
      for (const Exchange& exchange : exchanges_[at]) {
        if (exchange.is_gathered) continue;
        bucket.add(exchange, exchange.bytes * largest_piece(exchange.from));
        last = k;
      }
      if (bucket.bytes >= kBucketBytes) send(k);
    }
    if (!bucket.kinds.empty()) send(last);
    return link_us;
  }

  void time(double updates_us) {
    ++best_.timed;
    const std::vector<Unit> all = units();
    double us = microbatches_ * forward_pass(all);
    if (is_training_) {
      // Gradients of all microbatches are summed from the last backward pass on.
      const auto [ends, backward_us] = backward_pass(all);
      us += (microbatches_ - 1) * backward_us;
      us = std::max(us + backward_us, summed_us(us, ends)) + updates_us;
    }
    if (us >= best_.us) return;
    best_.us = us;
    best_.plan = plan();
  }

  std::string plan() const {
    std::string text =
        fmt::format("mesh {}{}", fmt::join(mesh_.sizes, " x "), mesh_.uneven ? " uneven" : "");
    for (const std::size_t k : facts_.order) {
      text += fmt::format("; t{} loops {}", k + 1, fmt::join(chosen_[k]->loops, ","));
      if (!readers_of_weights_[k].empty())
        text += fmt::format(" weight {}", fmt::join(held_[k], ","));
    }
    for (const std::size_t t : shared_)
      text += fmt::format("; copy of t{} {}", t, fmt::join(copies_[t], ","));
    return text;
  }

  const Model& model_;
  const Facts& facts_;
  const Mesh& mesh_;
  const bool is_training_;
  const double microbatches_;
  Step& best_;
  LayoutChangeTimes changes_;
  std::int64_t devices_ = 1;
  std::vector<std::vector<Way>> ways_;                        // by operator
  std::vector<const Way*> chosen_;                            // by operator
  std::vector<double> forward_exchange_, backward_exchange_;  // by operator
  std::vector<std::vector<Exchange>> exchanges_;              // by operator
  std::vector<std::vector<std::size_t>> readers_of_weights_;  // by operator that has the weight
  std::vector<Layout> held_, copies_;                         // by operator; by tensor
  std::vector<std::size_t> shared_, weights_;                 // tensors; operators
  std::vector<std::vector<Layout>> layouts_of_weights_;
  std::vector<double> least_updates_us_;  // of these weights and those behind
};

}  // namespace

Step least_step(const Model& model, const Topology& machine, const Options& options) {
  const Facts facts = facts_of(model, options.is_training);
  const auto devices = static_cast<std::int64_t>(machine.device_count());
  Model part = model;
  part.rows /= options.microbatches;
  Step best;
  best.us = options.limit_us;
  for (std::int64_t along_model = 1; along_model <= devices; ++along_model)
    for (std::int64_t any = 1; along_model * any <= devices; ++any) {
      if (devices % (along_model * any) != 0) continue;
      const std::array<std::int64_t, kAxes> sizes{along_model, any, devices / along_model / any};
      const Mesh mesh = even_mesh(model, facts, machine, sizes);
      MeshSearch(part, facts, machine, mesh, options, best).run();
      if (!options.cuts_unevenly || machine.kinds().size() == 1) continue;
      if (const auto uneven = uneven_mesh(model, facts, machine, sizes, part.rows))
        MeshSearch(part, facts, machine, *uneven, options, best).run();
    }
  if (best.plan.empty()) best.us = kInfinite;
  return best;
}

}  // namespace soapstone::parallel::brute_force
