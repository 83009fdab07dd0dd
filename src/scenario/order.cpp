// In which order requests are served, and what it costs to ask each time.
#include <fmt/format.h>

#include "scenario/scenario.hpp"

namespace conclave::scenario {
namespace {

constexpr NodeId server = {0}, p1 = {1}, p2 = {2}, p3 = {3};

// p1 asks, then writes to p2, who asks because of it. The request of p2 reaches the server first.
void ask_one_after_the_other(Directed& run) {
  run.command(p1, "Acquire");
  run.tell(p1, p2);
  run.command(p2, "Acquire");
  run.deliver(p2, server, "Request");
}

Run served_by_arrival() {
  Directed run("central-server: the server grants in the order of arrival",
               {.protocol = "central-server", .members = row("central-server").members(2)});
  ask_one_after_the_other(run);
  run.deliver(server, p2, "Grant");
  run.deliver(p1, server, "Request");
  run.command(p2, "Release");
  run.deliver(p2, server, "Release");
  run.deliver(server, p1, "Grant");
  run.command(p1, "Release");
  run.deliver_all();
  return run.finish();
}

Run served_by_vectors() {
  Directed run("central-token: requests carry vector clocks, and wait for what happened before them",
               {.protocol = "central-token", .members = row("central-token").members(2)});
  ask_one_after_the_other(run);
  run.deliver(p1, server, "Request");
  run.deliver(server, p1, "Token");
  run.command(p1, "Release");
  run.deliver(p1, server, "TokenReturn");
  run.deliver(server, p2, "Token");
  run.command(p2, "Release");
  run.deliver_all();
  return run.finish();
}

Played central_server_order() {
  Played played;
  const Run& arrival = played.runs.emplace_back(served_by_arrival());
  played.expect(arrival.entered() == std::vector{p2, p1},
                "p2 enters first, though the request of p1 happened before its own");
  played.expect(
      arrival.holds("EM1") && arrival.holds("EM2") && !arrival.holds("EM3"),
      "one at a time, everybody in the end, but not in the order of requests: only EM3 is violated");
  const Run& vectors = played.runs.emplace_back(served_by_vectors());
  played.expect(vectors.entered() == std::vector{p1, p2} && vectors.holds("EM3"),
                "with vector clocks and the same arrivals p1 enters first, and EM3 holds");
  return played;
}

Played token_ring_order() {
  Directed run("token-ring: the token has just passed p1",
               {.protocol = "token-ring", .members = NodeSet::range({1}, 3), .ring = {p1, p2, p3}});
  run.fire(p1);  // nobody wants the token there: it goes on
  run.deliver(p1, p2, "Token");
  run.command(p1, "Acquire");
  run.tell(p1, p3);
  run.command(p3, "Acquire");
  run.deliver(p2, p3, "Token");
  run.command(p3, "Release");
  run.deliver(p3, p1, "Token");
  run.command(p1, "Release");
  Played played;
  const Run& ring = played.runs.emplace_back(run.finish());
  played.expect(ring.entered() == std::vector{p3, p1},
                "p3 enters first, though the request of p1 happened before its own");
  played.expect(ring.holds("EM1") && ring.holds("EM2") && !ring.holds("EM3"), "only EM3 is violated");
  return played;
}

constexpr std::uint32_t entries = 10;

// p1 enters again and again, and nobody else wants to.
Run again_and_again(const char* protocol) {
  Directed run(fmt::format("{}: p1 enters {} times, nobody else wants to", protocol, entries),
               {.protocol = protocol, .members = NodeSet::range({1}, 5)});
  for (std::uint32_t i = 0; i < entries; ++i) {
    run.command(p1, "Acquire");
    run.deliver_all();
    run.command(p1, "Release");
  }
  Run finished = run.finish();
  finished.rows_to_draw = 27;
  return finished;
}

// p1 has left; p2 asks, and writes to p1, who asks because of it before the request of p2 is there.
Run ask_while_kept(const char* protocol) {
  Directed run(fmt::format("{}: p1 wants in again because p2 wrote to it", protocol),
               {.protocol = protocol, .members = NodeSet::range({1}, 2)});
  run.command(p1, "Acquire");
  run.deliver_all();
  run.command(p1, "Release");
  run.command(p2, "Acquire");
  run.tell(p2, p1);
  run.command(p1, "Acquire");
  for (std::uint32_t i = 0; i < 2; ++i) {
    run.deliver_all();
    for (NodeId node : {p1, p2}) {
      if (run.stage().may(node, "Release")) run.command(node, "Release");
    }
  }
  run.deliver_all();
  return run.finish();
}

Played repeated_entry() {
  Played played;
  const auto count = [&](const char* protocol, std::uint64_t messages, const char* why) {
    const Run& run = played.runs.emplace_back(again_and_again(protocol));
    played.expect(run.entered().size() == entries && run.messages() == messages,
                  fmt::format("{}: {} messages for {} entries{}", protocol, messages, entries, why));
  };
  count("ricart-agrawala", 80, ", 2(N-1) for each");
  count("carvalho-roucairol", 8, ", all of them for the first");
  count("ricart-agrawala-just-released", 8, ", all of them for the first");
  const Run& asks = played.runs.emplace_back(ask_while_kept("ricart-agrawala"));
  played.expect(asks.entered() == std::vector{p1, p2, p1} && asks.holds("EM3"),
                "who asks each time keeps EM3: p2 comes before the second entry of p1");
  for (const char* protocol : {"carvalho-roucairol", "ricart-agrawala-just-released"}) {
    const Run& kept = played.runs.emplace_back(ask_while_kept(protocol));
    played.expect(
        kept.entered() == std::vector{p1, p1, p2} && !kept.holds("EM3") && kept.holds("EM1"),
        fmt::format("the price: in {} p1 overtakes a request that happened before its own", protocol));
  }
  return played;
}

}  // namespace

std::vector<Scenario> order_scenarios() {
  return {
      {.name = "central-server-order",
       .question =
           "A central server grants a lock. Can it serve two requests against the order in which they "
           "happened?",
       .source = "Coulouris, Dollimore, Kindberg, Blair: Distributed Systems, exercises of chapter 15; the "
                 "cure: Raynal and Singhal, Computer 29(2), 1996",
       .answer = "yes: it knows the order of arrival only; vector clocks on the requests cure it",
       .explanation = "Two requests travel on two links, so even FIFO links let the later one arrive first, "
                      "and the server has nothing to tell by. With a vector clock on every message a request "
                      "says what happened before it, and the server lets it wait until that is served.",
       .play = central_server_order},
      {.name = "token-ring-order",
       .question = "Does a token ring let processes enter in the order in which they asked?",
       .source =
           "Coulouris, Dollimore, Kindberg, Blair: Distributed Systems, exercises of chapter 15; Le Lann, "
           "IFIP 1977",
       .answer = "no: the order is that of the ring",
       .explanation = "The token knows nothing of requests and comes by in the order of the ring, so whoever "
                      "asks just behind it waits for a whole lap. Everybody is served within one lap, "
                      "which is fair in another sense, but a request that happened before can come after.",
       .play = token_ring_order},
      {.name = "repeated-entry",
       .question =
           "A process enters many times before anybody else wants to. Why is Ricart-Agrawala wasteful "
           "then, and what helps?",
       .source =
           "Coulouris, Dollimore, Kindberg, Blair: Distributed Systems, exercises of chapter 15; Carvalho "
           "and Roucairol, CACM 26(2), 1983",
       .answer =
           "each entry costs 2(N-1) messages; who keeps the permission pays once: 80 messages become 8, "
           "and EM3 is lost",
       .explanation =
           "Nobody's permission can have changed as long as nobody else has asked, so asking again "
           "says nothing new: keep the permission until the other asks for it. The price is the "
           "order, for a free entry cannot know of a request that is still under way.",
       .play = repeated_entry},
  };
}

}  // namespace conclave::scenario
