# twin(name, what it does wrong, the line, what stands there instead)

begin_twins(cristian Cristian cristian catalogue/timesync/setups.hpp cristian_setup)
twin(forgets_the_way "takes the answer as if it had taken no time"
  "sample.time + estimate.ahead"
  "sample.time + 0 * estimate.ahead")
twin(whole_round_trip "adds the whole round trip"
  "sample.time + estimate.ahead"
  "sample.time + 2 * estimate.ahead")
twin(steps_back "sets a fast clock back"
  "setup.slew, setup.correction)"
  "setup.slew, Correction::jump)")
twin(takes_stale_answers "takes an answer to a request it gave up"
  "if (!asking || theirs.seq != seq)"
  "if (!asking)")
twin(ageless_bound "forgets that its clock drifts"
  "if (clock.known) return out.announce(clock.reading(setup.drift_ppb));"
  "if (clock.known) return out.announce(clock.reading(0));")
twin(asks_once "does not ask again"
  "if (samples_wanted > 0 && attempts_left > 0) return ask(out);"
  "if (samples_wanted > 0 && attempts_left > 0 && seq == 0) return ask(out);")
end_twins()

begin_twins(berkeley Berkeley berkeley catalogue/timesync/setups.hpp berkeley_setup)
twin(forgets_the_way "takes the answers as if they had taken no time"
  "theirs.time + estimate.ahead - clock.hardware"
  "theirs.time - clock.hardware")
twin(outliers_count "averages clocks however far out"
  "fault_tolerant_average(clocks, setup.gamma).mean"
  "fault_tolerant_average(clocks, INT64_MAX).mean")
twin(steps_back "sets a fast clock back"
  "setup.slew, setup.correction)"
  "setup.slew, Correction::jump)")
twin(takes_stale_answers "takes an answer to an earlier poll"
  "if (!missing.contains(from) || theirs.seq != seq) return repeat(out, from, theirs);"
  "if (!missing.contains(from)) return repeat(out, from, theirs);")
twin(corrects_from_now "counts the correction from when it arrives"
  "correct(out, answer->at, answer->time + theirs.offset, theirs.bound, from, theirs.round);"
  "correct(out, clock.hardware, answer->time + theirs.offset, theirs.bound, from, theirs.round);")
twin(waits_for_the_dead "does not replace a master who is gone"
  "out.arm(Timer::silence, {wait, wait});"
  "(void)wait; (void)out;")
end_twins()
