# twin(name, what it does wrong, the line, what stands there instead)

begin_twins(all_to_all AllToAll all-to-all)
twin(takes_the_least "takes the least id for the greatest"
  "elected = known.max();"
  "elected = known.min();")
twin(joins_in_silence "joins an election without telling its id"
  "if (theirs.election > election) take_part(out, theirs.election);"
  "if (theirs.election > election) { election = theirs.election; known = {self}; }")
twin(tells_another_id "tells the id of another"
  "Id{election, self}"
  "Id{election, peers.empty() ? self : peers.min()}")
end_twins()

begin_twins(chang_roberts ChangRoberts chang-roberts catalogue/election/setups.hpp chang_roberts_setup)
twin(swallows_all "swallows greater ids too once it takes part"
  "theirs.id < self && participant && flagged"
  "participant && flagged")
twin(lets_smaller_pass "passes a smaller id on"
  "Election{std::max(theirs.id, self)}"
  "Election{theirs.id}")
twin(keeps_the_news "does not pass the news on"
  "if (theirs.id != self) pass_on(out, theirs);"
  "")
end_twins()

begin_twins(ring_list RingList ring-list catalogue/election/setups.hpp ring_list_setup)
twin(forgets_itself "passes the list on without its own id"
  "longer.list.push_back(self);"
  ""
  "nodes=2 entries=1,0")
twin(elects_the_least "takes the least id for the greatest"
  ".leader = alive.max()"
  ".leader = alive.min()"
  "nodes=2 entries=1,0")
twin(waits_for_ever "does not start anew when the list is lost"
  "out.arm(Timer::patience, {{patience}, {patience}});"
  "(void)out;"
  "nodes=2 entries=1,0 losses=1")
twin(gives_up "does not try the next process when one is down"
  "std::visit([&](const auto& which) { pass_on(out, to, which); }, message);"
  "(void)to;"
  "nodes=2 entries=1 crashes=1 starvation=1")
end_twins()

begin_twins(proof_of_work ProofOfWork proof-of-work catalogue/election/lottery_setup.hpp lottery_setup
            SIMULATED)
twin(elects_itself "takes itself for the leader of every height"
  "confirmed[block.height] = block.id.miner;"
  "confirmed[block.height] = self; block.id.miner = self;")
twin(hurries "counts a leader as confirmed at once"
  "head.height - block.height + 1 >= confirmations"
  "head.height - block.height + 1 >= 1")
twin(keeps_its_blocks "does not tell the others of its blocks"
  "      out.broadcast(peers, block);\n      add(out, block);"
  "      add(out, block);")
end_twins()

begin_twins(scatternet Scatternet scatternet catalogue/election/scatternet.hpp scatternet_setup
            SIMULATED)
twin(drops_too_much "drops every link but the shortest"
  "length(third, somewhere, to, at) < direct"
  "length(third, somewhere, to, at) > Length{}")
twin(hasty "does not wait for its greater neighbours"
  "if (theirs == masters.end()) return;"
  "if (theirs == masters.end()) continue;")
twin(no_bridges "assigns no bridges"
  "bridges[border.ours].insert(border.theirs);"
  "bridges[border.ours];")
end_twins()

begin_twins(bully Bully bully)
twin(deaf_to_answers "announces itself although it was answered"
  "if (phase != Phase::candidate || !detector.heard(from)) return"
  "detector.heard(from);\n    return"
  "nodes=4 entries=0,1,0,0 crashes=1")
twin(does_not_answer "leaves callers without an answer"
  "out.send(from, Answer{});"
  "(void)from;"
  "nodes=4 entries=0,1,0,0 crashes=1")
twin(goes_on "goes on with its election although it has heard of the winner"
  "    stop_election(out);\n    elected = from;"
  "    elected = from;"
  "nodes=2 entries=1")
twin(keeps_its_victory "announces itself to nobody"
  "out.broadcast(lower, Coordinator{});"
  ""
  "nodes=2 entries=1 starvation=1")
twin(waits_for_ever "waits for ever once it was answered"
  "policy.deviation != Deviation::no_second_wait"
  "policy.deviation == Deviation::no_second_wait"
  "nodes=3 entries=1,0,0 crashes=2")
twin(impatient "takes silence for death too early"
  "out.arm(Timer::answer, after(policy.bounds.answer_within()));"
  "out.arm(Timer::answer, after(policy.bounds.transmission));"
  "nodes=3 entries=1,0,0")
end_twins()

begin_twins(bully_polite BullyPolite bully-polite JUDGE election::PoliteJudge)
twin(too_polite "does not run although nobody leads"
  "if (nobody_leads) return bully.start_election(out);"
  "if (nobody_leads) return;"
  "nodes=2 entries=0 crashes=1 recoveries=1")
twin(asks_once "asks nobody else if the first one is down"
  "to_ask.erase(down);\n    ask_next(out);"
  "to_ask.erase(down);"
  "nodes=2 entries=0 crashes=2 recoveries=1")
twin(keeps_what_it_heard "does not tell its client whom it was told of"
  "out.announce(Elected{*status.coordinator});"
  ""
  "nodes=2 entries=1,0 crashes=1 recoveries=1")
end_twins()

begin_twins(invitation Invitation invitation JUDGE election::GroupJudge)
twin(goes_back "joins an older group"
  "if (invitation.group <= group) return out.note(\"invited to an older group\");"
  ""
  "nodes=2 entries=1,0 crashes=1 recoveries=1 timeouts=6")
twin(writes_nothing_down "forgets its number in a crash"
  "out.persist({highest});"
  ""
  "nodes=2 entries=1 crashes=1 recoveries=1 timeouts=4")
twin(does_not_count "founds groups of the same number"
  "{highest + 1, self}"
  "{highest, self}"
  "nodes=2 entries=1 timeouts=4")
twin(joins_at_once "is in a group before its host says that there is one"
  "out.arm(Timer::ready, after({4 * wait()}));"
  "settle_down(out);"
  "nodes=2 entries=1 timeouts=4")
twin(never_ready "tells nobody that the group is ready"
  "out.broadcast(members, Ready{group});"
  ""
  "nodes=2 entries=1 timeouts=4")
end_twins()
