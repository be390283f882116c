#include "author/catalogue/entry.h"
#include "tilewright/scores.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace tilewright {

ScoreMod scores::t5_bucket(Capture table, Capture buckets, Number max_distance) {
  return
      [table = std::move(table), bucket = std::move(buckets), m = max_distance.integer_named("m")](
          Score s, Index, Index h, Index q, Index kv) -> Value {
        return s + table(h, bucket[clamp(kv - q, -Value(m), m) + m]);
      };
}

Table scores::t5_buckets(std::int64_t buckets, std::int64_t max_distance) {
  const std::int64_t half = buckets / 2;
  const std::int64_t exact = std::max<std::int64_t>(half / 2, 1);
  Table table(DType::kI32, {2 * max_distance + 1});
  for (std::int64_t i = 0; i <= 2 * max_distance; ++i) {
    const std::int64_t ahead = i > max_distance ? half : 0;
    const std::int64_t distance = std::abs(i - max_distance);
    const double steps = std::log(static_cast<double>(distance) / static_cast<double>(exact)) /
                         std::log(static_cast<double>(max_distance) / static_cast<double>(exact));
    const auto coarse =
        exact + static_cast<std::int64_t>(std::max(steps, 0.0) * static_cast<double>(half - exact));
    table.set(i, ahead + (distance < exact ? distance : std::min(coarse, half - 1)));
  }
  return table;
}

CatalogueEntry author::t5_bucket_entry() {
  return {.name = "t5_bucket",
          .kind = CatalogueKind::kScore,
          .formula = "s + table[h, bucket[clamp(kv - q, -m, m) + m]]",
          .meaning =
              "A learned bias for buckets of distance: near ones exact, far ones logarithmic up to "
              "m, both directions.",
          .reference = "Raffel et al. 2020 (T5)",
          .parameters = {{"n", 32, "buckets", false, {}},
                         {"m", 128, "distance of the last bucket", false, {}}},
          .build = [](const CatalogueRequest& request) {
            const Table buckets = scores::t5_buckets(count(request, "n"), count(request, "m"));
            const Table table = sampled({request.problem.query_heads, count(request, "n")});
            return score_of(scores::t5_bucket(table.capture("table"), buckets.capture("bucket"),
                                              number(request, "m")),
                            {buckets, table});
          }};
}

}  // namespace tilewright
