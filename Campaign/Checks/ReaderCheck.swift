import Events
import Kafka
import Model

/// Checks readers' answers against the log: each must match the model after some prefix of its
/// partition, and never a shorter prefix than the previous answer.
struct ReaderCheck {
  let log: LogContents
  let prefix: String

  func findings(_ answers: [String: [Readers.Answer]]) -> [Finding] {
    Probe.all.compactMap { probe in check(probe, answers[probe.name] ?? []) }
  }

  /// The first unexplained answer.
  struct Failure: Equatable {
    /// The answer's index.
    var answer: Int
    /// The number of events that explain the previous answer.
    var reached: Int
    /// A smaller number of events that would explain this answer; nil if there is none.
    var earlier: Int?
  }

  /// - Parameter states: the expected answer after each prefix, including the empty one.
  static func failure(_ answers: [String], states: [String]) -> Failure? {
    var reached = 0
    for (number, answer) in answers.enumerated() {
      // Choose the earliest possible state, so that later answers have the most states left.
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
        "returned from the state after \(failure.reached) events to that after \($0)"
      }
      ?? "shows a state that no prefix of the \(states.count - 1) events explains"
    let text = answers[failure.answer].text.replacing("\n", with: " ").prefix(300)
    return Finding(
      check: .reads,
      text:
        "\(probe.name) of \(probe.key), answer \(failure.answer + 1) of \(answers.count), \(why): "
        + text)
  }

  /// The expected answer after each prefix, including the empty one.
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
