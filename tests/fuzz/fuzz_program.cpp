#include "fuzz/fuzz_program.h"

#include <limits>

namespace tilewright::cases {

namespace {

constexpr std::int64_t kTableRows = 13;
constexpr std::int64_t kTableColumns = 7;

/// The symbols of one run of a mod.
struct Symbols {
  const Value* score = nullptr;  ///< null in a mask
  Value b, h, q, kv;
};

class Maker {
 public:
  Maker(const FuzzCase& problem, FuzzProgram& made) : problem_(problem), made_(made) {
    Random random(problem.program_seed() + 77);
    integers_ = table("ints", random.chance(0.5) ? DType::kI32 : DType::kI16);
    truths_ = table("truths", random.chance(0.5) ? DType::kBool : DType::kU8);
    constexpr DType kFloats[] = {DType::kF32, DType::kF16, DType::kBF16};
    reals_ = table("reals", kFloats[random.between(0, 2)]);
  }

  Program make() {
    const bool has_mask = Random(problem_.program_seed() + 78).chance(0.8) && !cut("m");
    const bool has_score = Random(problem_.program_seed() + 79).chance(0.8) && !cut("s");
    ScoreMod score_mod;
    MaskMod mask_mod;
    if (has_mask)
      mask_mod = [this](Index b, Index h, Index q, Index kv) {
        return truth({nullptr, b, h, q, kv}, "m", 4);
      };
    if (has_score)
      score_mod = [this](Score s, Index b, Index h, Index q, Index kv) {
        return root_score({&s, b, h, q, kv});
      };
    return trace_mods(score_mod, mask_mod);
  }

 private:
  const Capture* table(const std::string& name, DType dtype) {
    Random random(problem_.seed ^ seed_of(name));
    made_.tables.push_back(std::make_unique<Tensor>(dtype, Dims{kTableRows, kTableColumns}));
    Tensor& tensor = *made_.tables.back();
    if (dtype == DType::kBool || dtype == DType::kU8)
      tensor.fill_between(random, 0, 1);
    else if (is_floating(dtype))
      tensor.fill_normal(random, 0.5);
    else
      tensor.fill_between(random, -5, 60);
    captures_.push_back(std::make_unique<Capture>(name, tensor.view()));
    return captures_.back().get();
  }

  bool cut(const std::string& path) const { return problem_.pruned.contains(path); }

  /// Enters an inner node, unless it is to be a leaf.
  bool enter(const std::string& path, int depth) {
    if (depth == 0 || cut(path)) return false;
    made_.paths.insert(path);
    return true;
  }

  Random generator(const std::string& path) const {
    return Random(problem_.program_seed() ^ seed_of(path));
  }

  Value position(const Symbols& at, Random& random) const {
    const std::int64_t which = random.between(0, 9);
    return which < 4 ? at.q : which < 8 ? at.kv : which == 8 ? at.b : at.h;
  }

  Value integer_leaf(const Symbols& at, Random& random) const {
    return random.chance(0.75) ? position(at, random) : Value(random.between(-9, 90));
  }

  Value integer(const Symbols& at, const std::string& path, int depth) {
    Random random = generator(path);
    if (!enter(path, depth) || random.chance(0.15)) return integer_leaf(at, random);
    const auto child = [&](int i) {
      return integer(at, path + "." + std::to_string(i), depth - 1);
    };
    const std::int64_t divisor = random.between(1, 40) * (random.chance(0.15) ? -1 : 1);
    switch (random.between(0, 15)) {
      case 0:
        return child(0) + child(1);
      case 1:
        return child(0) - child(1);
      case 2:
        return child(0) * random.between(-3, 3);
      case 3:
        return floor_div(child(0), divisor);
      case 4:
        return floor_mod(child(0), divisor);
      case 5:
        return child(0) / divisor;
      case 6:
        return child(0) % divisor;
      case 7:
        return min(child(0), child(1));
      case 8:
        return max(child(0), child(1));
      case 9:
        return abs(child(0));
      case 10:
        return select(truth(at, path + ".c", depth - 1), child(0), child(1));
      case 11:
        return child(0) ^ child(1);
      case 12:
        return random.chance(0.5) ? child(0) >> random.between(0, 5)
                                  : child(0) << random.between(0, 5);
      case 13:
        return (*integers_)[floor_mod(child(0), kTableRows)][floor_mod(child(1), kTableColumns)];
      case 14:
        return guarded_entry(child(0), random);
      default:
        return clamp(child(0), random.between(-5, 20), random.between(21, 200));
    }
  }

  /// A subscript that a branch keeps in range.
  Value guarded_entry(const Value& index, Random& random) const {
    const std::int64_t otherwise = random.between(0, 30);
    if (index >= 0 && index < kTableRows) return (*integers_)[index][2];
    return otherwise;
  }

  Value truth_leaf(const Symbols& at, Random& random) const {
    return random.chance(0.5) ? Value(at.q >= at.kv)
                              : Value(position(at, random) < random.between(0, 120));
  }

  Value truth(const Symbols& at, const std::string& path, int depth) {
    Random random = generator(path);
    if (!enter(path, depth)) return truth_leaf(at, random);
    const auto child = [&](int i) { return truth(at, path + "." + std::to_string(i), depth - 1); };
    const auto number = [&](int i) {
      return integer(at, path + ".i" + std::to_string(i), depth - 1);
    };
    switch (random.between(0, 11)) {
      case 0:
        return child(0) & child(1);
      case 1:
        return child(0) | child(1);
      case 2:
        return child(0) ^ child(1);
      case 3:
        return ~child(0);
      case 4:
        return number(0) < number(1);
      case 5:
        return number(0) <= number(1);
      case 6:
        return number(0) == number(1);
      case 7:
        return number(0) != number(1);
      case 8:
        return (number(0) >= number(1)) & (number(0) - number(1) < random.between(1, 60));
      case 9:
        return Value((*truths_)[floor_mod(number(0), kTableRows)]
                               [floor_mod(number(1), kTableColumns)]) != 0;
      case 10:
        return branch(child(0), child(1));
      default:
        return truth_leaf(at, random);
    }
  }

  static Value branch(const Value& first, const Value& second) {
    if (first) return Value(true);
    return second;
  }

  Value real_leaf(const Symbols& at, Random& random) const {
    if (random.chance(0.7)) return *at.score;
    if (random.chance(0.5)) return Value(0.01 * static_cast<double>(random.between(-150, 150)));
    return (*reals_)[floor_mod(at.q, kTableRows)][floor_mod(at.kv, kTableColumns)];
  }

  Value real(const Symbols& at, const std::string& path, int depth) {
    Random random = generator(path);
    if (!enter(path, depth) || random.chance(0.1)) return real_leaf(at, random);
    const auto child = [&](int i) { return real(at, path + "." + std::to_string(i), depth - 1); };
    const std::int64_t which = random.between(0, 25);
    if (which >= 12) return smooth(child(0), which - 12);
    switch (which) {
      case 0:
        return child(0) + child(1);
      case 1:
        return child(0) - child(1);
      case 2:
        return child(0) * tanh(child(1));
      case 3:
        return min(child(0), child(1));
      case 4:
        return max(child(0), child(1));
      case 5:
        return clamp(child(0), -1.25, 1.5);
      case 6:
        return select(truth(at, path + ".c", depth - 1), child(0), child(1));
      case 7:
        return child(0) + 0.02 * floor_mod(integer(at, path + ".i", depth - 1), 50);
      case 8:
        return child(0) + (*reals_)[floor_mod(integer(at, path + ".i", depth - 1), kTableRows)]
                                   [floor_mod(integer(at, path + ".j", depth - 1), kTableColumns)];
      case 9:
        return child(0) * 0.37;
      case 10:
        return -child(0);
      default:
        return child(0) / (1 + abs(child(1)));
    }
  }

  static Value smooth(const Value& x, std::int64_t which) {
    switch (which) {
      case 0:
        return tanh(x);
      case 1:
        return sigmoid(x);
      case 2:
        return sin(x);
      case 3:
        return cos(x);
      case 4:
        return exp(-abs(x));
      case 5:
        return log1p(abs(x));
      case 6:
        return sqrt(x * x + 1);
      case 7:
        return gelu(x);
      case 8:
        return softplus(x);
      case 9:
        return erf(x);
      case 10:
        return atan(x);
      case 11:
        return silu(x);
      case 12:
        return relu(x);
      default:
        return rsqrt(1 + x * x);
    }
  }

  Value root_score(const Symbols& at) {
    Random random(problem_.program_seed() + 80);
    const Value value = real(at, "s", 4);
    if (!random.chance(0.2)) return value;
    return select(truth(at, "s.dead", 2), Value(-std::numeric_limits<double>::infinity()), value);
  }

  const FuzzCase& problem_;
  FuzzProgram& made_;
  std::vector<std::unique_ptr<Capture>> captures_;
  const Capture* integers_ = nullptr;
  const Capture* truths_ = nullptr;
  const Capture* reals_ = nullptr;
};

}  // namespace

FuzzProgram fuzz_program(const FuzzCase& problem) {
  FuzzProgram made;
  made.program = Maker(problem, made).make();
  return made;
}

}  // namespace tilewright::cases
