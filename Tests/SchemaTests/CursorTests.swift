import Foundation
import Postgres
import TestSupport
import Testing

/// Tests every paging function; they are found in the catalog by their parameter `before`.
@Suite struct CursorTests {
  private struct Paging {
    var name: String
    var call: String
  }

  /// Calls with `$1` as the cursor and unknown people and posts as the other arguments.
  private func pagings(_ connection: Connection) throws -> [Paging] {
    try connection.query(
      """
      SELECT p.proname::text, string_agg(
        CASE
          WHEN a.name = 'before' THEN '$1'
          WHEN a.type = 'int4'::regtype THEN '5'
          WHEN a.type = 'uuid'::regtype THEN quote_literal('00000000-0000-5000-8000-000000000001')
          ELSE quote_literal('nobody')
        END, ', ' ORDER BY a.position)
      FROM pg_proc p
      CROSS JOIN LATERAL unnest(p.proargnames, p.proargtypes::oid[])
        WITH ORDINALITY AS a (name, type, position)
      WHERE p.pronamespace = 'public'::regnamespace AND 'before' = ANY (p.proargnames)
        AND a.position <= p.pronargs
      GROUP BY p.oid, p.proname
      -- legacy_alarm_list takes an integer: see LegacyListTests.
      HAVING bool_or(a.name = 'before' AND a.type = 'text'::regtype)
      ORDER BY 1
      """
    ).map { Paging(name: try $0.text(0), call: "\(try $0.text(0))(\(try $0.text(1)))") }
  }

  /// The call's SQLSTATE, or the whole error if it does not say that this is no cursor; nil if it
  /// succeeds.
  private func failure(_ paging: Paging, _ cursor: String?, _ connection: Connection) -> String? {
    do {
      _ = try connection.query("SELECT count(*) FROM \(paging.call)", [.text(cursor)])
      return nil
    } catch let error as PostgresError {
      return error.message.contains("not a cursor: ") ? error.sqlstate : "\(error)"
    } catch {
      return "\(error)"
    }
  }

  @Test("every paging function rejects a malformed cursor with invalid_text_representation")
  func damaged() throws {
    let connection = try TestDatabase.connection()
    let pagings = try pagings(connection)
    let known: Set = [
      "feed_page", "home_page", "conversation_list", "conversation_page", "comment_page",
      "alarm_page", "search_users", "user_posts_page", "likers_page", "followers_page",
      "following_page", "alarm_people",
    ]
    #expect(Set(pagings.map(\.name)).isSuperset(of: known))
    let damaged = [
      "", ":", ":5", "5", "5:", "x", "-5:a", "+5:a", " 5:a", "5 :a", "5.0:a", "1e3:a", "0x5:a",
      "é:a",
      "99999999999999999999:a", "9223372036854775807:a", "9223372036854775808:a",
      "-9223372036854775809:a", "9999999999999999:a", "\u{661}:a", "\n5:a",
      String(repeating: "9", count: 100_000) + ":a", String(repeating: ":", count: 1000),
    ]
    for paging in pagings {
      #expect(failure(paging, nil, connection) == nil, "\(paging.call)")
      // Reminders may be due later than anything can have happened.
      let tooLate = paging.name == "reminder_page" ? "9007199254740992:a" : "4503599627370496:a"
      for cursor in damaged + [tooLate] {
        #expect(
          failure(paging, cursor, connection) == "22P02", "\(paging.call) \(cursor.prefix(40))")
      }
    }
  }

  @Test("every paging function accepts a randomly altered cursor or rejects it with that error")
  func damagedByChance() throws {
    let connection = try TestDatabase.connection()
    var random = SeededGenerator()
    let whole = [
      "778003200000000:post-81", "0:a", "4503599627370495:00000000-0000-5000-8000-000000000001",
      "4:nameid", "1704067200000000:00000000-0000-5000-8000-000000000001",
    ]
    let characters = Array("0123456789:-+ .eaé\u{1F600}\n%'")
    for paging in try pagings(connection) {
      for _ in 0..<150 {
        var cursor = Array(try #require(whole.randomElement(using: &random)))
        for _ in 0..<Int.random(in: 1...4, using: &random) {
          let place = Int.random(in: 0...cursor.count, using: &random)
          let character = try #require(characters.randomElement(using: &random))
          switch Int.random(in: 0..<4, using: &random) {
          case 0: cursor.insert(character, at: place)
          case 1: cursor = Array(cursor.prefix(place))
          case 2: cursor = Array(cursor.dropFirst(place))
          default: if place < cursor.count { cursor[place] = character }
          }
        }
        let failure = failure(paging, String(cursor), connection)
        #expect(failure == nil || failure == "22P02", "\(paging.call) \(String(cursor))")
        // A cursor without a number before the colon or an id after it is always rejected.
        let parts = String(cursor).split(
          separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        if parts.count < 2 || parts.contains(where: \.isEmpty) {
          #expect(failure == "22P02", "\(paging.call) \(String(cursor))")
        }
      }
    }
  }
}
