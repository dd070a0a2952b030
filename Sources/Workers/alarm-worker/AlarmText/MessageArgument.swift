import Kinds

/// A value that a pattern may use.
struct MessageArgument: Hashable, Sendable {
  enum Use {
    /// Inserted verbatim.
    case name
    /// Formatted, or the selector of a plural.
    case number
    /// The selector of a select: how a text ends (`KoreanFinal`).
    case final
  }

  let name: String
  let use: Use
  /// Its number in compiled programs.
  let slot: Int

  /// The slots of the arguments that every message has.
  enum Slot {
    static let actor = 0
    static let other = 1
    static let actors = 2
    static let count = 3
    static let actorFinal = 4
    static let otherFinal = 5
    /// The first of a kind's own arguments, which have two each: the value and how it ends.
    static let firstOwn = 6
  }

  /// The first actor's displayed nickname.
  static let actor = MessageArgument(name: "actor", use: .name, slot: Slot.actor)
  /// The second actor's displayed nickname.
  static let other = MessageArgument(name: "other", use: .name, slot: Slot.other)
  /// The number of actors; 0 if the alarm names nobody.
  static let actors = MessageArgument(name: "actors", use: .number, slot: Slot.actors)
  /// The number of events.
  static let count = MessageArgument(name: "count", use: .number, slot: Slot.count)
  /// The last sounds of the nicknames, which decide Korean particles.
  static let actorFinal = MessageArgument(name: "actorFinal", use: .final, slot: Slot.actorFinal)
  static let otherFinal = MessageArgument(name: "otherFinal", use: .final, slot: Slot.otherFinal)

  private static let common: [MessageArgument] = [
    actor, other, actors, count, actorFinal, otherFinal,
  ]

  /// Whether it comes from the alarm's own arguments.
  var isOwn: Bool { slot >= Slot.firstOwn }

  /// Whether it depends on an actor.
  var needsActor: Bool { !isOwn && self != .count }

  /// The arguments that messages of a kind may use.
  static func all(own: [AlarmArgument]) -> [MessageArgument] {
    common
      + own.enumerated().flatMap { index, argument in
        [
          MessageArgument(
            name: argument.name, use: argument.type == .number ? .number : .name,
            slot: Slot.firstOwn + index * 2),
          MessageArgument(
            name: "\(argument.name)Final", use: .final, slot: Slot.firstOwn + index * 2 + 1),
        ]
      }
  }
}

/// What a message's kinds provide.
struct MessageSignature: Sendable, Equatable {
  var actor: ActorRule = .required
  var arguments: [AlarmArgument] = []

  /// The signatures of a registry's messages, by key. Kinds that share a message agree on it.
  static func table(_ registry: AlarmKinds) -> [String: MessageSignature] {
    registry.all.reduce(into: [:]) { table, kind in
      table[kind.messageKey] = MessageSignature(actor: kind.actor, arguments: kind.arguments)
      if let key = kind.severalKey { table[key] = several }
    }
  }

  /// Of a message that stands for several alarms.
  private static let several = MessageSignature(
    actor: .none,
    arguments: [
      AlarmArgument(name: "alarms", type: .number, bytesMax: AlarmArgument.numberBytes)
    ])

  static let builtIn = table(.builtIn)
}
