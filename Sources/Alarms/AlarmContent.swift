import AlarmText

/// What an alarm says, before it is put into words.
struct AlarmContent: Sendable {
  /// A kind's code, 0 like to 5 post.
  var type: Int32
  var actor: String
  var secondActor: String?
  var actorCount: Int64
  var contributionCount: Int64
  var headText: String
}

extension AlarmContent {
  /// Puts it into words. A pure function: the same arguments always give the same alarm.
  ///
  /// - Parameters:
  ///   - locale: the reader's; empty when unknown.
  ///   - actor: the nickname; nil or empty when unknown.
  ///   - secondActor: the same of the second person.
  func rendered(
    by engine: AlarmTextEngine, locale: String, actor nickname: String?,
    secondActor secondNickname: String?
  ) throws -> RenderedAlarm {
    try engine.render(
      AlarmInput(
        code: AlarmCode(Int(type)) ?? .like,
        actor: Actor(id: actor, nickname: nickname),
        other: secondActor.map { Actor(id: $0, nickname: secondNickname) },
        actorCount: Int(actorCount), count: Int(contributionCount), headText: headText),
      locale: locale)
  }
}
