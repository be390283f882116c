#include <string>
#include <utility>

#include "author/access.h"
#include "tilewright/author.h"
#include "tilewright/error.h"

namespace tilewright {

namespace {

void require_same_size(const Vector& a, const Vector& b) {
  if (a.size() == b.size()) return;
  throw Error({.code = ErrorCode::kTrace,
               .what = "two vectors have different lengths",
               .where = {},
               .expected = std::to_string(a.size()),
               .got = std::to_string(b.size()),
               .hint = "take both from axes of the same extent"});
}

void require_not_empty(const Vector& a, const char* what) {
  if (a.size() != 0) return;
  throw Error({.code = ErrorCode::kTrace,
               .what = std::string(what) + " of an empty vector",
               .where = {},
               .expected = "at least one entry",
               .got = "0",
               .hint = {}});
}

Vector zip(std::string_view fn, const Vector& a, const Vector& b) {
  require_same_size(a, b);
  std::vector<Value> entries;
  for (std::size_t i = 0; i < a.size(); ++i) entries.push_back(author::call(fn, {a[i], b[i]}));
  return Vector(std::move(entries));
}

Vector each(std::string_view fn, const Vector& a, const Value& b) {
  std::vector<Value> entries;
  for (const Value& entry : a.entries()) entries.push_back(author::call(fn, {entry, b}));
  return Vector(std::move(entries));
}

Value fold(std::string_view fn, const Vector& a) {
  Value total = a[0];
  for (std::size_t i = 1; i < a.size(); ++i) total = author::call(fn, {total, a[i]});
  return total;
}

}  // namespace

Vector::Vector(std::vector<Value> entries) : entries_(std::move(entries)) {}

const Value& Vector::operator[](std::size_t i) const {
  if (i < entries_.size()) return entries_[i];
  throw Error({.code = ErrorCode::kTrace,
               .what = "a vector is read past its end",
               .where = {},
               .expected = "an entry below " + std::to_string(entries_.size()),
               .got = std::to_string(i),
               .hint = {}});
}

Vector operator+(const Vector& a, const Vector& b) { return zip("add", a, b); }
Vector operator-(const Vector& a, const Vector& b) { return zip("sub", a, b); }
Vector operator*(const Vector& a, const Vector& b) { return zip("mul", a, b); }
Vector operator/(const Vector& a, const Vector& b) { return zip("true_div", a, b); }
Vector operator*(const Vector& a, const Value& b) { return each("mul", a, b); }
Vector operator+(const Vector& a, const Value& b) { return each("add", a, b); }

Value sum(const Vector& a) { return a.size() == 0 ? Value(0) : fold("add", a); }

Value dot(const Vector& a, const Vector& b) { return sum(a * b); }

Value mean(const Vector& a) {
  require_not_empty(a, "mean");
  return true_div(fold("add", a), Value(static_cast<std::int64_t>(a.size())));
}

Value max(const Vector& a) {
  require_not_empty(a, "max");
  return fold("max", a);
}

}  // namespace tilewright
