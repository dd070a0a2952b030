/// The registry of alarm kinds: the built-in ones with an operator's files on top.
public struct AlarmKinds: Sendable {
  /// By code number.
  private var kinds: [AlarmKind?] = []
  private var codes: [String: AlarmCode] = [:]

  /// The registry that is compiled in.
  public static let builtIn: AlarmKinds = {
    do {
      var kinds = AlarmKinds()
      try kinds.add(builtInFile)
      return kinds
    } catch { fatalError("invalid built-in registry: \(error)") }
  }()

  package static let builtInFile = CatalogFile(
    name: "kinds.json", bytes: PackageResources.kinds_json)

  /// - Parameter files: registries that add kinds or replace built-in ones, in order.
  /// - Throws: `CatalogError` with file, key and position.
  public init(files: [CatalogFile]) throws(CatalogError) {
    self = .builtIn
    for file in files { try add(file) }
  }

  private init() {}

  /// The kind with this code.
  public subscript(code: AlarmCode) -> AlarmKind? {
    code.number < kinds.count ? kinds[code.number] : nil
  }

  /// A kind by its code (`F06`) or name (`reply`).
  public func kind(_ text: String) -> AlarmKind? {
    if let code = AlarmCode(text), let kind = self[code] { return kind }
    return codes[text].flatMap { self[$0] }
  }

  /// Every kind, in the order of the codes.
  public var all: [AlarmKind] { kinds.compactMap { $0 } }

  /// Adds the kinds of a registry file; replaces kinds with the same code.
  private mutating func add(_ file: CatalogFile) throws(CatalogError) {
    guard case .object(let members) = try file.json() else {
      throw CatalogError(
        file: file.name, message: "expected an object of kinds by code, such as \"F00\"")
    }
    for member in members where !member.key.hasPrefix("@") {
      let kind = try KindReader(file: file.name, member: member).kind()
      let missing = kind.code.number + 1 - kinds.count
      if missing > 0 { kinds += Array(repeating: nil, count: missing) }
      kinds[kind.code.number] = kind
    }
    codes = try checkTogether(file.name)
  }

  /// Names are unique, kinds that share a message offer it the same values, and no message stands both for one alarm
  /// and for several.
  /// - Returns: the codes by name.
  private func checkTogether(_ file: String) throws(CatalogError) -> [String: AlarmCode] {
    var names: [String: AlarmCode] = [:]
    var messages: [String: AlarmKind] = [:]
    for kind in all {
      if let code = names.updateValue(kind.code, forKey: kind.name) {
        throw CatalogError(
          file: file, key: "\(kind.code)",
          message: "the name \"\(kind.name)\" is already used by \(code)")
      }
      if let first = messages.updateValue(kind, forKey: kind.messageKey),
        first.arguments != kind.arguments || first.actor != kind.actor
      {
        throw CatalogError(
          file: file, key: "\(kind.code)",
          message: "shares the message \"\(kind.messageKey)\" with \(first.code), but differs in "
            + "actor or arguments")
      }
    }
    for kind in all {
      if let key = kind.severalKey, let other = messages[key] {
        throw CatalogError(
          file: file, key: "\(kind.code)",
          message: "the message \"\(key)\" of several alarms is that of one alarm of \(other.code)")
      }
    }
    return names
  }
}
