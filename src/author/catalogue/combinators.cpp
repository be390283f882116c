#include <utility>

#include "tilewright/masks.h"
#include "tilewright/scores.h"

namespace tilewright {

MaskMod masks::all_of(std::vector<MaskMod> parts) {
  return [parts = std::move(parts)](Index b, Index h, Index q, Index kv) -> Value {
    Value all = true;
    for (const MaskMod& part : parts) all = all & Bool(part(b, h, q, kv));
    return all;
  };
}

MaskMod masks::any_of(std::vector<MaskMod> parts) {
  return [parts = std::move(parts)](Index b, Index h, Index q, Index kv) -> Value {
    Value any = false;
    for (const MaskMod& part : parts) any = any | Bool(part(b, h, q, kv));
    return any;
  };
}

MaskMod masks::negate(MaskMod part) {
  return [part = std::move(part)](Index b, Index h, Index q, Index kv) -> Value {
    return ~Bool(part(b, h, q, kv));
  };
}

MaskMod masks::offset(MaskMod part, Number q_offset, Number kv_offset) {
  return
      [part = std::move(part), q_by = q_offset.integer_named("q_offset"),
       kv_by = kv_offset.integer_named("kv_offset")](Index b, Index h, Index q, Index kv) -> Value {
        return part(b, h, q + q_by, kv + kv_by);
      };
}

ScoreMod scores::then(ScoreMod first, ScoreMod second) {
  return [first = std::move(first), second = std::move(second)](Score s, Index b, Index h, Index q,
                                                                Index kv) -> Value {
    return second(first(s, b, h, q, kv), b, h, q, kv);
  };
}

}  // namespace tilewright
