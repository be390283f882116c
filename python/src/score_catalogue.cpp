#include <nanobind/stl/string.h>

#include "catalogue.h"

namespace tilewright::python {

namespace {

void bind_plain_scores(Binder<ScoreMod>& scores) {
  using namespace tilewright::scores;
  scores.def("identity", &identity, "", "s");
  scores.def("times_two", &times_two, "", "2 s");
  scores.def("squared", &squared, "", "s * s");
  scores.def("causal", &causal, "", "s where kv <= q, else -inf");
  scores.def("inverse_causal", &inverse_causal, "", "s where kv >= q, else -inf");
  scores.def("relative", &relative, "", "s + (q - kv)");
  scores.def("relative_causal", &relative_causal, "", "s + (q - kv) where kv <= q, else -inf");
  scores.def("alibi", &alibi, "heads", "s + (kv - q) * 2^(-8 (h + 1) / heads)");
  scores.def("head_bias", &head_bias, "", "s + 2 h");
  scores.def("softcap", &softcap, "cap", "cap * tanh(s / cap)");
  scores.def("activation", &activation, "floor", "log(relu(s)^2 + floor)");
  scores.def("distance_decay", &distance_decay, "rate", "s - rate * |q - kv|");
  scores.def("soft_window", &soft_window, "width slope", "s - slope * max(|q - kv| - width, 0)");
  scores.def("sigmoid_window", &sigmoid_window, "width temperature",
             "s + log(sigmoid((width - |q - kv|) / temperature))");
  scores.def("then", &then, "first second", "second(first(s))");
}

void bind_table_scores(Binder<ScoreMod>& scores) {
  using namespace tilewright::scores;
  scores.def("sandwich", &sandwich, "distances offset heads",
             "s + distances[q - kv + offset] * heads / (8 (h + 1))");
  scores.def("t5_bucket", &t5_bucket, "table buckets max_distance",
             "s + table[h, buckets[clamp(kv - q, -m, m) + m]], m = max_distance");
  scores.def("swin_2d", &swin_2d, "table window",
             "s + table[h, (dy + w - 1) * (2 w - 1) + dx + w - 1], w = window");
  scores.def("relative_table", &relative_table, "table max_distance",
             "s + table[h, clamp(q - kv, -m, m) + m], m = max_distance");
  scores.def("full_bias", &full_bias, "bias", "s + bias[b, h, q, kv]");
  scores.def("pair_bias", &pair_bias, "bias", "s + bias[h, q, kv]");
  scores.def("bias_head", &bias_head, "bias", "s + bias[h]");
  scores.def("bias_query", &bias_query, "bias", "s + bias[q]");
  scores.def("bias_key", &bias_key, "bias", "s + bias[kv]");
  scores.def("bias_batch", &bias_batch, "bias", "s + bias[b]");
  scores.def("bias_batch_head", &bias_batch_head, "bias", "s + bias[b, h]");
  scores.def("scale_head_query", &scale_head_query, "weights", "s * weights[h, q]");
  scores.def("head_scale", &head_scale, "weights", "s * weights[h]");
  scores.def("head_gate", &head_gate, "gates", "s * sigmoid(gates[h])");
  scores.def("graphormer_spatial", &graphormer_spatial, "bias distances",
             "s + bias[h, distances[b, q, kv]]");
  scores.def("graphormer_edge", &graphormer_edge, "weights types",
             "s + mean over n of weights[h, n, types[b, q, kv, n]]");
  scores.def("mla_rope", &mla_rope, "query_rope key_rope group scale",
             "s + scale * dot(query_rope[b, h, q, :], key_rope[b, h // group, kv, :])");
  scores.def("position_table", &position_table, "query_table key_table",
             "s + query_table[q] * key_table[kv]");
  scores.def("rbf", &rbf, "weights centres gamma",
             "s + sum over k of weights[h, k] * exp(-((q - kv) - centres[k])^2 * gamma)");
}

}  // namespace

void bind_score_catalogue(nb::module_& module) {
  nb::module_ scores = module.def_submodule("scores");
  scores.attr("PARAMETERS") = nb::dict();
  nb::class_<CatalogueMod<ScoreMod>>(scores, "ScoreMod", nb::dynamic_attr())
      .def_prop_ro("captures", &named_captures<ScoreMod>)
      .def("__call__", [](const CatalogueMod<ScoreMod>& self, nb::handle score, Index b, Index h,
                          Index q, Index kv) {
        note_captures(self.captures);
        return wrap(self.mod(Score(operand(score).value()), b, h, q, kv));
      });
  Binder<ScoreMod> binder(scores);
  bind_plain_scores(binder);
  bind_table_scores(binder);
}

}  // namespace tilewright::python
