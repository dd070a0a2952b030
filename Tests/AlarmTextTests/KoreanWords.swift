import AlarmText

/// Words with their last sound, collected by hand.
enum KoreanWords {
  static let table: [(String, KoreanFinal)] =
    vowel.map { ($0, .vowel) }
    + consonant.map { ($0, .consonant) } + rieul.map { ($0, .rieul) } + other.map { ($0, .other) }

  private static let vowel = [
    // Hangul
    "나오", "민수", "철수", "영희", "지우", "하나", "회사", "학교", "개", "귀", "의사", "시계", "왜", "뭐", "ㅏ", "ㅠㅠ", "ㅡ",
    // Unspoken additions
    "나오(Lv.25)", "나오 (서울)", "나오!", "나오...", "나오😀", "★나오★", "\"나오\"", "나오~♡", "[나오]", "(나오)", "【나오】",
    "나오[길드](부산)", "나오（팀장）", "<나오>", "「나오」", "나오 ", "((나오))",
    // Sino-Korean numbers: 이 사 오 구, 조
    "2", "4", "5", "9", "나오2", "25", "1004", "Lv.25", "1000000000000", "1,000,000,000,000", "５",
    "②", "Ⅳ", "٥",
    "二", "九", "兆", "100%", "36.5℃",
    // Letter names
    "A", "B", "F", "H", "S", "Y", "Z", "USA", "KBS", "UFO", "DJ", "PC", "IT", "TV", "BTS", "VIP",
    "JTBC", "NaverTV",
    "MyPC", "xyz", "kbs",
    // Endings of words
    "Steve", "Kate", "Mike", "Chloe", "Zoe", "Anna", "Mario", "Emily", "Twitter", "Peter",
    "YouTube", "Mark",
    "Frank", "Robert", "Albert", "David", "Fred", "blog", "Greg", "Jeff", "James", "Alex", "Liz",
    "Joseph",
    "Sarah", "Josh", "Rich", "Hugh", "Andrew", "Kay", "Trump", "boat", "GitHub", "iOS", "kakao",
    "naver", "Jr.",
    "갤럭시 5G", "José", "André", "Vincent", "Ｎａｖｅｒ", "5cm", "3km",
    // Kana
    "さくら", "ナオ", "なお", "ゆうー", "サッカー", "ﾅｵ",
  ]

  private static let consonant = [
    "K-POP", "K-pop", "지민", "수박", "부산", "학생", "사람", "밥", "옷", "꽃", "부엌", "밖", "값", "여덟", "닭", "ㄱ",
    "ㅋㅋ", "ㅎ",
    "지민(나오)", "지민~", "지민!!", "(지민)", "지민❤️", "지민님", "지민[1]",
    "3", "6", "0", "10", "100", "1000", "10000", "100000", "100000000", "1,000", "7000", "007-0",
    "2020", "⑩", "六", "十", "百", "万",
    "M", "N", "IBM", "CNN", "tvN", "HTTPN", "FM", "nm",
    "Jason", "Adam", "Jin", "Jane", "Anne", "iPhone", "Jerome", "game", "Jack", "Nick", "Eric",
    "Philip", "Bob",
    "Rob", "Matt", "Scott", "Internet", "Facebook", "book", "King", "design", "Jacob", "shop",
    "music", "TikTok",
    "market", "Malcolm", "Minhyuk", "5kg", "100g", "C#",
    "ジン", "けん", "ﾝ",
  ]

  private static let rieul = [
    "서울", "달", "물", "길", "한글", "이슬", "보름달", "ㄹ", "하늘", "별(스타)", "가을🍁", "라파엘",
    "1", "7", "8", "21", "지민7", "108", "2028", "٧", "①", "一", "七", "八",
    "L", "R", "URL", "PR", "HR", "VR", "SQL", "html", "ASMR",
    "Paul", "Daniel", "Apple", "Google", "Nicole", "Michelle", "Karl", "Kyle", "Belle", "girl",
    "Angel", "Emil",
  ]

  private static let other = [
    "王", "小明", "中村", "Иван", "ณัฐ", "محمد", "דנה", "Γιώργος", "😀", "!!!", "", "()", "½", "Speak",
  ]
}
