import AlarmText
import Events

/// A comparison as one self-contained page without scripts or requests. User content is escaped.
public struct HTMLReport: Sendable {
  /// What the page is about, such as `Rebuilt tables against live tables`.
  public var title: String
  /// The label of the expected rows, such as `rebuilt`.
  public var expected: String
  /// The label of the found rows, such as `live`.
  public var found: String
  /// Time, source and similar facts, one line each.
  public var notes: [String]
  /// The maximum number of people listed.
  public var peopleMax = 30

  public init(title: String, expected: String, found: String, notes: [String]) {
    (self.title, self.expected, self.found, self.notes) = (title, expected, found, notes)
  }

  /// Renders the page.
  public func page(_ report: ComparisonReport) -> String {
    """
    <!doctype html>
    <html lang="en">
    <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
    <title>\(plain(title))</title>
    <style>\(htmlReportStyle)</style>
    </head>
    <body>
    <header class="\(report.isEqual ? "good" : "bad")">
    <h1>\(plain(title))</h1>
    <p class="verdict">\(verdict(report))</p>
    \(notes.map { "<p>\(plain($0))</p>" }.joined(separator: "\n"))
    </header>
    <main>
    \(tables(report))
    \(people(report))
    \(report.tables.filter { !$0.samples.isEmpty }.map(samples).joined(separator: "\n"))
    </main>
    </body>
    </html>

    """
  }

  private func verdict(_ report: ComparisonReport) -> String {
    let rows = number(report.rows)
    guard !report.isEqual else { return "\(rows) rows, no differences" }
    let people = report.peopleCount
    return "\(number(report.total)) of \(rows) rows differ, affecting \(number(people))"
      + (report.ofOtherPeople > 0 ? " and more" : "") + (people == 1 ? " person" : " people")
  }

  private func tables(_ report: ComparisonReport) -> String {
    let most = max(1, report.tables.map(\.counts.total).max() ?? 1)
    let rows = report.tables.map { table in
      let counts = table.counts
      let name =
        table.samples.isEmpty
        ? plain(table.name) : "<a href=\"#\(plain(table.name))\">\(plain(table.name))</a>"
      // At least 2 %, so that every nonzero count is visible.
      let bars = [
        ("missing", counts.missing), ("extra", counts.extra), ("different", counts.different),
      ].filter { $0.1 > 0 }.map {
        "<i class=\"\($0.0)\" style=\"width:\(max(2, 100 * $0.1 / most))%\"></i>"
      }.joined()
      let inFlight = table.inFlight > 0 ? number(table.inFlight) : ""
      return """
        <tr\(counts.total > 0 ? " class=\"wrong\"" : "")><th>\(name)</th>\
        <td>\(number(table.expected))</td><td>\(number(table.found))</td>\
        \([counts.missing, counts.extra, counts.different].map(cell).joined())\
        <td>\(inFlight)</td><td class="bars">\(bars)</td></tr>
        """
    }
    return """
      <section><h2>Tables</h2><table>
      <thead><tr><th>table</th><th>\(plain(expected))</th><th>\(plain(found))</th>\
      <th>missing</th><th>extra</th><th>different</th>\
      <th title="not settled when the snapshot was taken">in flight</th><th></th></tr></thead>
      <tbody>\(rows.joined(separator: "\n"))</tbody></table>
      <p class="legend"><i class="missing"></i> missing: \(plain(expected)), but not \
      \(plain(found)) <i class="extra"></i> extra: \(plain(found)), but not \(plain(expected)) \
      <i class="different"></i> different: in both, with different values</p></section>
      """
  }

  private func people(_ report: ComparisonReport) -> String {
    guard !report.isEqual else { return "" }
    let people = report.worst(peopleMax)
    let rows = people.map { person in
      let places = person.tables.sorted { $0.key < $1.key }.map {
        "\(plain($0.key)) <b>\(number($0.value))</b>"
      }
      return "<tr><th>\(written(person.id))</th><td>\(number(person.counts.total))</td>"
        + "<td class=\"places\">\(places.joined(separator: ", "))</td></tr>"
    }
    let rest = report.peopleCount - people.count
    return """
      <section><h2>People</h2><table><thead><tr><th>person</th><th>rows</th><th>where</th></tr>\
      </thead><tbody>\(rows.joined(separator: "\n"))</tbody></table>
      \(rest > 0 ? "<p class=\"legend\">and \(number(rest)) more</p>" : "")</section>
      """
  }

  private func samples(_ table: ComparisonReport.Table) -> String {
    let shown = table.samples.map { difference in
      let columns = difference.columns.filter {
        difference.kind == .different || ($0.expected ?? $0.found) != nil
      }
      let lines = columns.map { column in
        let values =
          switch difference.kind {
          case .missing: "<td>\(value(column.expected))</td>"
          case .extra: "<td>\(value(column.found))</td>"
          case .different:
            "<td>\(value(column.expected))</td><td>\(value(column.found))</td>"
          }
        return "<tr><th>\(plain(column.name))</th>\(values)</tr>"
      }
      let head =
        difference.kind == .different && !lines.isEmpty
        ? "<tr><th></th><th>\(plain(expected))</th><th>\(plain(found))</th></tr>" : ""
      return """
        <details\(difference.kind == .different ? " open" : "")><summary>\
        <span class="kind \(difference.kind.rawValue)">\(difference.kind.rawValue)</span> \
        \(written(difference.person)) \
        <span class="key">\(difference.key.map(written).joined(separator: " / "))</span></summary>
        \(lines.isEmpty ? "" : "<table class=\"row\">\(head)\(lines.joined())</table>")</details>
        """
    }
    let rest = table.counts.total - table.samples.count
    return """
      <section id="\(plain(table.name))"><h2>\(plain(table.name))</h2>
      \(shown.joined(separator: "\n"))
      \(rest > 0 ? "<p class=\"legend\">and \(number(rest)) more</p>" : "")</section>
      """
  }

  private func cell(_ count: Int) -> String {
    "<td>\(count == 0 ? "<span class=\"none\">0</span>" : "<b>\(number(count))</b>")</td>"
  }

  private func value(_ text: String?) -> String {
    text.map(written) ?? "<span class=\"none\">none</span>"
  }
}

/// A number with thousands separators.
func number(_ value: Int) -> String {
  let digits = String(value.magnitude)
  var result = ""
  for (index, digit) in digits.enumerated() {
    if index > 0, (digits.count - index) % 3 == 0 { result += "\u{202F}" }
    result.append(digit)
  }
  return (value < 0 ? "-" : "") + result
}

/// Escapes our own text.
private func plain(_ text: String) -> String { RenderedAlarm.escapedHTML(text) }

/// Escapes user content: isolated against bidirectional overrides, truncated, and with invisible
/// characters made visible.
func written(_ text: String) -> String {
  let (charactersMax, bytesMax) = (300, 2400)
  guard !text.isEmpty else { return "<span class=\"none\">empty</span>" }
  var result = "<bdi>"
  var (count, bytes) = (0, 0)
  for scalar in text.unicodeScalars {
    count += 1
    bytes += scalar.utf8.count
    if count > charactersMax || bytes > bytesMax { return result + "</bdi>…" }
    if isHazardous(scalar) {
      result += "<span class=\"code\">U+\(String(scalar.value, radix: 16, uppercase: true))</span>"
    } else {
      result += RenderedAlarm.escapedHTML(String(scalar))
    }
  }
  return result + "</bdi>"
}

private let htmlReportStyle = """
  :root{color-scheme:light dark;--ink:#1c2024;--dim:#6b7280;--line:#e3e6ea;--page:#f6f7f9;
  --card:#fff;--good:#0a7d4f;--bad:#b42318;--missing:#d9480f;--extra:#1971c2;--different:#9c36b5}
  @media(prefers-color-scheme:dark){:root{--ink:#e6e8eb;--dim:#9aa4b2;--line:#2b3139;--page:#14171b;
  --card:#1c2127;--good:#3fc48c;--bad:#ff7b72;--missing:#ff922b;--extra:#4dabf7;--different:#da77f2}}
  *{box-sizing:border-box}
  body{margin:0;background:var(--page);color:var(--ink);
  font:15px/1.5 system-ui,-apple-system,"Segoe UI","Noto Sans",sans-serif}
  header,main{max-width:1080px;margin:0 auto;padding:24px}
  header{padding-bottom:0}header p{margin:0;color:var(--dim)}
  h1{font-size:22px;margin:0 0 8px}h2{font-size:16px;margin:0 0 12px}
  header .verdict{font-size:28px;line-height:1.25;font-weight:600;margin:0 0 12px}
  .good .verdict{color:var(--good)}.bad .verdict{color:var(--bad)}
  section{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:18px 20px;
  margin:0 0 18px;overflow-x:auto}
  table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
  th,td{padding:5px 10px;text-align:right;border-bottom:1px solid var(--line);vertical-align:top}
  th:first-child{text-align:left;font-weight:500}thead th{color:var(--dim);font-weight:500}
  tbody tr:last-child>*{border-bottom:0}
  td.places{text-align:left;color:var(--dim)}td.places b{color:var(--ink)}
  thead th:nth-child(3):last-child{text-align:left}
  td.bars{width:24%;min-width:120px;text-align:left;white-space:nowrap;font-size:0}
  i{display:inline-block;height:10px;border-radius:2px;margin:6px 1px 0 0}
  .legend{color:var(--dim);font-size:13px;margin:12px 0 0}.legend i{width:10px;margin:0 2px 0 10px}
  .legend i:first-child{margin-left:0}
  i.missing,.kind.missing{background:var(--missing)}i.extra,.kind.extra{background:var(--extra)}
  i.different,.kind.different{background:var(--different)}
  .none{color:var(--dim)}a{color:inherit}
  details{border-top:1px solid var(--line);padding:7px 0}summary{cursor:pointer}
  .kind{color:#fff;border-radius:4px;padding:1px 7px;font-size:12px;margin-right:6px}
  .key,.row bdi{font-family:ui-monospace,Menlo,Consolas,"Noto Sans Mono",monospace;font-size:13px}
  .key{color:var(--dim)}bdi{overflow-wrap:anywhere}
  .row{width:auto;margin:8px 0 4px 18px}.row th,.row td{text-align:left;max-width:420px}
  .row th{color:var(--dim);font-weight:400}
  .code{font-size:11px;border:1px solid var(--bad);color:var(--bad);border-radius:3px;padding:0 3px;
  margin:0 1px}
  """
