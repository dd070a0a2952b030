import EmbeddedStack
import Foundation
import TestSupport

/// A test certificate authority and certificates signed by it, created with the openssl command in
/// a temporary directory.
final class Certificates {
  let directory: URL
  let authority: String

  /// A certificate and its key, as files.
  struct Pair {
    var certificate: String
    var key: String
  }

  init() throws {
    directory = URL(filePath: "/tmp/magpie-certificates-\(UUID().uuidString.prefix(8))")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    authority = directory.appending(path: "ca.crt").path
    try openssl(
      "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
      "-keyout", path("ca.key"), "-out", authority, "-subj", "/CN=Magpie test authority", "-days",
      "2")
  }

  deinit { try? FileManager.default.removeItem(at: directory) }

  /// - Parameters:
  ///   - names: for subjectAltName, such as `IP:127.0.0.1,DNS:localhost`.
  ///   - days: the validity in days; below 0 it has expired.
  func issue(
    _ file: String, names: String, commonName: String = "server", days: Int = 2
  ) throws -> Pair {
    let pair = Pair(certificate: path("\(file).crt"), key: path("\(file).key"))
    try openssl(
      "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", pair.key,
      "-out", path("\(file).csr"), "-subj", "/CN=\(commonName)")
    try "subjectAltName=\(names)\n".write(
      toFile: path("\(file).ext"), atomically: false, encoding: .utf8)
    try openssl(
      "x509", "-req", "-in", path("\(file).csr"), "-CA", authority, "-CAkey", path("ca.key"),
      "-CAcreateserial", "-days", "\(days)", "-extfile", path("\(file).ext"), "-out",
      pair.certificate)
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: pair.key)
    return pair
  }

  func path(_ file: String) -> String { directory.appending(path: file).path }

  private func openssl(_ arguments: String...) throws {
    let log = path("openssl.log")
    let child = try ChildProcess("/usr/bin/env", ["openssl"] + arguments, output: .file(log))
    guard child.wait(seconds: hangLimitSeconds) == .exited(0) else {
      let said = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
      throw StackError("openssl \(arguments[0]) failed: \(said)")
    }
  }
}
