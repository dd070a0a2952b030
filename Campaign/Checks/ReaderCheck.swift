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

  /// The first answer that nothing explains.
  struct Failure: Equatable {
    /// Which answer, counted from 0.
    var answer: Int
    /// After how many events the one before it was given.
    var reached: Int
    /// After how many events this one would have been right.
    var earlier: Int?
  }

  /// - Parameter states: what should be shown after each prefix, the empty one included.
  static func failure(_ answers: [String], states: [String]) -> Failure? {
    var reached = 0
    for (number, answer) in answers.enumerated() {
      // The earliest state that is no step back leaves the most to those that follow.
      guard let next = states[reached...].firstIndex(of: answer) else {
        return Failure(
          answer: number, reached: reached, earlier: states[..<reached].lastIndex(of: answer))
      }
      reached = next
    }
    return nil
  }

  private func check(_ probe: Probe, _ answers: [Readers.Answer]) -> Finding? {
    let states = states(of: probe)
    guard let failure = Self.failure(answers.map(\.text), states: states) else { return nil }
    let why =
      failure.earlier.map {
        "went back from the state after \(failure.reached) events to that after \($0)"
      }
      ?? "showed what no prefix of \(states.count - 1) events explains"
    let text = answers[failure.answer].text.replacing("\n", with: " ").prefix(300)
    return Finding(
      check: .reads,
      text:
        "\(probe.name) of \(probe.key), answer \(failure.answer + 1) of \(answers.count), \(why): "
        + text)
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
