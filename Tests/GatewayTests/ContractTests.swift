import Foundation
import HTTPTypes
import TestSupport
import Testing
import Yams

@testable import Gateway

/// The document and the code say the same, in both directions.
@Suite struct ContractTests {
  let document: [String: Any]

  init() throws {
    let text = String(decoding: openAPIDocument, as: UTF8.self)
    document = try Yams.load(yaml: text) as? [String: Any] ?? [:]
  }

  func object(_ value: Any?) -> [String: Any] { value as? [String: Any] ?? [:] }

  /// The object behind `$ref`, or the object itself.
  func resolved(_ value: Any?) throws -> [String: Any] {
    let value = object(value)
    guard let reference = value["$ref"] as? String else { return value }
    var target = document
    for step in reference.split(separator: "/").dropFirst() {
      target = object(target[String(step)])
    }
    #expect(!target.isEmpty, "\(reference) refers to nothing")
    return target
  }

  func operation(_ method: HTTPRequest.Method, _ path: String) throws -> [String: Any] {
    let paths = object(document["paths"])
    return object(object(paths[path])[method.rawValue.lowercased()])
  }

  @Test("every route is in the document, and every operation of the document is a route")
  func routes() throws {
    let paths = object(document["paths"])
    let documented = paths.flatMap { path, item in
      object(item).keys.filter { $0 != "parameters" }.map { "\($0.uppercased()) \(path)" }
    }
    let routes = Route.all.map { "\($0.method.rawValue) \($0.path.text)" }
    #expect(routes.count == Set(routes).count && routes.count > 50)
    #expect(documented.sorted() == routes.sorted())
    let names = try Route.all.map {
      try operation($0.method, $0.path.text)["operationId"] as? String
    }
    #expect(Set(names.compactMap { $0 }).count == routes.count)
  }

  @Test("every operation has exactly the parameters that the code reads")
  func parameters() throws {
    for route in Route.all {
      let item = object(object(document["paths"])[route.path.text])
      let operation = try operation(route.method, route.path.text)
      let parameters = try ([item, operation].flatMap { $0["parameters"] as? [Any] ?? [] })
        .map { try resolved($0) }
      func names(_ place: String) -> [String] {
        parameters.filter { $0["in"] as? String == place }.compactMap { $0["name"] as? String }
          .sorted()
      }
      #expect(names("path") == route.path.parameters.sorted(), "\(route.path.text)")
      switch route.endpoint {
      case .screen(let screen):
        #expect(names("query") == screen.queryParameters.sorted(), "\(route.path.text)")
        #expect(names("header") == ["If-None-Match", "Magpie-After"], "\(route.path.text)")
      case .action(let action):
        #expect(names("query") == [], "\(route.path.text)")
        let reads =
          action.readsPost || [.reminderSet, .reminderCycleSet].contains(action.type)
        #expect(
          names("header")
            == ["Idempotency-Key"] + (reads ? ["Magpie-After"] : []) + ["Magpie-Time"],
          "\(route.method) \(route.path.text)")
      case .stream:
        #expect(names("query") == ["watch"] && names("header") == ["Last-Event-ID"])
      case .text: #expect(operation["security"] as? [String] == [])
      }
    }
  }

  @Test("pages of other origins may send and read every header of the document")
  func crossOrigin() throws {
    let components = object(document["components"])
    let sent = try object(components["parameters"]).keys.map {
      try resolved(["$ref": "#/components/parameters/\($0)"])
    }.filter { $0["in"] as? String == "header" }.compactMap { $0["name"] as? String }
    let allowed = CrossOrigin.requestHeaders.map { $0.rawName.lowercased() }
    #expect(sent.count > 4 && Set(sent.map { $0.lowercased() }).isSubset(of: allowed))
    // What a browser itself acts on needs no permission.
    let read = Set(object(components["headers"]).keys).subtracting(["Allow", "WWW-Authenticate"])
    #expect(read == Set(CrossOrigin.exposedHeaders.map(\.rawName)))
  }

  @Test("every action has exactly the documented members in its body")
  func bodies() throws {
    for action in Action.all {
      let body = object(try operation(action.method, action.path)["requestBody"])
      let content = object(object(body["content"])["application/json"])
      let schema = try resolved(content["schema"])
      #expect(object(schema["properties"]).keys.sorted() == action.body.sorted(), "\(action.path)")
      #expect(body.isEmpty == action.body.isEmpty)
      if !body.isEmpty {
        #expect(schema["additionalProperties"] as? Bool == false, "\(action.path)")
      }
      let answers = object(try operation(action.method, action.path)["responses"])
      let creates = action.members.values.contains { if case .newID = $0 { true } else { false } }
      #expect(
        object(answers["202"])["$ref"] as? String
          == "#/components/responses/\(creates ? "Created" : "Accepted")", "\(action.path)")
    }
  }

  /// Whether the body makes an event of the action.
  func accepts(_ body: [String: Any], _ action: Action) throws -> Bool {
    let bytes = Array(try JSONSerialization.data(withJSONObject: body))
    let event = try? action.event(
      person: "ann",
      path: ["post": "p", "comment": "c", "user": "u", "reminder": "r", "cycle": "c"],
      body: bytes, author: "bob", eventID: "e", time: .now, source: "test"
    ).event
    return event != nil
  }

  @Test("a member may be null where the document allows it, and no text may contain NUL")
  func nullAndNUL() throws {
    for action in Action.all where !action.body.isEmpty {
      let body = object(try operation(action.method, action.path)["requestBody"])
      let schema = try resolved(object(object(body["content"])["application/json"])["schema"])
      let text = ActionTests.body(action) ?? "{}"
      let valid = object(try JSONSerialization.jsonObject(with: Data(text.utf8)))
      for (name, value) in object(schema["properties"]) {
        let member = try resolved(value)
        let types = member["type"] as? [String] ?? [member["type"] as? String ?? ""]
        let values = member["enum"] as? [Any] ?? []
        let mayBeNull = types.contains("null") || values.contains { $0 is NSNull }
        var changed = valid
        // What a valid body has may be one of two members, of which it must have one.
        if valid[name] == nil || !mayBeNull {
          changed[name] = NSNull()
          #expect(try accepts(changed, action) == mayBeNull, "\(action.path): \(name)")
        }
        guard types.contains("string") else { continue }
        #expect(member["pattern"] is String, "\(action.path): \(name)")
        changed[name] = "a\u{0}"
        #expect(try !accepts(changed, action), "\(action.path): \(name)")
      }
    }
  }

  @Test("what the document requires of a body is required")
  func requiredMembers() throws {
    var removed = 0
    for action in Action.all where !action.body.isEmpty {
      let body = object(try operation(action.method, action.path)["requestBody"])
      let schema = try resolved(object(object(body["content"])["application/json"])["schema"])
      let valid = try ActionTests.body(action).map {
        object(try JSONSerialization.jsonObject(with: Data($0.utf8)))
      }
      let required = schema["required"] as? [String] ?? []
      #expect(Set(action.required).isSubset(of: required), "\(action.path)")
      guard let valid else {
        #expect(required.isEmpty, "\(action.path)")
        continue
      }
      #expect(try accepts(valid, action), "\(action.path)")
      var alternatives: [String] = []
      for case let one as [String: Any] in schema["oneOf"] as? [Any] ?? [] {
        alternatives += one["required"] as? [String] ?? []
      }
      for name in required + alternatives where valid[name] != nil {
        var lacking = valid
        lacking[name] = nil
        #expect(try !accepts(lacking, action), "\(action.path) without \(name)")
        if valid[name] is String {
          lacking[name] = ""
          #expect(try !accepts(lacking, action), "\(action.path) with an empty \(name)")
        }
        removed += 1
      }
    }
    #expect(removed > 10)
  }

  @Test("every screen has exactly the columns that the document says")
  func columns() throws {
    let connection = try TestDatabase.connection()
    for screen in Screen.all where screen.shape != .value {
      let answers = object(try operation(.get, screen.path)["responses"])
      let content = object(object(object(answers["200"])["content"])["application/json"])
      var schema = try resolved(content["schema"])
      if screen.shape == .page {
        #expect(object(schema["properties"]).keys.sorted() == ["items", "next"])
        schema = try resolved(object(object(schema["properties"])["items"])["items"])
      }
      let query = try screen.statement(
        viewer: "ann",
        path: ["post": "p", "user": "u", "alarm": "00000000-0000-0000-0000-000000000000"],
        query: [:])
      let function = query.sql.firstMatch(of: /FROM (\w+\([^)]*\)) r/).map { String($0.1) } ?? ""
      let columns = try connection.query("SELECT r.* FROM \(function) r", query.parameters)
        .columnNames
      #expect(object(schema["properties"]).keys.sorted() == columns.sorted(), "\(screen.path)")
      #expect((schema["required"] as? [String])?.sorted() == columns.sorted(), "\(screen.path)")
    }
    // A value's members are those that its expression names.
    for screen in Screen.all where screen.shape == .value {
      let answers = object(try operation(.get, screen.path)["responses"])
      let content = object(object(object(answers["200"])["content"])["application/json"])
      let names = screen.function.matches(of: /'(\w+)',/).map { String($0.1) }
      #expect(
        object(try resolved(content["schema"])["properties"]).keys.sorted() == names.sorted())
    }
  }

  @Test("the document lists the types of problems, with what the gateway sends")
  func problems() throws {
    let schemas = object(object(document["components"])["schemas"])
    let properties = object(object(schemas["Problem"])["properties"])
    let types = object(properties["type"])["enum"] as? [String] ?? []
    #expect(types == Problem.Code.allCases.map { "/problems#\($0.rawValue)" })
  }

  @Test("docs/api.md names every type of problem, every header and every setting of the gateway")
  func page() throws {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let page = try String(contentsOf: root.appending(path: "docs/api.md"), encoding: .utf8)
    for code in Problem.Code.allCases { #expect(page.contains("`\(code.rawValue)`")) }
    for name in ["Magpie-After", "Magpie-Position", "Magpie-Time", "Idempotency-Key", "ETag"] {
      #expect(page.contains(name))
    }
    for name in GatewayCommand.helpMessage().matches(
      of: /MAGPIE_(API|CONNECTIONS|CORS|JWKS|REQUESTS|STREAMS|TOKEN|TRUSTED|WAIT)_[A-Z_]+[A-Z]/)
    {
      #expect(page.contains("`\(name.0)`"), "\(name.0)")
    }
  }
}
