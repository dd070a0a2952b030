import ArgumentParser
import Events
import Kafka

/// A time on the command line: RFC 3339, or an age such as `90s`, `15m`, `2h`, `3d`.
struct Moment: ExpressibleByArgument {
  var time: EventTime

  static let help = "RFC 3339, or an age such as 90s, 15m, 2h, 3d"

  init(_ time: EventTime) { self.time = time }

  init?(argument: String) {
    if let time = try? EventTime(rfc3339: argument) {
      self.time = time
      return
    }
    let seconds: [Character: Int64] = ["s": 1, "m": 60, "h": 3600, "d": 86_400]
    guard let unit = argument.last.flatMap({ seconds[$0] }),
      argument.dropLast().allSatisfy({ $0.isASCII && $0.isNumber }),
      let amount = Int64(argument.dropLast()),
      amount <= 36_500
        || amount <= 36_500 * 86_400 / unit
    else { return nil }
    time = EventTime(microseconds: EventTime.now.microseconds - amount * unit * 1_000_000)
  }
}

extension Record {
  /// When it was written; nil if it does not say.
  var time: EventTime? {
    timestampMilliseconds < 0 ? nil : .clamping(milliseconds: timestampMilliseconds)
  }
}

extension EventTime {
  /// The time of a record, or the nearest one that can be represented: producers may set any number.
  static func clamping(milliseconds: Int64) -> EventTime {
    let (microseconds, overflows) = milliseconds.multipliedReportingOverflow(by: 1000)
    return EventTime(
      microseconds: overflows ? (milliseconds < 0 ? .min : .max) : microseconds)
  }
}
