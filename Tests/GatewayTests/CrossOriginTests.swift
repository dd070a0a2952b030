import Foundation
import HTTPTypes
import TestSupport
import Testing

@testable import Gateway

/// What pages of other origins may do, and the methods that every path has.
@Suite struct CrossOriginTests {
  @Test("only exact origins are accepted as a setting")
  func settings() throws {
    for list in [
      "https://app.example", "http://localhost:3000,https://a.example", " http://[::1]:80800 ",
      "capacitor://localhost", "http://127.0.0.1:8080", "",
    ] {
      _ = try CrossOrigin(list)
    }
    for list in [
      "*", "null", "app.example", "https://app.example/", "https://App.example", "https://",
      "https://a.example:443", "http://a.example:80", "https://*.example", "https://u@a.example",
      "https://a.example:", "//a.example", "https://a.example?x", "https://a.example,*",
      "https://a.example\r\nX: y", "https://" + String(repeating: "a", count: 256),
    ] {
      #expect(throws: OriginError.self, "\(list)") { try CrossOrigin(list) }
    }
  }

  @Test("every route has its preflight, which allows what the route needs, and only listed origins")
  func preflights() async throws {
    let stack = try await GatewayStack(
      arguments: ["--cors-origins", "https://app.example,http://localhost:3000"])
    defer { stack.stop() }
    for route in Route.all {
      let path = ScreenTests.path(route.path)
      let asked = [
        "Origin": "https://app.example", "Access-Control-Request-Method": route.method.rawValue,
        "Access-Control-Request-Headers": "authorization,content-type",
      ]
      let answer = try await stack.send("OPTIONS", path, headers: asked)
      #expect(answer.status == 204 && answer.body.isEmpty, "\(path): \(answer)")
      #expect(answer.headers["access-control-allow-origin"] == "https://app.example")
      let methods = answer.headers["access-control-allow-methods"] ?? ""
      #expect(methods.components(separatedBy: ", ").contains(route.method.rawValue), "\(path)")
      #expect(answer.headers["allow"] == methods)
      #expect(answer.headers["access-control-allow-headers"]?.contains("Idempotency-Key") == true)
      #expect(answer.headers["access-control-max-age"] == "3600")
      #expect(answer.headers["vary"] == "Origin")
      #expect(answer.headers["access-control-allow-credentials"] == nil)
    }
    for origin in [
      "https://evil.example", "null", "https://app.example.evil", "HTTPS://app.example",
    ] {
      for method in ["OPTIONS", "GET"] {
        let answer = try await stack.send(
          method, "/v1/badge", as: "ann",
          headers: ["Origin": origin, "Access-Control-Request-Method": "GET"])
        #expect(answer.status < 300 && answer.headers["vary"]?.contains("Origin") == true)
        #expect(!answer.headers.keys.contains { $0.hasPrefix("access-control") }, "\(origin)")
      }
    }
    // A page can read every answer, a problem's, too.
    for (method, path, person, status) in [
      ("GET", "/v1/badge", "ann", 200), ("GET", "/v1/badge", nil, 401),
      ("PUT", "/v1/alarms/seen", "ann", 202), ("GET", "/nowhere", "ann", 404),
      ("GET", "/openapi.yaml", nil, 200), ("DELETE", "/v1/home", "ann", 405),
    ] as [(String, String, String?, Int)] {
      let answer = try await stack.send(
        method, path, as: person, headers: ["Origin": "http://localhost:3000"])
      #expect(answer.status == status, "\(method) \(path): \(answer)")
      #expect(answer.headers["access-control-allow-origin"] == "http://localhost:3000")
      #expect(
        answer.headers["access-control-expose-headers"]
          == "ETag, Location, Magpie-Position, Retry-After")
    }
  }

  @Test("without the setting, no page of another origin reads anything")
  func byDefault() async throws {
    let stack = try await GatewayStack()
    defer { stack.stop() }
    for method in ["OPTIONS", "GET", "HEAD"] {
      let answer = try await stack.send(
        method, "/v1/badge", as: "ann",
        headers: ["Origin": "https://app.example", "Access-Control-Request-Method": "GET"])
      #expect(answer.status < 300)
      #expect(!answer.headers.keys.contains { $0.hasPrefix("access-control") })
    }
  }

  @Test("HEAD is GET without the body, for everything but the stream; Allow lists all methods")
  func heads() async throws {
    let stack = try await GatewayStack()
    defer { stack.stop() }
    let files = ["/", "/pages/main.js", "/pages/missing.js", "/nowhere"]
    let routes = Route.all.filter { $0.method == .get && $0.path.text != "/v1/stream" }
    for path in routes.map({ ScreenTests.path($0.path) }) + files {
      let get = try await stack.send("GET", path, as: "ann")
      let head = try await stack.send("HEAD", path, as: "ann")
      #expect(head.status == get.status && head.body.isEmpty, "\(path): \(head)")
      for name in ["etag", "content-length", "content-type", "cache-control", "vary"] {
        #expect(head.headers[name] == get.headers[name], "\(path) \(name)")
      }
      #expect(head.headers["content-length"] == "\(get.body.utf8.count)", "\(path)")
      guard let tag = get.headers["etag"] else { continue }
      let same = try await stack.send("HEAD", path, as: "ann", headers: ["If-None-Match": tag])
      #expect(same.status == 304 && same.headers["content-length"] == nil, "\(path): \(same)")
    }
    for (path, allow) in [
      ("/v1/stream", "GET, OPTIONS"), ("/v1/posts/p", "DELETE, GET, HEAD, OPTIONS, PUT"),
      ("/v1/alarms/seen", "OPTIONS, PUT"), ("/", "GET, HEAD, OPTIONS"),
      ("/pages/main.js", "GET, HEAD, OPTIONS"), ("/problems", "GET, HEAD, OPTIONS"),
    ] {
      #expect(try await stack.send("OPTIONS", path).headers["allow"] == allow, "\(path)")
      let answer = try await stack.send("TRACE", path, as: "ann")
      #expect(answer.status == 405 && answer.headers["allow"] == allow, "\(path): \(answer)")
    }
    #expect(try await stack.send("HEAD", "/v1/stream", as: "ann").status == 405)
    #expect(try await stack.send("OPTIONS", "/nowhere").status == 404)
  }
}
