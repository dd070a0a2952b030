import ArgumentParser
import Events
import Foundation
import Postgres

/// Connection settings for Kafka and PostgreSQL, merged from all sources. Secrets come from the
/// environment or from files, because every user of the machine can read command lines.
public struct ConnectionSettings {
  /// The value of a setting such as `kafkaPasswordFile`, if any.
  private let setting: (String) throws -> String?

  init(_ setting: @escaping (String) throws -> String?) { self.setting = setting }

  /// Reads the environment only: `kafkaPasswordFile` is `MAGPIE_KAFKA_PASSWORD_FILE`.
  public init() {
    let environment = ProcessInfo.processInfo.environment
    setting = { environment[variable($0)] }
  }

  /// librdkafka's properties from a file, the environment, `flags` (`name=value`) and the password
  /// setting; later sources win.
  ///
  /// - Throws: `ValidationError` if a property is malformed, or is a secret on the command line.
  public func kafkaProperties(flags: [String]) throws -> [String: String] {
    var properties: [String: String] = [:]
    if let file = try value("kafkaPropertiesFile") {
      let text = try contents(file, "kafkaPropertiesFile", bytesMax: 1 << 20)
      for (index, line) in text.split(whereSeparator: \.isNewline).enumerated() {
        let line = line.trimmingCharacters(in: .whitespaces)
        guard !line.isEmpty, !line.hasPrefix("#") else { continue }
        guard let (name, value) = property(line) else {
          throw ValidationError("\(file), line \(index + 1), is not name=value.")
        }
        properties[name] = value
      }
    }
    for pair in try (value("kafkaProperties") ?? "").split(separator: ",") {
      guard let (name, value) = property(String(pair)) else {
        throw ValidationError(
          "\(variable("kafkaProperties")) takes name=value,name=value; a name or a = is missing. "
            + "Values with a comma go into \(variable("kafkaPropertiesFile")).")
      }
      properties[name] = value
    }
    for pair in flags {
      guard let (name, value) = property(pair) else {
        throw ValidationError("--kafka-property takes name=value; the name or the = is missing.")
      }
      guard !isSecret(name) else {
        throw ValidationError(
          "--kafka-property \(name) is refused: everybody on this machine can read command lines. "
            + "Use \(variable("kafkaPasswordFile")) or \(variable("kafkaPropertiesFile")).")
      }
      properties[name] = value
    }
    if let password = try secret("kafkaPassword") { properties["sasl.password"] = password }
    return properties
  }

  /// PostgreSQL's connection string, including a password that is set separately.
  ///
  /// - Returns: nil if there is none.
  /// - Throws: `ValidationError` for a password on the command line, a file that cannot be read, or a URL that
  ///   cannot be parsed, which it does not quote.
  public func databaseURL(
    _ name: String = "databaseUrl", flag: String?
  ) throws -> String? {
    if let flag, (try? ConnectionInfo(flag)["password"]) != nil {
      throw ValidationError(
        "\(option(name)) with a password is refused: everybody on this machine can read command "
          + "lines. Use \(variable(name)) or \(variable(name + "File")).")
    }
    let url = if let flag { flag } else { try secret(name) ?? "" }
    guard !url.isEmpty else { return nil }
    let info: ConnectionInfo
    do {
      info = try ConnectionInfo(url)
    } catch let error as PostgresError {
      throw ValidationError("\(option(name)) (\(variable(name))): \(error.message).")
    }
    guard let password = try fileOnly("databasePassword") else { return url }
    return info.replacing(password: password).connectionString
  }

  /// The variable's value, or the contents of the file that its `_FILE` variant names.
  private func secret(_ name: String) throws -> String? {
    if let value = try value(name) { return value }
    return try fileOnly(name)
  }

  private func fileOnly(_ name: String) throws -> String? {
    guard let file = try value(name + "File") else { return nil }
    var text = try contents(file, name + "File", bytesMax: 64 << 10)
    // Editors and `echo` append a line feed.
    if text.hasSuffix("\r\n") || text.hasSuffix("\n") { text.removeLast() }
    guard !text.isEmpty else {
      throw ValidationError("\(variable(name + "File")): \(file) is empty.")
    }
    return text
  }

  private func value(_ name: String) throws -> String? {
    try setting(name).flatMap { $0.isEmpty ? nil : $0 }
  }

  /// - Throws: an error that does not quote the file.
  private func contents(_ file: String, _ name: String, bytesMax: Int) throws -> String {
    let bytes: [UInt8]
    switch BoundedFile(path: file, limit: bytesMax) {
    case .bytes(let contents): bytes = contents
    case .missing:
      throw ValidationError("\(variable(name)): \(file) cannot be read; is it a regular file?")
    case .failure(let reason):
      throw ValidationError("\(variable(name)): \(file) cannot be read: \(reason).")
    }
    guard let text = String(validating: bytes, as: UTF8.self), !text.utf8.contains(0) else {
      throw ValidationError("\(variable(name)): \(file) is not a text file in UTF-8.")
    }
    return text
  }
}

/// The environment variable of a setting such as `kafkaPasswordFile`.
func variable(_ name: String) -> String {
  name.reduce(into: "MAGPIE_") { result, character in
    if character.isUppercase { result += "_" }
    result += character.uppercased()
  }
}

/// The command line's option for a setting such as `kafkaPasswordFile`.
func option(_ name: String) -> String {
  name.reduce(into: "--") { result, character in
    if character.isUppercase { result += "-" }
    result += character.lowercased()
  }
}

private func property(_ text: String) -> (name: String, value: String)? {
  let parts = text.split(separator: "=", maxSplits: 1).map {
    $0.trimmingCharacters(in: .whitespaces)
  }
  guard parts.count == 2, !parts[0].isEmpty else { return nil }
  return (parts[0], parts[1])
}

/// Whether the property's value is secret according to librdkafka's documentation, or is a key.
private func isSecret(_ property: String) -> Bool {
  property.hasSuffix("password") || property.hasSuffix("secret") || property.hasSuffix(".pem")
    || property == "sasl.oauthbearer.config"
}
