import EmbeddedStack
import Foundation
import TestSupport

/// Debian's chromedriver (`apt-get install chromium chromium-driver`), which opens windows.
final class BrowserDriver: Sendable {
  static let path = "/usr/bin/chromedriver"
  static var isInstalled: Bool { FileManager.default.isExecutableFile(atPath: path) }

  let port: UInt16
  private let process: ChildProcess
  private let log = "/tmp/magpie-chromedriver-\(UUID().uuidString.prefix(8)).log"

  init() async throws {
    // It chooses a port of IPv6, and ends if that port of IPv4 is taken.
    for _ in 0..<20 {
      let process = try ChildProcess(Self.path, ["--port=0"], output: .file(log))
      let log = log
      var port: UInt16?
      try await eventually("chromedriver says its port, or has ended") {
        let text = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
        port = text.firstMatch(of: /started successfully on port (\d+)/).flatMap { UInt16($0.1) }
        return port != nil || !process.isRunning
      }
      if let port {
        (self.port, self.process) = (port, process)
        return
      }
    }
    throw StackError("chromedriver ends: see \(log)")
  }

  var isRunning: Bool { process.isRunning }

  /// Closes all windows. chromedriver would leave them open if it only were terminated.
  func stop() {
    _ = LocalHTTP.get(
      "/shutdown", port: port, timeoutSeconds: Int(hangLimitSeconds), bytesMax: 1 << 12)
    process.terminate()
    try? FileManager.default.removeItem(atPath: log)
  }

  /// Sends a command of the W3C's WebDriver protocol, and returns the `value` of its answer.
  func command(_ method: String, _ path: String, _ body: [String: Any]? = nil) async throws -> Any {
    var head = "\(method) \(path) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nConnection: close\r\n"
    let data = try body.map { try JSONSerialization.data(withJSONObject: $0) } ?? Data()
    head += "Content-Type: application/json\r\nContent-Length: \(data.count)\r\n\r\n"
    // chromedriver takes the end of the requests for the end of the connection.
    let answer = try await exchange(Array(head.utf8) + Array(data), port: port, endsRequests: false)
    let value = try answer?.json["value"] ?? NSNull()
    guard let answer, answer.status == 200 else {
      throw StackError("\(method) \(path): \(answer?.status ?? 0) \(value)")
    }
    return value
  }
}

extension GatewayStack {
  /// The address of a page, with a token.
  func page(_ path: String, as person: String) throws -> String {
    "http://127.0.0.1:\(port)\(path)#token=\(try Tokens.ours.get().token(person))"
  }
}

/// A window of the width of a phone, with storage of its own.
final class Browser: Sendable {
  private let driver: BrowserDriver
  private let session: String

  init(_ driver: BrowserDriver) async throws {
    self.driver = driver
    let options: [String: Any] = [
      // Tests in a container run as root, with little shared memory.
      "args": [
        "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
      ],
      "mobileEmulation": ["deviceMetrics": ["width": 390, "height": 844, "pixelRatio": 2]],
    ]
    let milliseconds = Int(hangLimitSeconds) * 1000
    let capabilities: [String: Any] = [
      "browserName": "chrome", "goog:chromeOptions": options,
      "goog:loggingPrefs": ["browser": "ALL"],
      "timeouts": ["script": milliseconds, "pageLoad": milliseconds],
    ]
    var session: String?
    // chromedriver gives up after a minute, which is short for a machine that runs all tests at once.
    try await eventually("Chromium starts") {
      do {
        let value =
          try await driver.command(
            "POST", "/session", ["capabilities": ["alwaysMatch": capabilities]]) as? [String: Any]
        session = value?["sessionId"] as? String
      } catch {
        guard driver.isRunning else { throw error }
      }
      return session != nil
    }
    guard let session else { throw StackError("no session") }
    self.session = "/session/\(session)"
  }

  func close() async throws { _ = try await driver.command("DELETE", session) }

  func open(_ address: String) async throws {
    _ = try await driver.command("POST", session + "/url", ["url": address])
  }

  /// The value of a JavaScript expression.
  func value(_ expression: String) async throws -> Any {
    try await driver.command(
      "POST", session + "/execute/sync", ["script": "return (\(expression));", "args": []])
  }

  func text(_ selector: String) async throws -> String {
    try await value("document.querySelector('\(selector)')?.textContent ?? ''") as? String ?? ""
  }

  /// Clicks as a person does: where the element is, if nothing covers it.
  func click(_ selector: String) async throws {
    try await act(on: selector, "/click", [:])
  }

  func type(_ text: String, into selector: String) async throws {
    try await act(on: selector, "/value", ["text": text])
  }

  /// Whether the stream of the page is open.
  func isLive() async throws -> Bool {
    try await value("document.documentElement.dataset.live") as? String == "open"
  }

  /// Does it once the element is there and can take it: not replaced by a newer one, nor covered.
  private func act(on selector: String, _ part: String, _ body: [String: Any]) async throws {
    var failure: any Error = StackError("never tried")
    do {
      try await eventually("\(selector) is there") {
        do {
          _ = try await driver.command("POST", try await element(selector) + part, body)
          return true
        } catch {
          failure = error
          return false
        }
      }
    } catch {
      throw StackError("\(error): \(failure)")
    }
  }

  private func element(_ selector: String) async throws -> String {
    let found =
      try await driver.command(
        "POST", session + "/element", ["using": "css selector", "value": selector])
      as? [String: String]
    guard let id = found?.values.first else { throw StackError("no element \(selector)") }
    return session + "/element/\(id)"
  }

  /// Cuts the window's network, or repairs it.
  func setOffline(_ isOffline: Bool) async throws {
    let conditions: [String: Any] = [
      "offline": isOffline, "latency": 0, "download_throughput": -1, "upload_throughput": -1,
    ]
    _ = try await driver.command(
      "POST", session + "/chromium/network_conditions", ["network_conditions": conditions])
  }

  func screenshot(to file: URL) async throws {
    let text = try await driver.command("GET", session + "/screenshot") as? String ?? ""
    try Data(base64Encoded: text)?.write(to: file)
  }

  /// What the page's console says that should not be: a violation of the policy, an error of a module.
  func complaints() async throws -> [String] {
    let entries =
      try await driver.command("POST", session + "/se/log", ["type": "browser"])
      as? [[String: Any]] ?? []
    return entries.filter { $0["level"] as? String == "SEVERE" }
      .compactMap { $0["message"] as? String }
      // Pictures of the story, and a network that is cut, are meant to fail.
      .filter { !$0.contains("img.example") && !$0.contains("ERR_INTERNET_DISCONNECTED") }
  }
}
