# twin(name, what it does wrong, the line, what stands there instead)

begin_twins(central_server CentralServer central-server)
twin(impatient "grants to a second one when there is a queue"
  "if (!holder) return grant(out, from);"
  "if (!holder || !queue.empty()) return grant(out, from);")
twin(forgetful "takes the next one off the queue and tells it nothing"
  "    grant(out, next);"
  "    holder = next;")
twin(fence_stands_still "gives every entry the same fence"
  "++last_fence.value;" "")
end_twins()

begin_twins(central_token CentralToken central-token)
twin(arrival_order "serves in the order of arrival"
  "return node == request.node ? served[node] + 1 == count : served[node] >= count;"
  "return served[node] <= count;")
twin(copies_token "keeps the token it has handed out"
  "    token.reset();" "")
twin(does_not_count "does not count whom it has served"
  "    served.tick(from);" "    (void)from;")
twin(deaf_to_application "ignores the vector of application messages"
  "void on_hear(const AppStamp& stamp) { known.merge(stamp); }"
  "void on_hear(const AppStamp&) {}")
end_twins()

begin_twins(token_ring TokenRing token-ring)
twin(copies_token "keeps the token it has passed on"
  "out.send(successor, Token{*token, generation, quiet});\n    token.reset();"
  "out.send(successor, Token{*token, generation, quiet});")
twin(never_keeps "passes the token on although it wants to enter"
  "goes_on = !wanting && successor != self;"
  "goes_on = successor != self;")
twin(loses_token "drops the token on leaving"
  "ensure(inside(), \"only the holder releases\");"
  "ensure(inside(), \"only the holder releases\"); wanting = false; token.reset(); return;")
twin(fence_stands_still "gives every entry the same fence"
  "++token->value;" "")
end_twins()

begin_twins(lamport Lamport lamport)
twin(no_tie_break "takes its request for the first one when stamps are equal"
  "queue.front() != *request"
  "queue.front().counter != request->counter")
twin(does_not_wait "enters before everybody has acknowledged"
  "!unacknowledged.empty() || "
  "")
twin(deaf_clock "does not raise its clock to the others'"
  "clock = std::max(clock, counter) + 1;"
  "clock = clock + 1 + 0 * counter;")
twin(silent_exit "leaves without telling anybody"
  "out.broadcast(peers, Release{++clock});"
  "++clock; (void)out;")
end_twins()

begin_twins(ricart_agrawala RicartAgrawala ricart-agrawala)
twin(no_tie_break "replies when stamps are equal"
  "*request < Stamp{theirs.counter, from};"
  "request->counter < theirs.counter;")
twin(forgets_deferred "leaves without the replies it owes"
  "    request.reset();\n    out.broadcast(deferred, Reply{clock});"
  "    request.reset();\n    (void)out;")
twin(replies_from_inside "replies although it is inside"
  "if (we_go_first) {"
  "if (we_go_first && !inside()) {")
twin(deaf_clock "does not raise its clock to the others'"
  "clock = std::max(clock, counter) + 1;"
  "clock = clock + 1;")
end_twins()

begin_twins(ricart_agrawala_just_released RicartAgrawalaJustReleased ricart-agrawala-just-released)
twin(keeps_what_it_gave "believes it still has permission after replying"
  "    just_released = false;\n    // Inside"
  "    // Inside")
twin(always_just_released "keeps permission although it owes replies"
  "just_released = deferred.empty();"
  "just_released = true;")
twin(by_stamp_alone "replies to an older stamp although it is inside"
  "if (inside() || (request"
  "if ((request")
twin(fence_stands_still "gives every entry the same fence"
  "++highest.value;" "")
end_twins()

begin_twins(carvalho_roucairol CarvalhoRoucairol carvalho-roucairol)
twin(does_not_ask_again "gives a permission away and does not ask for it back"
  "if (we_had_theirs && request) out.send(from, Request{request->counter});"
  "(void)we_had_theirs;"
  "nodes=3 entries=1,1,2")
twin(keeps_what_it_gave "believes it still has a permission that it gave"
  "missing.insert(peer);" "")
twin(no_tie_break "defers when stamps are equal"
  "*request < Stamp{theirs.counter, from}"
  "request->counter <= theirs.counter")
end_twins()

begin_twins(maekawa Maekawa maekawa)
twin(votes_twice "votes although its vote is lent"
  "if (voted_for || inside()) {"
  "if (inside()) {")
twin(one_vote_short "enters with one vote missing"
  "    awaiting = voters;"
  "    awaiting = voters; if (voters.size() > 1) awaiting.erase(voters.max());")
twin(voters_forget "voters do not remember the highest fence"
  "highest = std::max(highest, theirs.fence);"
  "(void)theirs;")
end_twins()

begin_twins(maekawa_deadlock_free MaekawaDeadlockFree maekawa-deadlock-free)
twin(never_inquires "never asks for a vote back"
  "if (stamp < *voted_for && first_in_queue && !inquired) {"
  "if (stamp < *voted_for && first_in_queue && !inquired && clock == 0) {")
twin(yields_from_inside "gives a vote back although it is inside"
  "if (inside()) return out.note(\"inquiry too late: the release will answer it\");"
  "")
twin(votes_twice "votes for the next one while its vote is lent"
  "if (!voted_for) return vote_for_first(out);"
  "if (!voted_for || queue.size() > 1) return vote_for_first(out);")
end_twins()

begin_twins(bakery_messages BakeryMessages bakery-messages)
twin(no_choosing "answers while it is choosing"
  "if (choosing) {"
  "if (choosing && number > 0) {")
twin(no_tie_break "lets an equal ticket pass"
  "ticket() < *theirs.ticket"
  "number < theirs.ticket->counter")
twin(always_one "draws the same number every time"
  "number = greatest + 1;"
  "number = 1;")
twin(forgets_who_waits "leaves without answering those who wait"
  "answer_all(out, until_left);"
  "until_left.clear(); (void)out;")
end_twins()
