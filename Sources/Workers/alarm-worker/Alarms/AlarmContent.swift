import AlarmText
import Events

/// The content of an alarm before it is rendered.
struct AlarmContent: Sendable {
  var code: AlarmCode
  /// Nil if nobody acted.
  var actor: String?
  var secondActor: String?
  var actorCount: Int64
  var contributionCount: Int64
  var headText: String
  var arguments: [String: String] = [:]
}

extension AlarmCode {
  /// The kind with this number in a snapshot or row.
  ///
  /// - Throws: `EventError` if the number is out of range.
  init(named number: Int) throws(EventError) {
    guard let code = AlarmCode(number) else {
      throw EventError(
        .badValue, "type \(number) is out of range: kinds of alarms are 0 to 999.",
        field: "type")
    }
    self = code
  }
}

extension AlarmContent {
  /// Renders the alarm. Pure: the same arguments always give the same alarm.
  ///
  /// - Parameters:
  ///   - locale: the reader's locale; empty when unknown.
  ///   - nickname: the actor's nickname; nil or empty when unknown.
  ///   - secondNickname: the second actor's nickname; nil or empty when unknown.
  /// - Throws: `EventError` if the registry has no such kind.
  func rendered(
    by engine: AlarmTextEngine, locale: String, actor nickname: String?,
    secondActor secondNickname: String?
  ) throws(EventError) -> RenderedAlarm {
    let input = AlarmInput(
      code: code, actor: actor.map { Actor(id: $0, nickname: nickname) },
      other: secondActor.map { Actor(id: $0, nickname: secondNickname) },
      actorCount: Int(actorCount), count: Int(contributionCount), headText: headText,
      isHeadTextCut: Limits.isHeadCut(headText), arguments: arguments)
    do throws(AlarmTextError) {
      return try engine.render(input, locale: locale)
    } catch {
      throw EventError(
        .badValue, "cannot render the alarm: \(error). Add the kind to the catalogs.",
        field: "type")
    }
  }
}
