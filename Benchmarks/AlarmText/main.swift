// What rendering one alarm costs, beside ICU's formatter on the same patterns and Swift's string
// interpolation, in one run. `--gallery` prints the page of every locale and kind instead.

import AlarmText

if CommandLine.arguments.contains("--gallery") {
  print(
    AlarmTextEngine.builtIn.gallery(
      actor: "나오 🐦", other: "محمد (Lv.25)", headText: "Nice! \"<나오>\" 😀 שלום"))
} else {
  AlarmTextBenchmark().run()
}
