// Runs emitted mods, one pair or tile at a time, as a kernel would call them. Included by the text
// that HostPrograms writes; its structs mirror those of host_programs.h.
#pragma once

#include "attention/backward_mods_contract.cuh"
#include "attention/capture_contract.cuh"
#include "mods/emitted_mods.cuh"

namespace tilewright::cuda {

struct PairQuery {
  i32 b, h, i, j;
  float product, scale;
};
struct PairResult {
  float exponent;
  i32 mask;       ///< 1: live
  i32 intervals;  ///< 1: inside an interval of its row, 0: in none, -1: the mods have none here
};
inline constexpr int kMostLoads = 40;
struct DerivativeResult {
  float d_score;  ///< for a dT of 1
  float factor[kMostLoads];
  i64 place[kMostLoads];
};
struct TileQuery {
  i32 b, h, q_begin, q_end, kv_begin, kv_end;
};

/// Whether every table of the mask's sorted runs ascends along the 16 keys around the pair's, and
/// which of these keys each run covers.
template <class Mods>
bool find_runs(const typename Mods::Bindings& bindings, const typename Mods::Head& head,
               const typename Mods::Row& row, const PairQuery& at,
               KeyInterval (&runs)[Mods::kSortedRuns]) {
  const i32 first = at.j - at.j % 16;
  const i32 end = first + 16 < bindings.kv_len ? first + 16 : static_cast<i32>(bindings.kv_len);
  for (int run = 0; run < Mods::kSortedRuns; ++run) {
    const i64 value = Mods::run_value(bindings, head, row, at.i, run);
    runs[run] = {first, first};
    for (i32 j = first; j < end; ++j) {
      const auto entry = Mods::run_entry(bindings, head, j, run);
      if (j > first && entry < Mods::run_entry(bindings, head, j - 1, run)) return false;
      runs[run].begin += entry < value ? 1 : 0;
      runs[run].end += entry <= value ? 1 : 0;
    }
  }
  return true;
}

template <class Mods>
i32 kept_by_sorted(const typename Mods::Bindings& bindings, const typename Mods::Head& head,
                   const typename Mods::Row& row, const PairQuery& at) {
  if constexpr (Mods::kIntervalsMayFail) {
    if (!Mods::intervals_hold(bindings, head, row, at.i)) return -1;
  }
  KeyInterval runs[Mods::kSortedRuns];
  if (!find_runs<Mods>(bindings, head, row, at, runs)) return -1;
  for (int n = 0; n < Mods::kSortedIntervals; ++n) {
    const KeyInterval kept = Mods::sorted_interval(bindings, head, row, at.i, n, runs);
    if (kept.begin <= at.j && at.j < kept.end) return 1;
  }
  return 0;
}

template <class Mods>
i32 kept_by_intervals(const typename Mods::Bindings& bindings, const typename Mods::Head& head,
                      const typename Mods::Row& row, const PairQuery& at) {
  if constexpr (Mods::kSortedRuns > 0) return kept_by_sorted<Mods>(bindings, head, row, at);
  if constexpr (Mods::kRowIntervals > 0) {
    if constexpr (Mods::kIntervalsMayFail) {
      if (!Mods::intervals_hold(bindings, head, row, at.i)) return -1;
    }
    for (int n = 0; n < Mods::kRowIntervals; ++n) {
      const KeyInterval kept = Mods::interval(bindings, head, row, at.i, n);
      if (kept.begin <= at.j && at.j < kept.end) return 1;
    }
    return 0;
  }
  return -1;
}

/// What is kept for the pair's diagonal; of every second pair from a run of diagonals, if there is
/// one.
template <class Mods>
typename Mods::Diagonal diagonal_of(const typename Mods::Bindings& bindings,
                                    const typename Mods::Head& head, const PairQuery& at, int k) {
  const i32 diagonal = at.i - at.j;
  if constexpr (Mods::kDiagonalsRun) {
    typename Mods::DiagonalRun run;
    const i32 back = k / 2 % 7;
    const bool found = Mods::diagonal_run(bindings, head, diagonal + back, back + k % 3, run);
    if (k % 2 == 0 && found) return Mods::diagonal_in(run, back);
  }
  return Mods::diagonal(bindings, head, diagonal);
}

template <class Mods>
void run_pairs(const void* block, const PairQuery* queries, PairResult* results, int count) {
  const auto& bindings = *static_cast<const typename Mods::Bindings*>(block);
  for (int k = 0; k < count; ++k) {
    const PairQuery& at = queries[k];
    const auto head = Mods::head(bindings, at.b, at.h);
    const auto row = Mods::row(bindings, head, at.i);
    const auto column = Mods::column(bindings, head, at.j);
    results[k] = {at.product * at.scale * 1.44269504f, 1,
                  kept_by_intervals<Mods>(bindings, head, row, at)};
    if constexpr (Mods::kHasMaskMod) {
      results[k].mask = Mods::mask(bindings, {head, row, column, at.i, at.j}) ? 1 : 0;
    }
    if constexpr (Mods::kHasScoreMod) {
      const auto diagonal = diagonal_of<Mods>(bindings, head, at, k);
      const i32 first_key = at.j - at.j % 8;
      const PairIndex pair = {at.i, at.j, first_key, static_cast<float>(at.j - first_key)};
      const ScoreSite<Mods> site = {
          at.product, at.scale, at.scale * 1.44269504f, 0.0f, head, row, column, diagonal, pair};
      results[k].exponent = Mods::exponent(bindings, site);
      if constexpr (Mods::kHasNear) {
        const bool is_near = k % 2 == 1 && Mods::reach(bindings, site) <= Mods::kNearLimit;
        if (is_near) results[k].exponent = Mods::exponent_near(bindings, site);
      }
    }
  }
}

template <class Mods>
void run_tiles(const void* block, const TileQuery* queries, i32* classes, int count) {
  const auto& bindings = *static_cast<const typename Mods::Bindings*>(block);
  for (int k = 0; k < count; ++k) {
    const TileQuery& at = queries[k];
    const auto head = Mods::head(bindings, at.b, at.h);
    const auto band = Mods::band(bindings, head, at.q_begin, at.q_end);
    const TileBounds tile = {at.q_begin, at.q_end, at.kv_begin, at.kv_end};
    classes[k] = static_cast<i32>(Mods::classify(bindings, head, band, tile));
  }
}

template <class Mods, class Captures, int kLoad>
void run_loads(const typename Mods::Bindings& bindings, const ScoreSite<Mods>& site,
               HeadNumbers numbers, DerivativeResult& result) {
  if constexpr (kLoad < Captures::kLoads) {
    constexpr PlaceScope scope = Captures::load(kLoad).scope;
    const LoadNumber<kLoad> load;
    result.factor[kLoad] = Captures::factor(load, bindings, site);
    if constexpr (scope == PlaceScope::kPair) {
      result.place[kLoad] = Captures::place(load, bindings, site, numbers);
    } else {
      const i32 at = scope == PlaceScope::kColumn     ? site.pair.j
                     : scope == PlaceScope::kDiagonal ? site.pair.i - site.pair.j
                                                      : site.pair.i;
      result.place[kLoad] = Captures::place(load, bindings, site.head, numbers, at);
    }
    run_loads<Mods, Captures, kLoad + 1>(bindings, site, numbers, result);
  }
}

template <class Mods, class Gradient, class Captures>
void run_derivatives(const void* block, const PairQuery* queries, DerivativeResult* results,
                     int count) {
  const auto& bindings = *static_cast<const typename Mods::Bindings*>(block);
  for (int k = 0; k < count; ++k) {
    const PairQuery& at = queries[k];
    const auto head = Mods::head(bindings, at.b, at.h);
    const auto row = Mods::row(bindings, head, at.i);
    const auto column = Mods::column(bindings, head, at.j);
    const auto diagonal = Mods::diagonal(bindings, head, at.i - at.j);
    const i32 first_key = at.j - at.j % 8;
    const PairIndex pair = {at.i, at.j, first_key, static_cast<float>(at.j - first_key)};
    const ScoreSite<Mods> site = {
        at.product, at.scale, at.scale * 1.44269504f, 0.0f, head, row, column, diagonal, pair};
    float score_log2 = at.product * at.scale * 1.44269504f;
    if constexpr (Mods::kHasScoreMod) score_log2 = Mods::exponent(bindings, site);
    results[k].d_score = 1.0f;
    if constexpr (Gradient::kHasScoreGradient) {
      results[k].d_score = Gradient::d_score(bindings, {1.0f, score_log2, site});
    }
    run_loads<Mods, Captures, 0>(bindings, site, {at.b, at.h}, results[k]);
  }
}

}  // namespace tilewright::cuda
