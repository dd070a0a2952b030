public import Events
import Foundation

/// The delays after which a message is sent again.
public enum Retry {
  /// The longest delay that a provider's `Retry-After` can demand: a day.
  public static let longest = Duration.seconds(86_400)

  /// The time that a `Retry-After` header asks for, as seconds or as a date (RFC 9110, 10.2.3), from zero
  /// to ``longest``.
  ///
  /// - Returns: nil if there is no header, or if it is neither.
  public static func after(header: String?, now: EventTime) -> Duration? {
    guard let text = header?.trimmingCharacters(in: .whitespaces), !text.isEmpty else {
      return nil
    }
    if text.utf8.allSatisfy({ 0x30...0x39 ~= $0 }) {
      // A number that does not fit into `Int64` is a long time, too.
      return min(.seconds(Int64(text) ?? Int64.max), longest)
    }
    guard let date = httpDate(text, now: now) else { return nil }
    return min(now.duration(until: date), longest)
  }

  /// The delay before the next attempt: doubled with each attempt from one second up to an hour,
  /// with a jitter of ±25 % so that messages that failed together do not return together. Never
  /// below the provider's demand.
  ///
  /// - Parameters:
  ///   - attempt: how often it has been sent, from 1.
  ///   - demanded: as in ``ProviderAnswer/retry(reason:after:)``.
  ///   - spread: in 0..<1, at random.
  public static func delay(attempt: Int, demanded: Duration, spread: Double) -> Duration {
    let doubled = Duration.seconds(min(3600, 1 << min(max(attempt - 1, 0), 12)))
    // The jitter of a demanded delay is only upwards: the delay must not be shorter.
    return max(doubled * (0.75 + spread / 2), demanded * (1 + spread / 4))
  }

  /// A date in any of the three forms of HTTP (RFC 9110, 5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT`,
  /// `Sunday, 06-Nov-94 08:49:37 GMT` and `Sun Nov  6 08:49:37 1994`.
  private static func httpDate(_ text: String, now: EventTime) -> EventTime? {
    let words = text.split { " ,-".contains($0) }.map(String.init)
    let months = [
      "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]
    // The name of the day is first, and is not needed.
    let parts: (day: String, month: String, year: String, time: String)
    switch words.count {
    case 6 where words[5] == "GMT": parts = (words[1], words[2], words[3], words[4])
    case 5: parts = (words[2], words[1], words[4], words[3])
    default: return nil
    }
    guard let day = Int(parts.day), 1...31 ~= day, let month = months.firstIndex(of: parts.month),
      let year = year(parts.year, now: now)
    else { return nil }
    let number = month + 1
    let date = "\(year)-\(number < 10 ? "0" : "")\(number)-\(day < 10 ? "0" : "")\(day)"
    return try? EventTime(rfc3339: "\(date)T\(parts.time)Z")
  }

  /// A year of four digits, or of two, which are those of the latest year that is not more than 50
  /// years ahead (RFC 9110, 5.6.7).
  private static func year(_ text: String, now: EventTime) -> Int? {
    guard let number = Int(text), let this = Int(now.rfc3339.prefix(4)) else { return nil }
    switch text.utf8.count {
    case 4: return number
    case 2: return this + 50 - (this + 50 - number) % 100
    default: return nil
    }
  }
}
