# Twins of the consensus family.

begin_twins(sync_flooding SyncFlooding sync-flooding "catalogue/consensus/setups.hpp" sync_flooding_setup)
twin(deaf "takes no notice of what it is told"
  "box.put(theirs.values);"
  "(void)theirs;")
twin(impatient "decides one value too early"
  "const bool everything_known = box.known.size() == everybody;"
  "const bool everything_known = box.known.size() + 1 >= everybody; if (everything_known) return decide(out);")
twin(own_default "breaks ties in its own favour"
  "most_voted(box.known, default_value)"
  "most_voted(box.known, box.known.at(self))"
  "nodes=2 entries=1 seeds=20")
twin(forgets_to_relay "passes on nothing but its own value"
  "(relay || own_value)"
  "own_value")
end_twins()

begin_twins(sync_crash_tolerant SyncCrashTolerant sync-crash-tolerant "catalogue/consensus/setups.hpp" sync_crash_tolerant_setup)
twin(one_round_less "decides a round too early"
  "if (round > rounds) return decide(out);"
  "if (round >= rounds) return decide(out);")
twin(no_relay "sends only its own value"
  "if (!fresh.empty()) out.broadcast"
  "if (fresh.contains(self)) out.broadcast")
twin(own_default "breaks ties in its own favour"
  "most_voted(box.known, default_value)"
  "most_voted(box.known, box.known.at(self))"
  "nodes=2 entries=1 seeds=20")
twin(waits_for_all "decides only when it has heard of everybody"
  "if (round > rounds) return decide(out);"
  "if (round > rounds && box.known.size() <= neighbours.size()) return;\n    if (round > rounds) return decide(out);")
end_twins()

begin_twins(byzantine_signed ByzantineSigned byzantine-signed "catalogue/consensus/setups.hpp" byzantine_signed_setup
            PREPARE name_traitors)
twin(trusting "does not verify signatures"
  "return !in_writing || order.authentic(keys);"
  "return true;"
  "nodes=3 entries=1 set:traitors=2 set:strategy=forge")
twin(takes_late_orders "accepts an order with too few signatures"
  "if (order.chain.size() < round) return false;"
  ""
  "nodes=3 entries=1 set:f=1 set:strategy=erratic seeds=100")
twin(one_round_less "decides a round too early"
  "if (round > rounds) return decide(out);"
  "if (round >= rounds) return decide(out);"
  "nodes=4 entries=1 seeds=100")
twin(keeps_it_secret "passes nothing on"
  "    passing_on.push_back(signed_by_me(order));"
  ""
  "nodes=3 entries=1 seeds=100")
twin(first_order_wins "decides the first of two orders"
  "seen.size() == 1 ? seen.front() : default_value"
  "seen.empty() ? default_value : seen.front()"
  "nodes=3 entries=1 seeds=100")
end_twins()

begin_twins(byzantine_oral ByzantineOral byzantine-oral "catalogue/consensus/setups.hpp" byzantine_oral_setup
            SIMULATED)
twin(believes_the_source "takes the source's word for it"
  "own ? *own : believed({source})"
  "own ? *own : told.contains({source}) ? told.at({source}) : default_value")
twin(one_round_less "decides a round too early"
  "if (path.size() == rounds) return direct;"
  "if (path.size() + 1 >= rounds) return direct;")
twin(no_majority "believes whatever one of them says"
  "if (2 * count > voters) return value;"
  "if (count > 0) return value;")
end_twins()

begin_twins(paxos Paxos paxos)
twin(ignores_votes "proposes its own value whatever others have voted for"
  "attempt->proposed = attempt->highest ? attempt->highest->value : *proposal;"
  "attempt->proposed = *proposal;"
  "nodes=3 entries=1,1,0")
twin(forgets_its_promise "promises and votes below it all the same"
  "if (theirs.ballot > promised) promise(out, theirs.ballot);"
  ""
  "nodes=3 entries=1,1,0")
twin(keeps_nothing "promises and votes are gone after a crash"
  "out.persist({promised, vote, decided});"
  "out.persist({});"
  "nodes=3 entries=1,1,0 crashes=1 recoveries=1")
twin(half_is_enough "takes half of the processes for a majority"
  "2 * nodes.size() > peers.size() + 1"
  "2 * nodes.size() >= peers.size() + 1"
  "nodes=2 entries=1")
end_twins()
