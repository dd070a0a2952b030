// Measures the cost of rendering one alarm, compared in one run with ICU's formatter on the same
// patterns and with Swift's string interpolation. `--gallery` instead prints a page of every locale
// and kind; `--repeat NICKNAME` renders one alarm ten million times, for a profiler.

import AlarmText

if CommandLine.arguments.contains("--gallery") {
  print(
    AlarmTextEngine.builtIn.gallery(
      actor: "나오 🐦", other: "محمد (Lv.25)", headText: "Nice! \"<나오>\" 😀 שלום"))
} else if let nickname = CommandLine.arguments.last, CommandLine.arguments.count == 3,
  CommandLine.arguments[1] == "--repeat"
{
  AlarmTextBenchmark().repeatSingle(nickname)
} else {
  AlarmTextBenchmark().run()
}
