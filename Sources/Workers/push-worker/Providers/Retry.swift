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
    guard let date = httpDate(text) else { return nil }
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

  /// The preferred form of a date in HTTP (RFC 9110, 5.6.7), such as `Sun, 06 Nov 1994 08:49:37 GMT`.
  private static func httpDate(_ text: String) -> EventTime? {
    let words = text.split(separator: " ")
    let months = [
      "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]
    guard words.count == 6, words[5] == "GMT", let day = Int(words[1]), 1...31 ~= day,
      let month = months.firstIndex(of: String(words[2])), words[3].utf8.count == 4
    else { return nil }
    let number = month + 1
    let date = "\(words[3])-\(number < 10 ? "0" : "")\(number)-\(day < 10 ? "0" : "")\(day)"
    return try? EventTime(rfc3339: "\(date)T\(words[4])Z")
  }
}
