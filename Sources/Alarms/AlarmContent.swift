import AlarmText
import Events

/// What an alarm says, before it is put into words.
struct AlarmContent: Sendable {
  var code: AlarmCode
  var actor: String
  var secondActor: String?
  var actorCount: Int64
  var contributionCount: Int64
  var headText: String
}

extension AlarmCode {
  /// The kind that a snapshot or a row names.
  ///
  /// - Throws: `EventError` when no kind can have the number. It must not be taken for another.
  init(named number: Int) throws(EventError) {
    guard let code = AlarmCode(number) else {
      throw EventError(
        .badValue, "type is \(number), which no kind of alarm has; they are 0 to 999.",
        field: "type")
    }
    self = code
  }
}

extension AlarmContent {
  /// Puts it into words. A pure function: the same arguments always give the same alarm.
  ///
  /// - Parameters:
  ///   - locale: the reader's; empty when unknown.
  ///   - actor: the nickname; nil or empty when unknown.
  ///   - secondActor: the same of the second person.
  /// - Throws: `EventError` when the registry has no such kind.
  func rendered(
    by engine: AlarmTextEngine, locale: String, actor nickname: String?,
    secondActor secondNickname: String?
  ) throws(EventError) -> RenderedAlarm {
    let input = AlarmInput(
      code: code, actor: Actor(id: actor, nickname: nickname),
      other: secondActor.map { Actor(id: $0, nickname: secondNickname) },
      actorCount: Int(actorCount), count: Int(contributionCount), headText: headText)
    do throws(AlarmTextError) {
      return try engine.render(input, locale: locale)
    } catch {
      throw EventError(
        .badValue, "the alarm cannot be put into words: \(error). Add the kind to the catalogs.",
        field: "type")
    }
  }
}
