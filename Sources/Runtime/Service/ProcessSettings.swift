import ArgumentParser
import Configuration
import Foundation
public import Kafka
import Logging

/// The settings of every process that consumes Kafka.
public struct ProcessSettings: Sendable {
  public var kafka: ClientConfiguration
  /// The prefix of the names of topics and consumer groups, such as `magpie.`.
  public var topicPrefix: String
  var httpHost: String
  var httpPort: Int
  var watchdogSeconds: Int
  /// How long the process may take to stop.
  public var drainSeconds: Int
  var logFormat: LogFormat
  var logLevel: Logger.Level
}

extension ProcessOptions {
  /// Merges flags, environment (`MAGPIE_…`) and configuration file, in this order of precedence.
  ///
  /// Throws a `ValidationError` that names the setting, its value and the allowed values.
  public func settings(defaultHTTPPort: Int) async throws -> ProcessSettings {
    let source = try await settingSource()
    let bootstrap = try source.required(
      kafka.kafkaBootstrap, "kafkaBootstrap", hint: SettingSource.printedByUp)
    let properties = try source.connections.kafkaProperties(flags: kafka.kafkaProperties)
    return ProcessSettings(
      kafka: ClientConfiguration(bootstrap: bootstrap, properties: properties),
      topicPrefix: try source.string(kafka.topics.topicPrefix, "topicPrefix", default: "magpie."),
      httpHost: try source.string(httpHost, "httpHost", default: "127.0.0.1"),
      httpPort: try source.number(httpPort, "httpPort", default: defaultHTTPPort, 0...65_535),
      watchdogSeconds: try source.number(
        watchdogSeconds, "watchdogSeconds", default: 600, 10...86_400),
      drainSeconds: try source.number(drainSeconds, "drainSeconds", default: 20, 1...3600),
      logFormat: try source.choice(logFormat, "logFormat", default: .text) {
        LogFormat(rawValue: $0)
      },
      logLevel: try source.choice(logLevel, "logLevel", default: .info) {
        Logger.Level(rawValue: $0)
      })
  }

  /// A setting of one process, from the same sources: flag, `MAGPIE_…`, file.
  ///
  /// - Returns: nil if it is not set or empty.
  /// - Throws: `ValidationError` if the file cannot be read, or holds neither text nor a number there.
  public func setting(_ name: String, flag: String?) async throws -> String? {
    let value = try await settingSource().string(flag, name, default: "")
    return value.isEmpty ? nil : value
  }

  /// A setting that must be there, from the same sources.
  ///
  /// - Throws: `ValidationError` that names the option if it is not set.
  public func required(_ name: String, flag: String?) async throws -> String {
    try await settingSource().required(flag, name)
  }

  /// A number from the same sources.
  ///
  /// - Throws: `ValidationError` that names the option if it is outside of `range`, or no number.
  public func number<Number: LosslessStringConvertible & Comparable>(
    _ name: String, flag: Number?, _ range: ClosedRange<Number>, default: Number
  ) async throws -> Number {
    try await settingSource().number(flag, name, default: `default`, range)
  }

  /// PostgreSQL's connection string, with a password that is set separately.
  ///
  /// - Throws: `ValidationError` if there is none, if it cannot be parsed, or if the flag has a password.
  public func databaseURL(_ database: DatabaseOptions) async throws -> String {
    let source = try await settingSource()
    guard let url = try source.connections.databaseURL(flag: database.databaseURL) else {
      throw SettingSource.missing("databaseUrl", hint: SettingSource.printedByUp)
    }
    return url
  }

  /// The connection string of another server, with the same password if that is set separately.
  ///
  /// - Parameter name: of the setting, such as `visitsDatabaseUrl`.
  /// - Returns: nil if it is not set.
  /// - Throws: `ValidationError` if it cannot be parsed, or if the flag has a password.
  public func databaseURL(_ name: String, flag: String?) async throws -> String? {
    try await settingSource().connections.databaseURL(name, flag: flag)
  }

  func settingSource(
    environment: [String: String] = ProcessInfo.processInfo.environment
  ) async throws -> SettingSource {
    let file = config ?? environment["MAGPIE_CONFIG"] ?? ""
    guard !file.isEmpty else { return SettingSource(environment: environment, file: nil) }
    do {
      let contents = try await FileProvider<JSONSnapshot>(filePath: .init(file))
      return SettingSource(environment: environment, file: contents)
    } catch {
      throw ValidationError("--config \(file): \(error)")
    }
  }
}

/// Reads one setting: the flag if it was given, else environment or file, else the default.
struct SettingSource {
  let environment: [String: String]
  let file: FileProvider<JSONSnapshot>?

  /// The connection settings for Kafka and PostgreSQL.
  var connections: ConnectionSettings { ConnectionSettings(value) }

  /// The value in the environment, else in the file. One that is set to nothing is not set: a file of variables may
  /// name all of them.
  private func value(_ key: String) throws -> String? {
    if let value = environment[variable(key)], !value.isEmpty { return value }
    return try fileValue(key)
  }

  /// The text or the number in the file, as text.
  private func fileValue(_ key: String) throws -> String? {
    guard let file else { return nil }
    for type in [ConfigType.string, .int, .double] {
      // Throws if the value is of another type.
      guard let found = try? file.value(forKey: ["magpie", key], type: type) else { continue }
      switch found.value?.content {
      case .string(let text): return text.isEmpty ? nil : text
      case .int(let number): return String(number)
      case .double(let number): return String(number)
      default: return nil
      }
    }
    throw ValidationError("\(key) in the file of --config is neither text nor a number.")
  }

  func string(_ flag: String?, _ key: String, default fallback: String) throws -> String {
    try flag ?? value(key) ?? fallback
  }

  func required(_ flag: String?, _ key: String, hint: String = "") throws -> String {
    let value = try string(flag, key, default: "")
    guard !value.isEmpty else { throw Self.missing(key, hint: hint) }
    return value
  }

  static let printedByUp = " `magpie up` prints it as an export line."

  static func missing(_ key: String, hint: String) -> ValidationError {
    ValidationError("\(option(key)) is missing: give it, or set \(variable(key)).\(hint)")
  }

  func number<Number: LosslessStringConvertible & Comparable>(
    _ flag: Number?, _ key: String, default fallback: Number, _ range: ClosedRange<Number>
  ) throws -> Number {
    let text = try string(flag.map { "\($0)" }, key, default: "\(fallback)")
    guard let value = Number(text), range.contains(value) else {
      throw ValidationError(
        "\(option(key)) is \(text), but must be \(range.lowerBound) to \(range.upperBound).")
    }
    return value
  }

  func choice<Value>(
    _ flag: String?, _ key: String, default fallback: Value, _ parse: (String) -> Value?
  ) throws -> Value {
    let text = try string(flag, key, default: "")
    if text.isEmpty { return fallback }
    guard let value = parse(text) else {
      throw ValidationError(
        "\(option(key)) is \(text), which is not one of the values listed by --help.")
    }
    return value
  }
}
