#include "author/catalogue/entry.h"
#include "tilewright/masks.h"

namespace tilewright {

MaskMod masks::video_causal(Capture videos) {
  return [video = std::move(videos)](Index, Index, Index q, Index kv) -> Value {
    const Index query_video = video[q];
    const Index key_video = video[kv];
    return (key_video < query_video) |
           ((key_video == query_video) & (floor_mod(key_video, 2) == 0)) | (kv <= q);
  };
}

CatalogueEntry author::video_causal_entry() {
  return {.name = "video_causal",
          .kind = CatalogueKind::kMask,
          .formula =
              "kv <= q or video[kv] < video[q] or (video[kv] == video[q] and video[kv] % 2 == 0)",
          .meaning = "Causal between videos; videos of even id see themselves in both directions.",
          .reference = "PyTorch test_flex_attention",
          .parameters = {{"n", 5, "videos", false, {}}},
          .build = [](const CatalogueRequest& request) {
            const Table videos = part_ids(request.problem, count(request, "n"));
            return mask_of(masks::video_causal(videos.capture("video")), {videos});
          }};
}

}  // namespace tilewright
