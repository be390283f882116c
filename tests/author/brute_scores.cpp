#include "author/brute_scores.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>

namespace tilewright::tests {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Place {
  const std::vector<Table>& tables;
  std::int64_t length;
  double s;
  std::int64_t b, h, q, kv;

  double in(std::size_t table, std::initializer_list<std::int64_t> index) const {
    return element(tables.at(table), index);
  }
  double distance() const { return static_cast<double>(q - kv); }
};

double sandwich(const Place& p) {
  double total = 0;
  for (int f = 0; f < 16; ++f) total += std::cos(p.distance() / std::pow(10000.0, f / 16.0));
  // The table holds fp32.
  return p.s +
         static_cast<double>(static_cast<float>(total)) * 2 / (8.0 * static_cast<double>(p.h + 1));
}

/// The bucket rule of T5 with 32 buckets up to distance 128.
std::int64_t t5_bucket(std::int64_t ahead) {
  const std::int64_t side = ahead > 0 ? 16 : 0;
  const std::int64_t distance = std::abs(ahead);
  if (distance < 8) return side + distance;
  const double large = 8 + std::log(static_cast<double>(distance) / 8) / std::log(128.0 / 8) * 8;
  return side + std::min<std::int64_t>(15, static_cast<std::int64_t>(large));
}

double swin(const Place& p) {
  const std::int64_t query = p.q % 49;
  const std::int64_t key = p.kv % 49;
  const std::int64_t dy = query / 7 - key / 7 + 6;
  const std::int64_t dx = query % 7 - key % 7 + 6;
  return p.s + p.in(0, {p.h, dy * 13 + dx});
}

double edge(const Place& p) {
  double total = 0;
  for (std::int64_t n = 0; n < 3; ++n)
    total += p.in(0, {p.h, n, static_cast<std::int64_t>(p.in(1, {p.b, p.q, p.kv, n}))});
  return p.s + total / 3;
}

double rope(const Place& p) {
  double total = 0;
  for (std::int64_t n = 0; n < 8; ++n)
    total += p.in(0, {p.b, p.h, p.q, n}) * p.in(1, {p.b, p.h, p.kv, n});
  return p.s + 0.125 * total;
}

double rbf(const Place& p) {
  double total = p.s;
  for (std::int64_t k = 0; k < 4; ++k) {
    const double apart = p.distance() - static_cast<double>(8 * k - 16);
    total += p.in(0, {p.h, k}) * std::exp(-apart * apart / 128);
  }
  return total;
}

double activation(double s) { return std::log(std::pow(std::max(s, 0.0), 2) + 1); }

using Rule = std::function<double(const Place&)>;

const std::map<std::string, Rule, std::less<>> kRules{
    {"identity", [](const Place& p) { return p.s; }},
    {"times_two", [](const Place& p) { return 2 * p.s; }},
    {"squared", [](const Place& p) { return p.s * p.s; }},
    {"causal_score", [](const Place& p) { return p.kv <= p.q ? p.s : -kInfinity; }},
    {"inverse_causal_score", [](const Place& p) { return p.kv >= p.q ? p.s : -kInfinity; }},
    {"relative", [](const Place& p) { return p.s + p.distance(); }},
    {"relative_causal",
     [](const Place& p) { return p.kv <= p.q ? p.s + p.distance() : -kInfinity; }},
    {"alibi",
     [](const Place& p) {
       return p.s - p.distance() * std::pow(2.0, -8.0 * static_cast<double>(p.h + 1) / 2);
     }},
    {"head_bias", [](const Place& p) { return p.s + 2.0 * static_cast<double>(p.h); }},
    {"softcap", [](const Place& p) { return 20 * std::tanh(p.s / 20); }},
    {"sandwich", sandwich},
    {"t5_bucket", [](const Place& p) { return p.s + p.in(1, {p.h, t5_bucket(p.kv - p.q)}); }},
    {"swin_2d", swin},
    {"relative_table",
     [](const Place& p) {
       return p.s + p.in(0, {p.h, std::clamp<std::int64_t>(p.q - p.kv, -32, 32) + 32});
     }},
    {"full_bias", [](const Place& p) { return p.s + p.in(0, {p.b, p.h, p.q, p.kv}); }},
    {"pair_bias", [](const Place& p) { return p.s + p.in(0, {p.h, p.q, p.kv}); }},
    {"bias_head", [](const Place& p) { return p.s + p.in(0, {p.h}); }},
    {"bias_query", [](const Place& p) { return p.s + p.in(0, {p.q}); }},
    {"bias_key", [](const Place& p) { return p.s + p.in(0, {p.kv}); }},
    {"bias_batch", [](const Place& p) { return p.s + p.in(0, {p.b}); }},
    {"bias_batch_head", [](const Place& p) { return p.s + p.in(0, {p.b, p.h}); }},
    {"scale_head_query", [](const Place& p) { return p.s * p.in(0, {p.h, p.q}); }},
    {"head_scale", [](const Place& p) { return p.s * p.in(0, {p.h}); }},
    {"head_gate", [](const Place& p) { return p.s / (1 + std::exp(-p.in(0, {p.h}))); }},
    {"graphormer_spatial",
     [](const Place& p) {
       return p.s + p.in(0, {p.h, static_cast<std::int64_t>(p.in(1, {p.b, p.q, p.kv}))});
     }},
    {"graphormer_edge", edge},
    {"mla_rope", rope},
    {"activation", [](const Place& p) { return activation(p.s); }},
    {"distance_decay", [](const Place& p) { return p.s - std::abs(p.distance()) / 16; }},
    {"position_table", [](const Place& p) { return p.s + p.in(0, {p.q}) * p.in(1, {p.kv}); }},
    {"rbf", rbf},
    {"soft_window",
     [](const Place& p) { return p.s - 0.25 * std::max(std::abs(p.distance()) - 16, 0.0); }},
    {"sigmoid_window",
     [](const Place& p) {
       return p.s + std::log(1 / (1 + std::exp((std::abs(p.distance()) - 16) / 4)));
     }},
};

}  // namespace

double brute_score(std::string_view name, const std::vector<Table>& tables, const Problem& problem,
                   const ScoreAt& place) {
  const auto rule = kRules.find(name);
  if (rule == kRules.end())
    throw std::invalid_argument("no brute-force rule: " + std::string(name));
  const ir::Position& at = place.at;
  return rule->second(
      {tables, std::max(problem.q_len, problem.kv_len), place.score, at.b, at.h, at.q, at.kv});
}

}  // namespace tilewright::tests
