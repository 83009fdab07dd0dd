#include "core/walk.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "core/describe.hpp"
#include "core/fingerprint.hpp"
#include "core/ticks.hpp"
#include "core/vector_clock.hpp"
#include "protocols/mutex/ricart_agrawala.hpp"

namespace conclave {

// Not in an unnamed namespace: these types are looked at by their names.
namespace walk_test {

enum class Colour { red, green, dark_blue };
struct Circle {
  std::uint32_t radius = 0;
  bool operator==(const Circle&) const = default;
};
struct Dot {
  bool operator==(const Dot&) const = default;
};
struct Everything {
  std::int32_t number = 0;
  bool flag = false;
  Colour colour = Colour::red;
  std::string text = {};
  NodeId node = {};
  NodeSet nodes = {};
  std::optional<std::uint64_t> maybe = {};
  std::variant<Dot, Circle> shape = {};
  std::vector<Circle> circles = {};
  std::map<NodeId, std::string> named = {};
  VectorClock clock = {};
  bool operator==(const Everything&) const = default;
};
template <class T>
struct Box {
  T content = {};
};

Everything sample() {
  return {.number = -7,
          .flag = true,
          .colour = Colour::dark_blue,
          .text = "a \"quoted\"\n\\",
          .node = {3},
          .nodes = {{1}, {2}, {5}},
          .maybe = 9,
          .shape = Circle{4},
          .circles = {{1}, {2}},
          .named = {{NodeId{1}, "one"}, {NodeId{10}, "ten"}},
          .clock = {{{NodeId{2}, 8}}}};
}

TEST(Names, OfTypesAreTheirLastPart) {
  EXPECT_EQ(type_name<mutex::RicartAgrawala::Request>, "Request");
  EXPECT_EQ(type_name<Box<std::vector<int>>>, "Box");
  EXPECT_EQ(type_name<int>, "int");
}

TEST(Names, OfFieldsAreAsWritten) {
  EXPECT_EQ(field_names<TickRange>[0], "min");
  EXPECT_EQ(field_names<TickRange>[1], "max");
  EXPECT_EQ(field_names<Everything>.size(), 11u);
  EXPECT_EQ(field_names<Everything>[6], "maybe");
  EXPECT_EQ(field_names<mutex::RicartAgrawala>[3], "greatest_id");
  EXPECT_EQ(field_names<Box<Circle>>[0], "content");
}

TEST(Names, OfEnumeratorsAreEmptyWhereThereIsNone) {
  EXPECT_EQ(enumerator_name(Colour::dark_blue), "dark_blue");
  EXPECT_EQ(enumerator_name(static_cast<Colour>(3)), "");
  EXPECT_EQ(enumerator_name(static_cast<Colour>(31)), "");
  EXPECT_EQ(enumerator_name(static_cast<Colour>(32)), "");
  EXPECT_EQ(enumerator_name(static_cast<Colour>(-1)), "");
}

TEST(Fingerprint, IsEqualForEqualValues) {
  EXPECT_EQ(fingerprint(sample()), fingerprint(sample()));
  NodeSet a = {{1}, {2}, {3}, {9}};
  NodeSet b = NodeSet::range({1}, 9);
  for (std::uint32_t id = 4; id < 9; ++id) b.erase({id});
  EXPECT_EQ(fingerprint(a), fingerprint(b));
}

TEST(Fingerprint, DiffersForEachChangeOfOneField) {
  const std::vector<std::function<void(Everything&)>> changes = {
      [](Everything&) {},
      [](Everything& e) { e.number = -8; },
      [](Everything& e) { e.number = 7; },
      [](Everything& e) { e.flag = false; },
      [](Everything& e) { e.colour = Colour::green; },
      [](Everything& e) { e.text.pop_back(); },
      [](Everything& e) { e.text.clear(); },
      [](Everything& e) { e.node = {4}; },
      [](Everything& e) { e.nodes.insert({3}); },
      [](Everything& e) { e.nodes.clear(); },
      [](Everything& e) { e.maybe = 0; },
      [](Everything& e) { e.maybe.reset(); },
      [](Everything& e) { e.shape = Circle{5}; },
      [](Everything& e) { e.shape = Dot{}; },
      [](Everything& e) { std::swap(e.circles[0], e.circles[1]); },
      [](Everything& e) { e.circles.pop_back(); },
      [](Everything& e) { e.named.erase({1}); },
      [](Everything& e) { e.named[{1}] = "One"; },
      [](Everything& e) { e.clock.tick({2}); },
      [](Everything& e) { e.clock.tick({1}); },
  };
  std::vector<Fingerprint> seen;
  for (const auto& change : changes) {
    Everything changed = sample();
    change(changed);
    seen.push_back(fingerprint(changed));
    EXPECT_NE(seen.back().high, 0u);
    EXPECT_NE(seen.back().low, 0u);
  }
  std::ranges::sort(seen);
  EXPECT_EQ(std::ranges::adjacent_find(seen), seen.end());
  // Each half tells them apart by itself, too.
  std::ranges::sort(seen, {}, &Fingerprint::low);
  EXPECT_EQ(std::ranges::adjacent_find(seen, {}, &Fingerprint::low), seen.end());
}

TEST(Fingerprint, TellsWhereOnePartEndsAndTheNextBegins) {
  using Texts = std::vector<std::string>;
  EXPECT_NE(fingerprint(Texts{"ab", "c"}), fingerprint(Texts{"a", "bc"}));
  EXPECT_NE(fingerprint(Texts{"", ""}), fingerprint(Texts{""}));
}

TEST(Fingerprint, IsTheSameInEveryBuild) {
  const Fingerprint pinned = fingerprint(NodeSet::range({1}, 3));
  EXPECT_EQ(pinned, (Fingerprint{0x6f35f1deea2db048, 0xe3c81a584e235a2b}));
}

TEST(Describe, PrintsFieldsByTheirNames) {
  EXPECT_EQ(describe_json(sample()),
            R"({"number":-7,"flag":true,"colour":"dark_blue","text":"a \"quoted\"\u000a\\","node":3,)"
            R"("nodes":[1,2,5],"maybe":9,"shape":{"type":"Circle","radius":4},)"
            R"("circles":[{"radius":1},{"radius":2}],"named":{"1":"one","10":"ten"},"clock":{"2":8}})");
}

TEST(Describe, PrintsEmptyThings) {
  EXPECT_EQ(describe_json(Everything{}),
            R"({"number":0,"flag":false,"colour":"red","text":"","node":0,"nodes":[],"maybe":null,)"
            R"("shape":{"type":"Dot"},"circles":[],"named":{},"clock":{}})");
}

TEST(Describe, PrintsOnlyTheFieldsThatChanged) {
  EXPECT_EQ(describe_change(sample(), sample()), "{}");
  Everything changed = sample();
  changed.maybe.reset();
  changed.circles = {{3}};
  EXPECT_EQ(describe_change(sample(), changed), R"({"maybe":null,"circles":[{"radius":3}]})");
}

}  // namespace walk_test
}  // namespace conclave
