#include "io/json.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

namespace tilewright::io {

namespace {

using Library = nlohmann::json;

constexpr std::size_t kMaxDepth = 64;

/// A scalar as JSON text.
template <class T>
std::string scalar_text(const T& value) {
  return Library(value).dump(-1, ' ', true, Library::error_handler_t::replace);
}

/// Builds a Json from the events of the library's parser, which ends where an event returns false.
class Builder final : public nlohmann::json_sax<Library> {
 public:
  bool null() override { return place(Json()); }
  bool boolean(bool value) override { return place(value); }
  bool number_integer(std::int64_t value) override { return place(value); }
  bool number_unsigned(std::uint64_t value) override {
    constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    if (value > kMost) return place(static_cast<double>(value));
    return place(static_cast<std::int64_t>(value));
  }
  bool number_float(double value, const std::string&) override { return place(value); }
  bool string(std::string& value) override { return place(std::move(value)); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(false); }
  bool start_array(std::size_t) override { return open(true); }
  bool end_array() override { return close(); }
  bool end_object() override { return has_unique_names() && close(); }
  bool key(std::string& name) override {
    open_.back().name = std::move(name);
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;
  }

  Json take() { return std::move(root_); }

 private:
  /// An array or object that is not closed yet.
  struct Container {
    bool is_array = false;
    Json::Elements elements;
    Json::Members members;
    std::string name;  ///< of the member whose value comes next
  };

  bool place(Json value) {
    if (open_.empty()) {
      root_ = std::move(value);
    } else if (open_.back().is_array) {
      open_.back().elements.push_back(std::move(value));
    } else {
      open_.back().members.push_back({std::move(open_.back().name), std::move(value)});
    }
    return true;
  }

  bool open(bool is_array) {
    if (open_.size() == kMaxDepth) return false;
    open_.emplace_back().is_array = is_array;
    return true;
  }

  bool has_unique_names() const {
    std::vector<std::string_view> names;
    for (const Json::Member& member : open_.back().members) names.push_back(member.name);
    std::ranges::sort(names);
    return std::ranges::adjacent_find(names) == names.end();
  }

  bool close() {
    Container done = std::move(open_.back());
    open_.pop_back();
    return place(done.is_array ? Json(std::move(done.elements)) : Json(std::move(done.members)));
  }

  Json root_;
  std::vector<Container> open_;
};

void break_line(std::string& text, int indent, int depth) {
  if (indent < 0) return;
  text += '\n';
  text.append(static_cast<std::size_t>(indent) * static_cast<std::size_t>(depth), ' ');
}

}  // namespace

Json::Json(std::initializer_list<Json> list) {
  const auto is_member = [](const Json& entry) {
    const Elements* pair = std::get_if<Elements>(&entry.value_);
    return pair != nullptr && pair->size() == 2 && pair->front().is_text();
  };
  if (!std::ranges::all_of(list, is_member)) {
    value_ = Elements(list);
    return;
  }
  Members members;
  for (const Json& entry : list)
    members.push_back({entry.elements().front().text(), entry.elements().back()});
  value_ = std::move(members);
}

std::optional<Json> Json::parse(std::string_view text) {
  Builder builder;
  if (!Library::sax_parse(text.begin(), text.end(), &builder)) return std::nullopt;
  return builder.take();
}

std::string Json::dump(int indent) const {
  std::string text;
  append_to(text, indent, 0);
  return text;
}

void Json::append_to(std::string& text, int indent, int depth) const {
  const auto append_list = [&](char first, const auto& entries, char last, const auto& append) {
    text += first;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (i > 0) text += ',';
      break_line(text, indent, depth + 1);
      append(entries[i]);
    }
    if (!entries.empty()) break_line(text, indent, depth);
    text += last;
  };
  if (is_array()) {
    append_list('[', elements(), ']',
                [&](const Json& entry) { entry.append_to(text, indent, depth + 1); });
  } else if (is_object()) {
    append_list('{', members(), '}', [&](const Member& member) {
      text += scalar_text(member.name) + (indent < 0 ? ":" : ": ");
      member.value.append_to(text, indent, depth + 1);
    });
  } else if (const std::string* words = std::get_if<std::string>(&value_)) {
    text += scalar_text(*words);
  } else if (const double* number = std::get_if<double>(&value_)) {
    text += scalar_text(*number);
  } else if (const std::int64_t* whole = std::get_if<std::int64_t>(&value_)) {
    text += std::to_string(*whole);
  } else if (const bool* truth = std::get_if<bool>(&value_)) {
    text += *truth ? "true" : "false";
  } else {
    text += "null";
  }
}

Json& Json::operator[](std::string_view name) {
  if (std::holds_alternative<std::monostate>(value_)) value_ = Members();
  Members* members = std::get_if<Members>(&value_);
  if (members == nullptr) throw JsonMismatch();
  for (Member& member : *members) {
    if (member.name == name) return member.value;
  }
  return members->emplace_back(Member{std::string(name), Json()}).value;
}

void Json::push_back(Json element) {
  if (std::holds_alternative<std::monostate>(value_)) value_ = Elements();
  Elements* elements = std::get_if<Elements>(&value_);
  if (elements == nullptr) throw JsonMismatch();
  elements->push_back(std::move(element));
}

const Json* Json::find(std::string_view name) const noexcept {
  const Members* members = std::get_if<Members>(&value_);
  if (members == nullptr) return nullptr;
  const auto found = std::ranges::find(*members, name, &Member::name);
  return found == members->end() ? nullptr : &found->value;
}

const Json& Json::at(std::string_view name) const {
  const Json* found = find(name);
  if (found == nullptr) throw JsonMismatch();
  return *found;
}

double Json::number() const { return is_integer() ? static_cast<double>(integer()) : as<double>(); }

std::vector<std::int64_t> Json::integers() const {
  std::vector<std::int64_t> numbers;
  for (const Json& element : elements()) numbers.push_back(element.integer());
  return numbers;
}

}  // namespace tilewright::io
