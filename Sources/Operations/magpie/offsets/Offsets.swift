import ArgumentParser

struct Offsets: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show, set, export and import the workers' stored offsets.",
    discussion: """
      The offsets are stored in PostgreSQL, in the database of the tables, and say exactly which \
      records the tables contain. Setting an offset fences the lane that has the partition; the lane \
      then continues at the new offset.
      """,
    subcommands: [
      OffsetsShow.self, OffsetsReset.self, OffsetsExport.self, OffsetsImport.self,
    ])
}
