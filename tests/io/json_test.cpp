#include "io/json.h"

#include <gtest/gtest.h>

#include <limits>

namespace tilewright::io {
namespace {

TEST(Json, ListsOfNamedPairsAreObjectsAndOthersArrays) {
  const Json json = {{"name", "a"}, {"sizes", {1, 2}}, {"rows", {{{"x", 1}}, {{"x", 2}}}}};
  EXPECT_EQ(json.dump(-1), R"({"name":"a","sizes":[1,2],"rows":[{"x":1},{"x":2}]})");
}

TEST(Json, IndentsByLevel) {
  Json json = {{"a", {1}}, {"none", Json::array()}};
  json["b"]["c"] = true;
  EXPECT_EQ(json.dump(2),
            "{\n  \"a\": [\n    1\n  ],\n  \"none\": [],\n  \"b\": {\n    \"c\": true\n  }\n}");
}

TEST(Json, WritesNumbersSoThatTheyReadBack) {
  const std::vector<double> values{0.1, 1.0, 1e300, -2.5e-7};
  const std::optional<Json> read = Json::parse(Json(values).dump(-1));
  ASSERT_TRUE(read);
  for (std::size_t i = 0; i < values.size(); ++i)
    EXPECT_EQ(read->elements()[i].number(), values[i]);
  EXPECT_EQ(Json(std::numeric_limits<double>::infinity()).dump(-1), "null");
  EXPECT_EQ(Json(std::numeric_limits<std::int64_t>::min()).dump(-1), "-9223372036854775808");
}

TEST(Json, EscapesAndReplacesInTexts) {
  EXPECT_EQ(Json("a\"\n\xC3\xA4").dump(-1), R"("a\"\n\u00e4")");
  EXPECT_EQ(Json(std::string("\xFF")).dump(-1), R"("\ufffd")");
}

TEST(Json, KeepsMembersInOrderAndFindsThem) {
  const std::optional<Json> json = Json::parse(R"({"z": 1, "a": {"b": [true, null, -3]}})");
  ASSERT_TRUE(json && json->is_object());
  EXPECT_EQ(json->members().front().name, "z");
  EXPECT_EQ(json->at("a").at("b").elements()[2].integer(), -3);
  EXPECT_TRUE(json->at("a").at("b").elements()[0].truth());
  EXPECT_EQ(json->find("missing"), nullptr);
  EXPECT_THROW(json->at("missing"), JsonMismatch);
  EXPECT_THROW(json->at("z").text(), JsonMismatch);
  EXPECT_THROW(json->at("a").integers(), JsonMismatch);
}

TEST(Json, WholeNumbersBeyond64BitsAreNotIntegers) {
  const std::optional<Json> json = Json::parse("[9223372036854775807, 9223372036854775808]");
  ASSERT_TRUE(json);
  EXPECT_TRUE(json->elements()[0].is_integer());
  EXPECT_FALSE(json->elements()[1].is_integer());
  EXPECT_EQ(json->elements()[1].number(), 9223372036854775808.0);
}

TEST(Json, MalformedTextIsAbsent) {
  for (const char* text : {"", "{", "[1,]", "{\"a\":1}x", "nul", "\"\xFF\"", "{\"a\":1,\"a\":2}"})
    EXPECT_FALSE(Json::parse(text)) << text;
  EXPECT_TRUE(Json::parse(std::string(64, '[') + std::string(64, ']')));
  EXPECT_FALSE(Json::parse(std::string(65, '[') + std::string(65, ']')));
  EXPECT_FALSE(Json::parse(std::string(10'000'000, '[')));
}

}  // namespace
}  // namespace tilewright::io
