/// The nicknames and sentences of one language.
struct Voice: Sendable {
  var locale: String
  var name: String
  var nicknames: [String]
  var majors: [String]
  var sentences: [String]

  /// More code points than a notification quotes, and few of them to be seen.
  private static let hardlyVisible = "…" + String(repeating: " ", count: 300) + "!"

  static let all = [
    Voice(
      locale: "ko-KR", name: "김민지",
      nicknames: ["민지🌸", "까치까치", "수지 ☕️", "달빛👩‍🚀", "ㅋㅋㅋ", "\u{1112}\u{1161}\u{11AB}별"],
      majors: ["컴퓨터공학", "시각디자인", "국어국문학"],
      sentences: ["오늘 한강에서 본 노을이에요 🌇", "너무 예뻐요!", "같이 갈래요? 😊", "ㅎㅎ 좋아요", "사진 어디서 찍었어요?"]),
    Voice(
      locale: "th-TH", name: "สมชาย ใจดี",
      nicknames: ["น้องฝน 🌧️", "สมหญิง", "แมวน้อย🐱", "ก๊ิกก๊ิก"],
      majors: ["วิศวกรรมศาสตร์", "นิเทศศาสตร์"],
      sentences: ["วันนี้อากาศดีมาก ☀️", "สวยมากเลย", "ไปกินข้าวกันไหม 🍜", "คิดถึงนะ", "ขอบคุณค่ะ 🙏"]),
    Voice(
      locale: "en-US", name: "Alex Doe",
      nicknames: ["alex", "Zoë 🦊", "J@ne_d0e", "The Real Slim", "👨‍👩‍👧‍👦 fam"],
      majors: ["Computer Science", "Art History", "Biology"],
      sentences: [
        "Look at this view!", "So good 😂😂", "Can't wait.", "Where was this taken?", "first!",
        "It's \"complicated\" — 100% true & <b>bold</b>",
      ]),
    Voice(
      locale: "ar-EG", name: "ليلى حسن",
      nicknames: ["ليلى ✨", "أحمد", "قمر🌙", "نور ١٢٣"],
      majors: ["الطب", "هندسة معمارية"],
      sentences: ["صباح الخير من القاهرة ☀️", "جميل جدا", "أين هذا المكان؟", "شكرا 🙏", "مبروك! 🎉"]),
    Voice(
      locale: "en-GB", name: "Robert'); DROP TABLE",
      nicknames: [
        "", " ", "\u{202E}evil", "<nickname>", "{actor}", "%@ %1$s", "a\u{200B}b", "\\u0000",
        "'; DELETE FROM alarms; --", "Z" + String(repeating: "\u{300}\u{316}", count: 40),
        "$1 & $2 \\1", "line\nbreak\ttab", "\u{FEFF}bom", "🏴󠁧󠁢󠁳󠁣󠁴󠁿🇰🇷🇹🇭🇪🇬",
        String(repeating: "w", count: 200),
      ],
      majors: ["", "100%_LIKE\\pattern"],
      sentences: [
        "<script>alert(1)</script>", "\u{202E}reversed", "a\u{0301}\u{0301}\u{0301}", "%n%n%n",
      ]),
    Voice(
      locale: "xx-unknown", name: "Nobody", nicknames: ["익명 anonymous مجهول"], majors: [""],
      sentences: [hardlyVisible]),
  ]
}
