import Archive
import ArgumentParser
import Events
import Kafka
import Postgres
import Rebuild

struct ArchiveErase: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "erase",
    abstract: "Erase from an archive everyone who is erased in the database.",
    discussion: """
      Replaces the segments that name an erased person at or before their erasure, and deletes the old \
      files. A record that only mentions the person keeps its other contents; any other record keeps only its offset and time. \
      Offsets, counts and checksums stay valid, and tables rebuilt from the archive are the same. The \
      archive may be written and read meanwhile. It is safe to interrupt this and to run it again, which \
      reads the whole archive, but replaces only what still has to be replaced.

      Records that are archived later are not erased: run it regularly. The requests themselves stay while there \
      are rebuilt or former tables, which may not have read them yet. What it needs to recognize \
      people is in the database, which holds no ids of them.
      """)

  @OptionGroup var archive: ArchiveOptions
  @OptionGroup var database: DatabaseOptions
  @OptionGroup var topics: TopicOptions

  @Option(
    help: ArgumentHelp(
      "Another prefix of topics in the archive, such as a former one; may be repeated.",
      valueName: "prefix"))
  var otherPrefix: [String] = []

  @Option(help: "Only this person; may be repeated. Must be erased in the database already.")
  var user: [String] = []

  @Flag(
    help: """
      Print one JSON object: people, waiting, keepsRequests, segments, records, erasedRecords, \
      changedRecords, replacedSegments, deletedFiles.
      """)
  var json = false

  @Flag(help: "Show progress even if standard error is not a terminal.")
  var progress = false

  private struct Result: Encodable {
    var people: Int
    var waiting: Int
    var keepsRequests: Bool
    var segments: Int
    var records: Int64
    var erasedRecords: Int64
    var changedRecords: Int64
    var replacedSegments: Int
    var deletedFiles: Int
  }

  func run() throws {
    let storage = try archive.open()
    let prefixes = [topics.prefix] + otherPrefix
    try refuseUnknownTopics(try Manifest(of: storage), prefixes)
    let connection = try database.connect()
    let people = try ErasedPeople(connection, only: user)
    // Tables of a rebuild that begins after this know of these people from the live ones.
    let keepsRequests = try !RebuildState.all(connection).isEmpty
    connection.close()
    let lock = try storage.lockForErasing()
    try deleteLeftovers(storage)
    var shown = Progress(forced: progress)
    let result = try ArchiveErasure(storage) { record in
      let topic = topic(record.topic, prefixes)
      if keepsRequests, topic == .erasures { return nil }
      let left = RecordForgetting(record.wire, topic: topic, time: record.time)
        .remainder { people[$0] }
      guard let left else { return nil }
      var record = record
      record.wire = left
      return record
    } progress: { so in
      shown.show(
        "\(so.segments) segments, \(so.records) records, \(so.erasedRecords) erased, "
          + "\(so.changedRecords) changed")
    }
    withExtendedLifetime(lock) {}
    shown.clear()
    report(
      Result(
        people: people.count, waiting: people.waiting, keepsRequests: keepsRequests,
        segments: result.segments,
        records: result.records, erasedRecords: result.erasedRecords,
        changedRecords: result.changedRecords, replacedSegments: result.replacedSegments,
        deletedFiles: result.deletedFiles))
  }

  private func topic(_ name: String, _ prefixes: [String]) -> Topic? {
    prefixes.lazy.compactMap { Topic(name: name, prefix: $0) }.first
  }

  /// Of a record that cannot be decoded, nothing is left if it names an erased person. So the topics must be known.
  private func refuseUnknownTopics(_ manifest: Manifest, _ prefixes: [String]) throws {
    let unknown = Set(manifest.partitions.map(\.topic)).filter { topic($0, prefixes) == nil }
    guard unknown.isEmpty else {
      throw Failure(
        .usage,
        "With the prefix \(prefixes.joined(separator: " or ")), these topics of the archive are none of Magpie's: "
          + "\(unknown.sorted().joined(separator: ", ")). Name the prefix with --topic-prefix, or a second one with "
          + "--other-prefix.")
    }
  }

  /// What a writer left that was killed may name anybody. A writer that is running has none.
  private func deleteLeftovers(_ storage: DirectoryStorage) throws {
    do {
      let lock = try storage.lockForWriting()
      _ = try ArchiveWriter(storage)
      withExtendedLifetime(lock) {}
    } catch let error as ArchiveError where error.code == .locked {}
  }

  private func report(_ result: Result) {
    if json { return printJSON(result) }
    Console.output.line(
      "\(result.people) people are erased; of \(result.records) records in \(result.segments) segments, "
        + "\(result.erasedRecords) were erased and \(result.changedRecords) changed")
    Console.output.line(
      "\(result.replacedSegments) segments replaced, \(result.deletedFiles) files deleted")
    if result.keepsRequests {
      Console.output.line(
        Style.yellow(
          "the requests stay, because rebuilt or former tables may not have read them yet: run this again after "
            + "`magpie replay --drop-old` or `--drop-rebuilt`"))
    }
    if result.waiting > 0 {
      Console.output.line(
        Style.yellow(
          "\(result.waiting) of the people are still in tables, and workers may publish their names until "
            + "that ends: run this again then"))
    }
  }
}

/// Whoever is erased in the database.
private struct ErasedPeople {
  private let hash: PersonHash
  private var erasures: [[UInt8]: PersonErasure] = [:]
  /// How many of them are still in tables.
  private(set) var waiting = 0
  var count: Int { erasures.count }

  /// - Throws: `Failure` if one of `users` is not erased.
  init(_ connection: Connection, only users: [String]) throws {
    let key = try connection.query("SELECT inner_pad, outer_pad FROM erasure_key").only
    let hash = PersonHash(innerPad: try key.bytea(0), outerPad: try key.bytea(1))
    self.hash = hash
    let rows = try connection.query(
      """
      SELECT person_hash, erased_at, done_at, encode(person_hash, 'hex') FROM erasures
      WHERE cardinality($1::bytea[]) = 0 OR person_hash = ANY ($1)
      """, [.byteaArray(users.map { hash($0) })])
    for row in rows {
      let doneAt = try row.timestamptzOrNil(2).map { EventTime(microseconds: $0) }
      if doneAt == nil { waiting += 1 }
      erasures[try row.bytea(0)] = PersonErasure(
        erasedAt: EventTime(microseconds: try row.timestamptz(1)), doneAt: doneAt,
        formerID: FormerPerson.id(hash: try row.text(3)))
    }
    for user in users where erasures[hash(user)] == nil {
      throw Failure(
        .found,
        "\(user) is not erased in this database. Publish user.erased first, and let the workers apply it."
      )
    }
  }

  subscript(id: String) -> PersonErasure? { erasures.isEmpty ? nil : erasures[hash(id)] }
}
