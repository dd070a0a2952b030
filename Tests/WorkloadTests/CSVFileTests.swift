import Foundation
import Testing
import Workload

@Suite struct CSVFileTests {
  private func rows(_ text: String, required: Int = 1) throws -> [[String]] {
    let path = NSTemporaryDirectory() + "rows-\(UUID()).csv"
    try Data(text.utf8).write(to: URL(filePath: path))
    defer { try? FileManager.default.removeItem(atPath: path) }
    let file = try CSVFile(path, columns: ["author", "post", "time"], required: required)
    var rows: [[String]] = []
    while let row = try file.next() { rows.append(row) }
    return rows
  }

  @Test("without a header, columns have their usual order and the last ones may be missing")
  func withoutHeader() throws {
    #expect(
      try rows("minji,p1,now\nsomchai\n\nnok,p2") == [
        ["minji", "p1", "now"], ["somchai", "", ""], ["nok", "p2", ""],
      ])
    #expect(try rows("").isEmpty)
  }

  @Test("a header determines the order")
  func header() throws {
    #expect(try rows("\u{FEFF}Time,author\r\nnow,minji\r\n") == [["minji", "", "now"]])
    // Without the required column, it is a row.
    #expect(try rows("time,post\n") == [["time", "post", ""]])
  }

  @Test("a quoted field may contain commas and quotation marks")
  func quotes() throws {
    #expect(try rows("\"a, \"\"b\"\"\",\"\",\"c\"\n") == [["a, \"b\"", "", "c"]])
  }

  @Test(
    "an error names the file, the line and what was expected",
    arguments: [
      ("a\n,p1\n", "expected author,[post],[time], but found 2 fields, 1 of them empty"),
      ("a\na,b,c,d\n", "found 4 fields"), ("author,time\na\n", "found 1 fields"),
      ("a\n\"b\n", "quotation mark"), ("a\nb\"c\n", "quotation mark"),
      ("a\n\"b\"c\n", "quotation mark"), ("a\nb\0c\nd\n", "NUL"),
      ("a\n\(String(repeating: "b", count: 5_000))\n", "expected at most 4096 bytes"),
    ])
  func invalid(text: String, problem: String) {
    #expect {
      try rows(text)
    } throws: { error in
      "\(error)".contains(".csv:2: ") && "\(error)".contains(problem)
    }
  }

  @Test("a file that cannot be read is an error")
  func unreadable() {
    for path in ["/nonexistent/file", NSTemporaryDirectory()] {
      #expect {
        let file = try CSVFile(path, columns: ["author"], required: 1)
        _ = try file.next()
      } throws: { error in
        "\(error)".contains(path) && "\(error)".contains("cannot be read")
      }
    }
  }
}
