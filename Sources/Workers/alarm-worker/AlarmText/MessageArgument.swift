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

  /// The first actor's displayed nickname.
  static let actor = MessageArgument(name: "actor", use: .name, slot: 0)
  /// The second actor's displayed nickname.
  static let other = MessageArgument(name: "other", use: .name, slot: 1)
  /// The number of actors; 0 if the alarm names nobody.
  static let actors = MessageArgument(name: "actors", use: .number, slot: 2)
  /// The number of events.
  static let count = MessageArgument(name: "count", use: .number, slot: 3)
  /// The last sounds of the nicknames, which decide Korean particles.
  static let actorFinal = MessageArgument(name: "actorFinal", use: .final, slot: 4)
  static let otherFinal = MessageArgument(name: "otherFinal", use: .final, slot: 5)

  private static let common: [MessageArgument] = [
    actor, other, actors, count, actorFinal, otherFinal,
  ]

  /// The slot of a kind's first own argument. Each has two: its value and how that ends.
  static let firstOwnSlot = 6

  /// Whether it comes from the alarm's own arguments.
  var isOwn: Bool { slot >= Self.firstOwnSlot }

  /// Whether it depends on an actor.
  var needsActor: Bool { !isOwn && self != .count }

  /// The arguments that messages of a kind may use.
  static func all(own: [AlarmArgument]) -> [MessageArgument] {
    common
      + own.enumerated().flatMap { index, argument in
        [
          MessageArgument(
            name: argument.name, use: argument.type == .number ? .number : .name,
            slot: firstOwnSlot + index * 2),
          MessageArgument(
            name: "\(argument.name)Final", use: .final, slot: firstOwnSlot + index * 2 + 1),
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
    }
  }

  static let builtIn = table(.builtIn)
}
