// How an app follows a person's screens: it replaces what it shows by each event, and after a tunnel gets
// exactly what has changed meanwhile.
//
//   swift run stream-example http://127.0.0.1:9476 TOKEN [/v1/home?limit=1,/v1/posts/p1]

import AsyncHTTPClient
import Foundation

/// The part of an event `watched` that names its screen.
struct WatchedScreen: Decodable {
  var path: String
}

let arguments = CommandLine.arguments
guard arguments.count > 2 else { exit(64) }
var address = URLComponents(string: arguments[1] + "/v1/stream")
if arguments.count > 3 { address?.queryItems = [URLQueryItem(name: "watch", value: arguments[3])] }

/// What the app shows: the newest state of each screen, as JSON, by the event's name or the watched path.
var screens: [String: String] = [:]
/// Names the states in `screens`. An app that keeps both on the disk also resumes after a restart.
var lastEventID = ""
var retry = Duration.seconds(1)
var failures = 0

while !Task.isCancelled {
  do {
    var request = HTTPClientRequest(url: address?.string ?? "")
    request.headers.add(name: "Authorization", value: "Bearer " + arguments[2])
    if !lastEventID.isEmpty { request.headers.add(name: "Last-Event-ID", value: lastEventID) }
    // A comment comes every 15 s; the shared client cuts a connection that is silent for 90 s.
    let response = try await HTTPClient.shared.execute(request, timeout: .hours(24))
    guard response.status != .unauthorized else {
      print("the token is not valid, or no longer")
      exit(1)
    }
    guard response.status == .ok else { throw HTTPClientError.invalidHeaderFieldValues(["status"]) }
    var rest: [UInt8] = []
    var (event, data, id) = ("", "", "")
    for try await chunk in response.body {
      rest += chunk.readableBytesView
      while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
        let line = String(decoding: rest[..<end], as: UTF8.self)
        rest.removeSubrange(...end)
        let value = String(line.drop { $0 != ":" }.dropFirst(2))
        if line.hasPrefix("event:") { event = value }
        if line.hasPrefix("data:") { data = value }
        if line.hasPrefix("id:") { id = value }
        if line.hasPrefix("retry:") { retry = .milliseconds(Int(value) ?? 1000) }
        // Only now is the event whole: a connection that was cut before would lose it.
        if line.isEmpty, !data.isEmpty {
          // The other screens have no path.
          let watched = try? JSONDecoder().decode(WatchedScreen.self, from: Data(data.utf8))
          screens[watched?.path ?? event] = data
          lastEventID = id
          FileHandle.standardOutput.write(Data("\(event): \(data.prefix(100))\n".utf8))
          (event, data) = ("", "")
        }
      }
      failures = 0
    }
  } catch {
    failures += 1
  }
  // Later and later while it fails, and not when all others do.
  try await Task.sleep(for: retry * Double(1 << min(failures, 5)) * Double.random(in: 0.5...1))
}
