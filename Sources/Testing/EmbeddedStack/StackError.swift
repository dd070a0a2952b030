import Foundation

/// An error in starting or running a part of the embedded stack.
public struct StackError: Error, Sendable, CustomStringConvertible {
  /// The cause and what to do.
  public let message: String
  /// Whether the caller gave something that cannot be used, such as a directory.
  public let isUsage: Bool

  /// The message.
  public var description: String { message }

  /// Creates an error with its message.
  public init(_ message: String, isUsage: Bool = false) {
    self.message = message
    self.isUsage = isUsage
  }
}

/// Creates a directory and its parents, unless it exists.
///
/// - Parameter permissions: nil for the usual ones.
/// - Throws: `StackError` with the system's reason.
public func makeDirectory(_ path: String, permissions: Int? = nil) throws {
  do {
    try FileManager.default.createDirectory(
      atPath: path, withIntermediateDirectories: true,
      attributes: permissions.map { [.posixPermissions: $0] })
  } catch {
    throw StackError(
      "\(path) cannot be created: \(systemReason(error)); choose another directory", isUsage: true)
  }
}

/// The system's reason for an error of Foundation, which has no words of its own for some.
public func systemReason(_ error: any Error) -> String {
  let code = ((error as? CocoaError)?.underlying as? POSIXError)?.code.rawValue
  return code.map { String(cString: strerror($0)) } ?? error.localizedDescription
}
