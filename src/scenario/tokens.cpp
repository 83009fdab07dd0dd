// Too few tokens, and too many.
#include "scenario/scenario.hpp"

namespace conclave::scenario {
namespace {

constexpr NodeId p1 = {1}, p2 = {2}, p3 = {3};
using What = sim::Action::What;

catalogue::Setting ring() {
  return {.protocol = "token-ring", .members = NodeSet::range({1}, 3), .ring = {p1, p2, p3}};
}

sim::Options calm(sim::Script script) {
  sim::Options options = timed(NodeSet::range({1}, 3), 10, std::move(script));
  options.until = {100};  // an idle ring never rests
  return options;
}

void lose_with_holder(Directed& run) {
  run.command(p1, "Acquire");
  run.crash(p1);
  run.command(p2, "Acquire");
}

Played lost_token() {
  Played played;
  const Run& link =
      played.runs.emplace_back(simulated("token-ring: the link loses the token",
                                         calm({{.what = What::wish, .at = {5}, .node = p3, .amount = 5},
                                               {.what = What::lose, .node = p1, .nth = 1}}),
                                         ring()));
  played.expect(link.entered().empty() && !link.holds("EM2"), "p3 waits for a token that is gone");
  Directed down("token-ring: the holder crashes inside", ring());
  lose_with_holder(down);
  down.deliver_all();
  const bool silent = down.stage().in_flight().empty();
  const Run& crash = played.runs.emplace_back(down.finish());
  played.expect(silent && !crash.holds("EM2"), "the token dies with its holder, and p2 waits for ever");
  Directed again("token-ring: the same, but somebody makes a new token", ring());
  lose_with_holder(again);
  again.inject(p1, p2, "Token");
  again.deliver(p1, p2, "Token");
  const Run& renewed = played.runs.emplace_back(again.finish());
  played.expect(renewed.entered() == std::vector{p1, p2} && renewed.holds("EM1"),
                "a new token lets p2 in, and rightly so: the old one is gone for good");
  return played;
}

Played two_tokens() {
  Played played;
  // The copy of the token that p1 sent comes when p3 is inside with the other.
  const Run& copied = played.runs.emplace_back(
      simulated("token-ring: a link delivers the token twice",
                calm({{.what = What::wish, .at = {5}, .node = p3, .amount = 30},
                      {.what = What::wish, .at = {25}, .node = p2, .amount = 20},
                      {.what = What::duplicate, .node = p1, .amount = 30, .nth = 1}}),
                ring()));
  played.expect(copied.entered().size() >= 2 && !copied.holds("EM1"), "p2 and p3 are inside together");
  Directed rash("token-ring: p1 is only slow, but somebody takes its token for lost", ring());
  rash.command(p1, "Acquire");
  rash.command(p2, "Acquire");
  rash.inject(p3, p2, "Token");
  rash.deliver(p3, p2, "Token");
  const Run& doubled = played.runs.emplace_back(rash.finish());
  played.expect(doubled.entered() == std::vector{p1, p2} && !doubled.holds("EM1"),
                "p1 and p2 are inside together, each with a token");
  return played;
}

}  // namespace

std::vector<Scenario> token_scenarios() {
  return {
      {.name = "lost-token",
       .question = "What becomes of a token ring when the token is lost, on a link or with its holder?",
       .source = "Le Lann, IFIP 1977",
       .answer = "nobody enters any more until somebody makes a new token; who, has to be elected",
       .explanation = "Nobody can tell a token that is lost from one that is held for long, so the ring by "
                      "itself waits for ever. Somebody must be elected to make a new one and mend the ring; "
                      "that needs a bound on time, or a detector of crashes.",
       .play = lost_token},
      {.name = "two-tokens",
       .question =
           "And when there are two tokens, because a link repeats one or a token was wrongly taken for "
           "lost?",
       .source = "Le Lann, IFIP 1977",
       .answer = "two processes are inside together; new tokens need a generation, and old ones are dropped",
       .explanation =
           "The token is the permission, so two tokens are two permissions and EM1 is gone. A token "
           "that is made anew carries a greater generation, and whoever has seen that drops the "
           "older one; what was done with the older one before needs a fence at the resource.",
       .play = two_tokens},
  };
}

}  // namespace conclave::scenario
