/// Whether alarms of a kind are caused by a person.
public enum ActorRule: String, Sendable {
  /// Every alarm names an actor.
  case required
  /// An alarm may name an actor.
  case optional
  /// No alarm names an actor.
  case none
}

/// A value that comes with an alarm of some kind, such as a broadcast's title.
public struct AlarmArgument: Sendable, Hashable {
  /// The type of an argument's value. Values travel as text.
  public enum ValueType: String, Sendable {
    /// Any text.
    case text
    /// A whole number in `Int64`'s range.
    case number
  }

  /// A lower-case ASCII letter, then up to 31 ASCII letters and digits.
  public var name: String
  public var type: ValueType
  /// The maximum length of the value in UTF-8 bytes.
  public var bytesMax: Int
  /// Whether an alarm may come without it.
  public var isOptional: Bool

  /// The length of the longest `Int64`.
  public static let numberBytes = 20
  /// The highest bound that a registry may declare for a text.
  public static let textBytesLimit = 1024

  public init(name: String, type: ValueType, bytesMax: Int, isOptional: Bool = false) {
    self.name = name
    self.type = type
    self.bytesMax = bytesMax
    self.isOptional = isOptional
  }
}

/// An alarm does not fit its kind.
public struct KindError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The field at fault, such as `arguments.title`.
  public var field: String
  public var message: String

  public init(field: String, message: String) {
    self.field = field
    self.message = message
  }

  public var description: String { "\(field) \(message)" }
}

extension AlarmKind {
  /// Checks the arguments of an alarm of this kind.
  /// - Parameter values: values by name. An empty value counts as absent.
  /// - Returns: the values that are present.
  public func checked(_ values: [String: String]) throws(KindError) -> [String: String] {
    let present = values.filter { !$0.value.isEmpty }
    for argument in arguments {
      guard let value = present[argument.name] else {
        guard argument.isOptional else {
          throw KindError(
            field: "arguments.\(argument.name)", message: "is missing; \(name) alarms need it")
        }
        continue
      }
      try argument.check(value)
    }
    guard let unknown = present.keys.filter({ self[argument: $0] == nil }).min() else {
      return present
    }
    let names = arguments.map(\.name).joined(separator: ", ")
    throw KindError(
      field: "arguments.\(unknown)",
      message: "is unknown; \(name) alarms take "
        + (names.isEmpty ? "no arguments" : "the arguments \(names)"))
  }

  /// The declared argument with this name.
  public subscript(argument name: String) -> AlarmArgument? {
    arguments.first { $0.name == name }
  }
}

extension AlarmArgument {
  fileprivate func check(_ value: String) throws(KindError) {
    switch type {
    case .text:
      guard value.utf8.count <= bytesMax else {
        throw KindError(
          field: "arguments.\(name)",
          message: "has \(value.utf8.count) bytes, more than the limit of \(bytesMax)")
      }
    case .number:
      // Only the canonical form, so that equal numbers are equal texts.
      guard value.utf8.count <= Self.numberBytes, let number = Int64(value),
        String(number).utf8.elementsEqual(value.utf8)
      else {
        throw KindError(
          field: "arguments.\(name)",
          message: "is not a whole number from -9223372036854775808 to 9223372036854775807 "
            + "without leading zeros or plus sign")
      }
    }
  }
}
