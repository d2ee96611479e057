// See random_pairs.h.
#include "tests/fuzz/proofs/random_pairs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <set>

#include "core/base/hash.h"
#include "tests/fuzz/proofs/random_terms.h"
#include "verifier/mutation/witness_search.h"
#include "verifier/proof/verify.h"
#include "verifier/questions/z3_solver.h"

namespace soapstone::fuzz {
namespace {

double cpu_s() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

std::set<std::string> operators(const rules::Rule& rule) {
  std::set<std::string> names;
  for (const core::Graph* side : {&rule.source, &rule.target})
    for (core::NodeId id : side->order()) names.insert(side->node(id).op->name);
  return names;
}

bool compares_or_rounds(std::string_view op) {
  constexpr std::array<std::string_view, 7> kNames = {"equal", "less", "floor", "ceil",
                                                      "round", "cast", "not"};
  return std::ranges::find(kNames, op) != kNames.end();
}

/// Operators of the nodes that only one of the terms has, and of those that they read: which law
/// the pair is about, whatever it is applied to.
std::multiset<std::string> law_of(const TermMaker& maker, const Term& a, const Term& b) {
  std::vector<std::size_t> different;
  std::ranges::set_symmetric_difference(a.nodes, b.nodes, std::back_inserter(different));
  std::set<std::size_t> nodes(different.begin(), different.end());
  for (std::size_t n : different)
    for (std::size_t operand : maker.node(n).operands)
      if (maker.terms()[operand].node) nodes.insert(*maker.terms()[operand].node);
  std::multiset<std::string> names;
  for (std::size_t n : nodes) names.insert(maker.node(n).op->name);
  return names;
}

/// Equal by accident: x = cos(z) holds for hardly any numbers, but not for none.
bool is_accident(const TermMaker& maker, const Term& term) {
  if (std::ranges::none_of(
          term.nodes, [&](std::size_t n) { return compares_or_rounds(maker.node(n).op->name); }))
    return false;
  const double first = term.samples[0].real[0];
  return std::ranges::all_of(term.samples, [&](const Sample& sample) {
    return std::ranges::all_of(sample.real, [&](double v) { return v == first; });
  });
}

/// Operands of the comparisons of real numbers for equality in one term, by what they compute.
std::multiset<std::multiset<std::uint64_t>> equations(const TermMaker& maker, const Term& term) {
  std::multiset<std::multiset<std::uint64_t>> found;
  for (std::size_t n : term.nodes) {
    const TermNode& node = maker.node(n);
    if (node.op->name != "equal") continue;
    const Term& a = maker.terms()[node.operands[0]];
    const Term& b = maker.terms()[node.operands[1]];
    if (core::is_floating(a.type) && a.field_print != b.field_print)
      found.insert({a.field_print, b.field_print});
  }
  return found;
}

bool is_finite(const Term& term) {
  return std::ranges::all_of(term.samples, [](const Sample& sample) {
    return std::ranges::all_of(sample.real, [](double v) { return std::isfinite(v); });
  });
}

class PairFinder {
 public:
  explicit PairFinder(const PairOptions& options) : options_(options), random_(options.seed) {}

  PairReport run() {
    const double start = cpu_s();
    const std::vector<std::string> texts = world_texts();
    for (std::size_t k = 0; k < options_.worlds; ++k) {
      explore(texts[k % texts.size()]);
      if (options_.progress)
        options_.progress(fmt::format("world {}: {} + {} equal pairs, {} + {} proved, {} unequal",
                                      k + 1, report_.equal, report_.equal_in_doubles,
                                      report_.proved, report_.proved_in_doubles, report_.unequal));
    }
    report_.cpu_s = cpu_s() - start;
    return std::move(report_);
  }

 private:
  void explore(const std::string& text) {
    TermMaker maker(make_world(text, random_), random_.next());
    by_print_.clear();
    by_shape_.clear();
    for (std::size_t k = 0; k < maker.terms().size(); ++k) note(maker, k);
    for (std::size_t k = 0; k < options_.draws; ++k) {
      const ops::OpDefinition* wanted = rare_operator();
      for (Term& term : maker.draw(wanted, options_.most_nodes)) consider(maker, std::move(term));
    }
  }

  /// Every second node is of one of the operators that few pairs have contained so far.
  const ops::OpDefinition* rare_operator() {
    if (random_.next() % 2 == 0) return nullptr;
    const auto all = ops::registry().all();
    const ops::OpDefinition* best = nullptr;
    std::size_t fewest = 0;
    for (int k = 0; k < 4; ++k) {
      const ops::OpDefinition* op = all[random_.next() % all.size()].get();
      const auto found = report_.by_operator.find(op->name);
      const std::size_t count = found == report_.by_operator.end() ? 0 : found->second.first;
      if (!best || count < fewest) std::tie(best, fewest) = std::pair(op, count);
    }
    return best;
  }

  void note(const TermMaker& maker, std::size_t id) {
    const Term& term = maker.terms()[id];
    by_print_.emplace(term.field_print, id);
    by_print_.emplace(term.real_print, id);
    std::uint64_t shape = static_cast<std::uint64_t>(term.type);
    for (const Sample& sample : term.samples)
      for (std::int64_t d : sample.dims) shape = core::hash_combine(shape, std::uint64_t(d));
    if (term.node) shape = core::hash_combine(shape, maker.node(*term.node).op->hash());
    by_shape_[shape].push_back(id);
    last_shape_ = shape;
  }

  /// A term that repeats one that is known makes a pair and is mostly not built upon, so that
  /// later pairs are not the same one with something around it.
  void consider(TermMaker& maker, Term term) {
    constexpr std::size_t kBuiltUponOneIn = 8;
    auto known = by_print_.find(term.field_print);
    if (known == by_print_.end()) known = by_print_.find(term.real_print);
    if (known != by_print_.end()) {
      const std::size_t other = known->second;
      try_equal(maker, term, maker.terms()[other]);
      if (maker.random().next() % kBuiltUponOneIn == 0) maker.keep(std::move(term));
      return;
    }
    const std::size_t id = maker.keep(std::move(term));
    note(maker, id);
    const auto& alike = by_shape_[last_shape_];
    if (alike.size() < 2) return;
    try_unequal(maker, maker.terms()[id],
                maker.terms()[alike[maker.random().next() % (alike.size() - 1)]]);
  }

  /// Either side may be the one that reads all inputs.
  static std::optional<rules::Rule> rule_of(const TermMaker& maker, const Term& a, const Term& b) {
    for (const auto& [source, target] : {std::pair(&a, &b), std::pair(&b, &a)}) {
      if (!source->node) continue;
      if (auto rule = maker.rule(*source, *target)) return *std::move(rule);
    }
    return std::nullopt;
  }

  std::string failure(const rules::Rule& rule, double& ms) {
    const auto solver = verifier::make_z3_solver();
    verifier::VerifyOptions verify_options;
    verify_options.max_steps = options_.max_steps;
    const double start = cpu_s();
    std::string reason = verifier::attempt_proof(rule, *solver, verify_options);
    ms = 1e3 * (cpu_s() - start);
    report_.proof_cpu_s += ms / 1e3;
    return reason;
  }

  void try_equal(const TermMaker& maker, const Term& a, const Term& b) {
    const auto rule = rule_of(maker, a, b);
    if (!rule ||
        !tried_.insert(core::hash_combine(rule->source.hash(), rule->target.hash())).second)
      return;
    if (is_accident(maker, a) || is_accident(maker, b)) return;
    if (equations(maker, a) != equations(maker, b)) return;
    const bool in_field = a.field_print == b.field_print;
    // A pair with a side that has no value says nothing.
    if (!in_field && !(is_finite(a) && is_finite(b))) return;
    std::size_t& of_this_law = of_law_[law_of(maker, a, b)];
    if (of_this_law >= options_.most_of_one_law) return;
    // The field alone may be mistaken about order and fractions.
    if (!rules::check(*rule, 1, options_.seed)) return;
    if (verifier::has_witness(*rule, options_.check_sizes, options_.seed)) return;
    double ms = 0;
    ++of_this_law;
    const std::set<std::string> names = operators(*rule);
    std::string reason = failure(*rule, ms);
    ++(in_field ? report_.equal : report_.equal_in_doubles);
    if (reason.empty()) ++(in_field ? report_.proved : report_.proved_in_doubles);
    if (!reason.empty() && !in_field) reason += " (equal in doubles alone)";
    for (const std::string& name : names) {
      ++report_.by_operator[name].first;
      report_.by_operator[name].second += reason.empty() ? 1 : 0;
    }
    if (!reason.empty()) report_.unproved[reason].push_back({reason, rules::print(*rule), ms});
  }

  /// The same operator and the same sizes, but other results.
  void try_unequal(const TermMaker& maker, const Term& a, const Term& b) {
    const auto rule = rule_of(maker, a, b);
    if (!rule) return;
    double ms = 0;
    ++report_.unequal;
    for (const std::string& name : operators(*rule)) ++report_.unequal_by_operator[name];
    if (!failure(*rule, ms).empty()) return;
    // Perhaps they are equal after all: a function of the field that knows fewer laws.
    constexpr int kManySizes = 100;
    if (!verifier::has_witness(*rule, kManySizes, options_.seed)) return;
    ++report_.wrong_proved;
    report_.wrong.push_back({"the sides differ", rules::print(*rule), ms});
  }

  const PairOptions& options_;
  rules::Random random_;
  PairReport report_;
  std::map<std::uint64_t, std::size_t> by_print_;
  std::map<std::uint64_t, std::vector<std::size_t>> by_shape_;
  std::uint64_t last_shape_ = 0;
  std::set<std::uint64_t> tried_;
  std::map<std::multiset<std::string>, std::size_t> of_law_;
};

}  // namespace

PairReport try_random_pairs(const PairOptions& options) { return PairFinder(options).run(); }

std::string to_text(const PairReport& report, std::size_t examples) {
  const auto share = [](std::size_t part, std::size_t whole) {
    return whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
  };
  std::string text = fmt::format(
      "{} pairs equal in the field, {} proved ({:.1f} %)\n{} pairs equal in doubles alone, {} "
      "proved ({:.1f} %)\n{} unequal pairs, {} proved\nCPU {:.1f} s, of them {:.1f} s in proofs\n",
      report.equal, report.proved, share(report.proved, report.equal), report.equal_in_doubles,
      report.proved_in_doubles, share(report.proved_in_doubles, report.equal_in_doubles),
      report.unequal, report.wrong_proved, report.cpu_s, report.proof_cpu_s);
  for (const auto& op : ops::registry().all()) {
    const auto equal = report.by_operator.find(op->name);
    const auto unequal = report.unequal_by_operator.find(op->name);
    const bool any = equal != report.by_operator.end();
    text += fmt::format("  {:<20} equal {:>4}  proved {:>4}  unequal {:>5}\n", op->name,
                        any ? equal->second.first : 0, any ? equal->second.second : 0,
                        unequal == report.unequal_by_operator.end() ? 0 : unequal->second);
  }
  for (const PairFailure& wrong : report.wrong)
    text += fmt::format("\nWRONG BUT PROVED: {}\n{}", wrong.reason, wrong.rule);
  for (const auto& [reason, failures] : report.unproved) {
    text += fmt::format("\nnot proved, {} pairs: {}\n", failures.size(), reason);
    for (std::size_t k = 0; k < std::min(examples, failures.size()); ++k)
      text += fmt::format("# {:.0f} ms\n{}", failures[k].ms, failures[k].rule);
  }
  return text;
}

}  // namespace soapstone::fuzz
