import Foundation

/// Plots as SVG, readable on light and dark pages.
enum Chart {
  struct Bar {
    var label: String
    var value: Double
    var low: Double
    var high: Double
    /// Printed next to the bar.
    var text: String
    var isGood = true
  }

  /// Horizontal bars from 0 with their ranges, and an optional target line.
  static func bars(_ title: String, _ bars: [Bar], aim: Double? = nil) -> String {
    let (left, width, step) = (330.0, 330.0, 26.0)
    let most = max(bars.map(\.high).max() ?? 1, aim ?? 0) * 1.02
    func x(_ value: Double) -> Double { left + min(value, most) / most * width }
    var body = ""
    for (index, bar) in bars.enumerated() {
      let y = 44 + Double(index) * step
      body += text(left - 8, y + 12, bar.label, anchor: "end")
      body += box(left, y, max(1, x(bar.value) - left), 16, bar.isGood ? "#3b7dd8" : "#d8703b")
      if bar.high > bar.low { body += line(x(bar.low), y + 8, x(bar.high), y + 8) }
      body += text(max(x(bar.high), x(bar.value)) + 6, y + 12, bar.text)
    }
    let bottom = 44 + Double(bars.count) * step
    if let aim {
      body += line(x(aim), 34, x(aim), bottom, dashed: true)
      body += text(x(aim), 30, "target", anchor: "middle")
    }
    return frame(title, width: 820, height: bottom + 12, body)
  }

  struct Series {
    var label: String
    var values: [(x: Double, y: Double)]
  }

  /// Lines on logarithmic axes.
  static func lines(
    _ title: String, x horizontal: String, y vertical: String, _ series: [Series],
    limit: (Double, String)? = nil
  ) -> String {
    let all = series.flatMap(\.values)
    guard let lowX = all.map(\.x).min(), let highX = all.map(\.x).max(),
      let lowY = (all.map(\.y) + [limit?.0].compactMap(\.self)).min(),
      let highY = (all.map(\.y) + [limit?.0].compactMap(\.self)).max(), lowX > 0, lowY > 0
    else { return frame(title, width: 820, height: 60, text(20, 48, "not measured")) }
    let (left, top, width, height) = (70.0, 48.0, 540.0, 250.0)
    let bottomY = pow(10, log10(lowY).rounded(.down))
    let topY = pow(10, log10(highY).rounded(.up))
    func x(_ value: Double) -> Double {
      left + 20 + (width - 40) * (highX > lowX ? log(value / lowX) / log(highX / lowX) : 0.5)
    }
    func y(_ value: Double) -> Double {
      top + height * (1 - log(value / bottomY) / log(max(topY / bottomY, 1.0001)))
    }
    var body = ""
    var tick = bottomY
    while tick <= topY * 1.001 {
      body += line(left, y(tick), left + width, y(tick), faint: true)
      body += text(left - 6, y(tick) + 4, short(tick), anchor: "end")
      tick *= 10
    }
    for value in Set(all.map(\.x)).sorted() {
      body += text(x(value), top + height + 18, short(value), anchor: "middle")
    }
    body += text(left + width / 2, top + height + 38, horizontal, anchor: "middle")
    body += text(left, top - 8, vertical)
    if let limit {
      body += line(left, y(limit.0), left + width, y(limit.0), dashed: true)
      body += text(left + width + 6, y(limit.0) + 4, limit.1)
    }
    let colors = ["#3b7dd8", "#d8703b", "#3ba55c", "#9b59b6", "#c0392b", "#16a085", "#7f8c8d"]
    for (index, curve) in series.enumerated() {
      let color = colors[index % colors.count]
      let points = curve.values.map { "\(rounded(x($0.x))),\(rounded(y($0.y)))" }
      body += "<polyline points=\"\(points.joined(separator: " "))\" fill=\"none\" "
      body += "stroke=\"\(color)\" stroke-width=\"2\"/>\n"
      for value in curve.values {
        body += "<circle cx=\"\(rounded(x(value.x)))\" cy=\"\(rounded(y(value.y)))\" r=\"3\" "
        body += "fill=\"\(color)\"/>\n"
      }
      let legend = top + 8 + Double(index) * 20
      body += box(left + width + 90, legend - 9, 10, 10, color)
      body += text(left + width + 106, legend, curve.label)
    }
    return frame(title, width: 820, height: top + height + 52, body)
  }

  private static func short(_ value: Double) -> String {
    switch value {
    case 1_000_000...: Table.number(value / 1_000_000, value < 10_000_000 ? 1 : 0) + " M"
    case 1...: Table.number(value, 0)
    default: String(format: "%g", value)
    }
  }

  private static func frame(_ title: String, width: Double, height: Double, _ body: String)
    -> String
  {
    """
    <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(rounded(width)) \(rounded(height))" \
    font-family="sans-serif" font-size="12">
    <rect width="100%" height="100%" fill="#ffffff"/>
    <text x="12" y="18" font-size="14" font-weight="bold" fill="#222222">\(escaped(title))</text>
    \(body)</svg>

    """
  }

  private static func text(
    _ x: Double, _ y: Double, _ text: String, anchor: String = "start"
  ) -> String {
    "<text x=\"\(rounded(x))\" y=\"\(rounded(y))\" text-anchor=\"\(anchor)\" fill=\"#222222\">"
      + "\(escaped(text))</text>\n"
  }

  private static func box(
    _ x: Double, _ y: Double, _ width: Double, _ height: Double, _ color: String
  ) -> String {
    "<rect x=\"\(rounded(x))\" y=\"\(rounded(y))\" width=\"\(rounded(width))\" "
      + "height=\"\(rounded(height))\" fill=\"\(color)\"/>\n"
  }

  private static func line(
    _ x1: Double, _ y1: Double, _ x2: Double, _ y2: Double, dashed: Bool = false,
    faint: Bool = false
  ) -> String {
    "<line x1=\"\(rounded(x1))\" y1=\"\(rounded(y1))\" x2=\"\(rounded(x2))\" "
      + "y2=\"\(rounded(y2))\" stroke=\"\(faint ? "#dddddd" : "#222222")\""
      + (dashed ? " stroke-dasharray=\"4 3\"" : "") + "/>\n"
  }

  private static func escaped(_ text: String) -> String {
    text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing("`", with: "")
  }

  private static func rounded(_ value: Double) -> String { String(format: "%.1f", value) }
}
