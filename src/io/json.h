#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace tilewright::io {

/// A field is missing, or holds another kind of value than was asked for.
struct JsonMismatch {};

/// A JSON value; members keep their order. Building: Json({{"name", "a"}, {"sizes", {1, 2}}}) - a
/// list whose entries are all pairs that begin with a text is an object, any other an array.
class Json {
 public:
  using Elements = std::vector<Json>;
  struct Member;
  using Members = std::vector<Member>;

  Json() noexcept;
  template <std::same_as<bool> T>
  Json(T truth);
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  Json(T number);
  Json(double number);
  Json(std::string text);
  Json(std::string_view text);
  Json(const char* text);
  template <class T>
    requires std::constructible_from<Json, const T&>
  Json(const std::vector<T>& list);
  Json(std::initializer_list<Json> list);
  explicit Json(Elements&& elements);
  explicit Json(Members&& members);

  static Json array();
  static Json object();

  /// Absent for malformed text: syntax, a name given twice in one object, more than 64 levels.
  static std::optional<Json> parse(std::string_view text);

  /// ASCII, bytes that are not UTF-8 replaced; `indent` spaces a level, or one line for -1.
  std::string dump(int indent) const;

  /// The member, made where there is none; a null becomes an object.
  Json& operator[](std::string_view name);
  /// A null becomes an array.
  void push_back(Json element);

  bool is_object() const noexcept { return std::holds_alternative<Members>(value_); }
  bool is_array() const noexcept { return std::holds_alternative<Elements>(value_); }
  bool is_text() const noexcept { return std::holds_alternative<std::string>(value_); }
  /// A whole number that fits in 64 bits.
  bool is_integer() const noexcept { return std::holds_alternative<std::int64_t>(value_); }

  /// Null where this is no object or has no such member.
  const Json* find(std::string_view name) const noexcept;

  // These throw JsonMismatch.
  const Json& at(std::string_view name) const;
  const Elements& elements() const { return as<Elements>(); }
  const Members& members() const { return as<Members>(); }
  const std::string& text() const { return as<std::string>(); }
  std::int64_t integer() const { return as<std::int64_t>(); }
  bool truth() const { return as<bool>(); }
  double number() const;
  std::vector<std::int64_t> integers() const;

 private:
  using Value =
      std::variant<std::monostate, bool, std::int64_t, double, std::string, Elements, Members>;

  template <class T>
  const T& as() const {
    const T* held = std::get_if<T>(&value_);
    if (held == nullptr) throw JsonMismatch();
    return *held;
  }

  void append_to(std::string& text, int indent, int depth) const;

  Value value_;
};

struct Json::Member {
  std::string name;
  Json value;
};

// Constructors may destroy what they hold, which takes the whole of Member.
inline Json::Json() noexcept = default;
template <std::same_as<bool> T>
Json::Json(T truth) : value_(truth) {}
template <std::integral T>
  requires(!std::same_as<T, bool>)
Json::Json(T number) : value_(static_cast<std::int64_t>(number)) {}
inline Json::Json(double number) : value_(number) {}
inline Json::Json(std::string text) : value_(std::move(text)) {}
inline Json::Json(std::string_view text) : value_(std::string(text)) {}
inline Json::Json(const char* text) : value_(std::string(text)) {}
template <class T>
  requires std::constructible_from<Json, const T&>
Json::Json(const std::vector<T>& list) : value_(Elements(list.begin(), list.end())) {}
inline Json::Json(Elements&& elements) : value_(std::move(elements)) {}
inline Json::Json(Members&& members) : value_(std::move(members)) {}

inline Json Json::array() { return Json(Elements()); }
inline Json Json::object() { return Json(Members()); }

}  // namespace tilewright::io
