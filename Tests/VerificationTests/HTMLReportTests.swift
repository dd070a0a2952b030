import Testing
import Verification

/// The report page for operators.
@Suite struct HTMLReportTests {
  private let page = HTMLReport(
    title: "A <b>", expected: "rebuilt", found: "in use", notes: ["one & two"])

  @Test("user content is never markup and cannot reverse the page's text direction")
  func hostile() {
    var report = ComparisonReport()
    report.add(
      Difference(
        table: "profiles", kind: .different, person: "<script>alert(1)</script>",
        key: ["\" onload=\"x"],
        columns: [
          ("nickname", "\u{202E}evil\u{2066}", "</style><img src=x onerror=alert(1)>"),
          ("bio", String(repeating: "a\u{301}", count: 10_000), nil),
        ]))
    let html = page.page(report)
    #expect(!html.contains("<script") && !html.contains("<img") && !html.contains("</style><"))
    #expect(html.contains("&lt;script&gt;alert(1)&lt;/script&gt;"))
    #expect(!html.unicodeScalars.contains("\u{202E}") && html.contains("U+202E"))
    #expect(html.contains("&quot; onload=&quot;x"))
    #expect(html.utf8.count < 30_000)
    #expect(!html.contains("http:") && !html.contains("https:"))
  }

  @Test("a comparison without differences says so and lists the tables")
  func equal() {
    var report = ComparisonReport()
    report.open("follows", .feeds)
    report.count("follows", expected: 12_345, found: 12_345)
    let html = page.page(report)
    #expect(html.contains("12\u{202F}345 rows, no differences"))
    #expect(html.contains("<th>follows</th>"))
    #expect(!html.contains("<h2>People</h2>"))
  }

  @Test("a report stays small regardless of the differences, and says what it omits")
  func bounded() {
    var report = ComparisonReport(samplesMax: 3, peopleMax: 10)
    for number in 0..<1000 {
      report.add(
        Difference(
          table: "likes", kind: .missing, person: "p\(number)", key: ["\(number)"], columns: []))
    }
    #expect(report.total == 1000)
    #expect(report.tables[0].samples.count == 3)
    #expect(report.peopleCount == 10)
    #expect(report.ofOtherPeople == 990)
    #expect(page.page(report).contains("and 997 more"))
  }
}
