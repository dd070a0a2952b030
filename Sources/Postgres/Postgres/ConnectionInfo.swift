import CLibPQ

/// A parsed connection string: `postgresql://user:password@host:port/database?param=value` or
/// libpq's `host=… dbname=…` form.
///
/// The description never contains the password.
public struct ConnectionInfo: Sendable, CustomStringConvertible {
  /// The given keywords and values, in libpq's order.
  private(set) var settings: [(keyword: String, value: String)]

  /// Parses `string`.
  ///
  /// - Throws: `usage`; the message does not quote the string, which may contain a password.
  public init(_ string: String) throws {
    guard !string.utf8.contains(0) else {
      throw PostgresError.usage("the database URL contains a NUL byte")
    }
    var message: UnsafeMutablePointer<CChar>?
    guard let options = PQconninfoParse(string, &message) else {
      PQfreemem(message)
      throw PostgresError.usage(
        "the database URL could not be parsed; expected "
          + "postgresql://user:password@host:port/database or libpq's key=value form. Characters "
          + "such as @ / : % # in a password must be percent-encoded, in the key=value form "
          + "values with spaces must be quoted")
    }
    defer { PQconninfoFree(options) }
    settings = []
    var option = options
    while let keyword = option.pointee.keyword {
      if let value = option.pointee.val {
        settings.append((String(cString: keyword), String(cString: value)))
      }
      option += 1
    }
    // If a password contains an unencoded @ or /, part of it ends up in these values, and libpq's
    // messages quote them.
    let port = self["port"] ?? ""
    if self["host"]?.contains("@") == true || self["dbname"]?.contains("@") == true
      || !port.allSatisfy({ $0.isNumber || $0 == "," })
    {
      throw PostgresError.usage(
        "the host, port or database name in the database URL is not valid; characters such as "
          + "@ / : % # in the user or password must be percent-encoded (@ is %40, / is %2F)")
    }
  }

  /// The value of a libpq keyword (`host`, `port`, `user`, `dbname`, …), if given.
  public subscript(keyword: String) -> String? {
    settings.last { $0.keyword == keyword }?.value
  }

  /// The same connection to a different database.
  public func replacing(database: String) -> ConnectionInfo { replacing("dbname", by: database) }

  /// The same connection as a different user.
  public func replacing(user: String) -> ConnectionInfo { replacing("user", by: user) }

  func replacing(_ keyword: String, by value: String) -> ConnectionInfo {
    var copy = self
    copy.settings.removeAll { $0.keyword == keyword }
    copy.settings.append((keyword, value))
    return copy
  }

  /// The same connection with a different password.
  public func replacing(password: String) -> ConnectionInfo {
    var copy = self
    copy.settings.removeAll { $0.keyword == "password" }
    copy.settings.append(("password", password))
    return copy
  }

  /// libpq's key=value form, including the password: to open connections, never to display.
  public var connectionString: String {
    settings.map { setting in
      let value = setting.value
        .replacing("\\", with: "\\\\").replacing("'", with: "\\'")
      return "\(setting.keyword)='\(value)'"
    }.joined(separator: " ")
  }

  /// The server and database, for people; without the password.
  public var description: String {
    let host = self["host"] ?? self["hostaddr"] ?? "the default socket"
    let port = self["port"].map { ":\($0)" } ?? ""
    let database = self["dbname"].map { ", database \"\($0)\"" } ?? ""
    let user = self["user"].map { ", user \"\($0)\"" } ?? ""
    return host + port + database + user
  }
}
