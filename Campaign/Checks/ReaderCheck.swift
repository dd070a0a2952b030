import Events
import Kafka
import Model

/// Holds what the readers saw against the log: each answer must be what the model says after some
/// prefix of the one partition that it follows from, and never an earlier one than the answer before.
struct ReaderCheck {
  let log: LogContents
  let prefix: String

  func findings(_ answers: [String: [Readers.Answer]]) -> [Finding] {
    Probe.all.compactMap { probe in check(probe, answers[probe.name] ?? []) }
  }

  private func check(_ probe: Probe, _ answers: [Readers.Answer]) -> Finding? {
    let states = states(of: probe)
    var reached = 0
    for (number, answer) in answers.enumerated() {
      // The earliest state that is no step back leaves the most to those that follow.
      if let next = states[reached...].firstIndex(of: answer.text) {
        reached = next
        continue
      }
      let earlier = states[..<reached].lastIndex(of: answer.text)
      let why =
        earlier.map { "went back from the state after \(reached) events to that after \($0)" }
        ?? "showed what no prefix of \(states.count - 1) events explains"
      return Finding(
        check: .reads,
        text: "\(probe.name) of \(probe.key), answer \(number + 1) of \(answers.count), \(why): "
          + String(answer.text.replacing("\n", with: " ").prefix(300)))
    }
    return nil
  }

  /// What should be shown after each prefix, the empty one included.
  private func states(of probe: Probe) -> [String] {
    let topic = probe.topic.name(prefix: prefix)
    let events =
      log.events.filter { $0.key.topic == topic }.values
      .map { $0.filter { $0.key.hasSameBytes(as: probe.key) } }
      .first { !$0.isEmpty } ?? []
    var model = Model()
    var states = [probe.expected(model)]
    for event in events where Poison.refusing(event).isEmpty {
      model.apply(event)
      states.append(probe.expected(model))
    }
    return states
  }
}
