// Measures the cost of rendering one alarm, compared in one run with ICU's formatter on the same
// patterns and with Swift's string interpolation. `--gallery` instead prints a page of every locale
// and kind; `--repeat NICKNAME` renders one alarm ten million times, for a profiler.

import AlarmText

let galleryArguments = [
  "title": "봄밤 Live (vol. 2)", "station": "MBC 라디오", "question": "점심은 뭐 먹을까?", "event": "Picnic 소풍",
  "group": "Nightowls ליל", "badge": "Early bird", "text": "물 마시기 💧", "device": "Pixel 9",
  "place": "서울",
]

if CommandLine.arguments.contains("--gallery") {
  print(
    AlarmTextEngine.builtIn.gallery(
      actor: "나오 🐦", other: "محمد (Lv.25)", headText: "Nice! \"<나오>\" 😀 שלום",
      argument: { galleryArguments[$0] ?? $0 }))
} else if let nickname = CommandLine.arguments.last, CommandLine.arguments.count == 3,
  CommandLine.arguments[1] == "--repeat"
{
  AlarmTextBenchmark().repeatSingle(nickname)
} else {
  AlarmTextBenchmark().run()
}
