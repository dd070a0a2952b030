// From CLDR 47: common/main/*.xml, dates/fields, full width. Plural categories with the same pattern
// as `other` are omitted. CLDR 48 differs only in Hebrew, where it repeats one and two as digits ("לפני
// שעה (1)") or writes digits instead of the word. These words are the same in CLDR 42 to 47.

extension RelativeWords {
  static let english = RelativeWords(
    "en", now: "now",
    days: [-1: "yesterday", 0: "today", 1: "tomorrow"],
    [
      .second: Forms(
        past: Plurals(one: "{0} second ago", other: "{0} seconds ago"),
        future: Plurals(one: "in {0} second", other: "in {0} seconds")),
      .minute: Forms(
        past: Plurals(one: "{0} minute ago", other: "{0} minutes ago"),
        future: Plurals(one: "in {0} minute", other: "in {0} minutes")),
      .hour: Forms(
        past: Plurals(one: "{0} hour ago", other: "{0} hours ago"),
        future: Plurals(one: "in {0} hour", other: "in {0} hours")),
      .day: Forms(
        past: Plurals(one: "{0} day ago", other: "{0} days ago"),
        future: Plurals(one: "in {0} day", other: "in {0} days")),
      .week: Forms(
        past: Plurals(one: "{0} week ago", other: "{0} weeks ago"),
        future: Plurals(one: "in {0} week", other: "in {0} weeks")),
      .month: Forms(
        past: Plurals(one: "{0} month ago", other: "{0} months ago"),
        future: Plurals(one: "in {0} month", other: "in {0} months")),
      .year: Forms(
        past: Plurals(one: "{0} year ago", other: "{0} years ago"),
        future: Plurals(one: "in {0} year", other: "in {0} years")),
    ])

  static let korean = RelativeWords(
    "ko", now: "지금",
    days: [-2: "그저께", -1: "어제", 0: "오늘", 1: "내일", 2: "모레"],
    [
      .second: Forms(past: "{0}초 전", future: "{0}초 후"),
      .minute: Forms(past: "{0}분 전", future: "{0}분 후"),
      .hour: Forms(past: "{0}시간 전", future: "{0}시간 후"),
      .day: Forms(past: "{0}일 전", future: "{0}일 후"),
      .week: Forms(past: "{0}주 전", future: "{0}주 후"),
      .month: Forms(past: "{0}개월 전", future: "{0}개월 후"),
      .year: Forms(past: "{0}년 전", future: "{0}년 후"),
    ])

  static let thai = RelativeWords(
    "th", now: "ขณะนี้",
    days: [-2: "เมื่อวานซืน", -1: "เมื่อวาน", 0: "วันนี้", 1: "พรุ่งนี้", 2: "มะรืนนี้"],
    [
      .second: Forms(past: "{0} วินาทีที่ผ่านมา", future: "ในอีก {0} วินาที"),
      .minute: Forms(past: "{0} นาทีที่ผ่านมา", future: "ในอีก {0} นาที"),
      .hour: Forms(past: "{0} ชั่วโมงที่ผ่านมา", future: "ในอีก {0} ชั่วโมง"),
      .day: Forms(past: "{0} วันที่ผ่านมา", future: "ในอีก {0} วัน"),
      .week: Forms(past: "{0} สัปดาห์ที่ผ่านมา", future: "ในอีก {0} สัปดาห์"),
      .month: Forms(past: "{0} เดือนที่ผ่านมา", future: "ในอีก {0} เดือน"),
      .year: Forms(past: "{0} ปีที่แล้ว", future: "ในอีก {0} ปี"),
    ])

  static let japanese = RelativeWords(
    "ja", now: "今",
    days: [-2: "一昨日", -1: "昨日", 0: "今日", 1: "明日", 2: "明後日"],
    [
      .second: Forms(past: "{0} 秒前", future: "{0} 秒後"),
      .minute: Forms(past: "{0} 分前", future: "{0} 分後"),
      .hour: Forms(past: "{0} 時間前", future: "{0} 時間後"),
      .day: Forms(past: "{0} 日前", future: "{0} 日後"),
      .week: Forms(past: "{0} 週間前", future: "{0} 週間後"),
      .month: Forms(past: "{0} か月前", future: "{0} か月後"),
      .year: Forms(past: "{0} 年前", future: "{0} 年後"),
    ])

  static let simplifiedChinese = RelativeWords(
    "zh", now: "现在",
    days: [-2: "前天", -1: "昨天", 0: "今天", 1: "明天", 2: "后天"],
    [
      .second: Forms(past: "{0}秒钟前", future: "{0}秒钟后"),
      .minute: Forms(past: "{0}分钟前", future: "{0}分钟后"),
      .hour: Forms(past: "{0}小时前", future: "{0}小时后"),
      .day: Forms(past: "{0}天前", future: "{0}天后"),
      .week: Forms(past: "{0}周前", future: "{0}周后"),
      .month: Forms(past: "{0}个月前", future: "{0}个月后"),
      .year: Forms(past: "{0}年前", future: "{0}年后"),
    ])

  static let traditionalChinese = RelativeWords(
    "zh", now: "現在",
    days: [-2: "前天", -1: "昨天", 0: "今天", 1: "明天", 2: "後天"],
    [
      .second: Forms(past: "{0} 秒前", future: "{0} 秒後"),
      .minute: Forms(past: "{0} 分鐘前", future: "{0} 分鐘後"),
      .hour: Forms(past: "{0} 小時前", future: "{0} 小時後"),
      .day: Forms(past: "{0} 天前", future: "{0} 天後"),
      .week: Forms(past: "{0} 週前", future: "{0} 週後"),
      .month: Forms(past: "{0} 個月前", future: "{0} 個月後"),
      .year: Forms(past: "{0} 年前", future: "{0} 年後"),
    ])

  static let vietnamese = RelativeWords(
    "vi", now: "bây giờ",
    days: [-2: "Hôm kia", -1: "Hôm qua", 0: "Hôm nay", 1: "Ngày mai", 2: "Ngày kia"],
    [
      .second: Forms(past: "{0} giây trước", future: "sau {0} giây nữa"),
      .minute: Forms(past: "{0} phút trước", future: "sau {0} phút nữa"),
      .hour: Forms(past: "{0} giờ trước", future: "sau {0} giờ nữa"),
      .day: Forms(past: "{0} ngày trước", future: "sau {0} ngày nữa"),
      .week: Forms(past: "{0} tuần trước", future: "sau {0} tuần nữa"),
      .month: Forms(past: "{0} tháng trước", future: "sau {0} tháng nữa"),
      .year: Forms(past: "{0} năm trước", future: "sau {0} năm nữa"),
    ])

  static let indonesian = RelativeWords(
    "id", now: "sekarang",
    days: [-2: "kemarin dulu", -1: "kemarin", 0: "hari ini", 1: "besok", 2: "lusa"],
    [
      .second: Forms(past: "{0} detik yang lalu", future: "dalam {0} detik"),
      .minute: Forms(past: "{0} menit yang lalu", future: "dalam {0} menit"),
      .hour: Forms(past: "{0} jam yang lalu", future: "dalam {0} jam"),
      .day: Forms(past: "{0} hari yang lalu", future: "dalam {0} hari"),
      .week: Forms(past: "{0} minggu yang lalu", future: "dalam {0} minggu"),
      .month: Forms(past: "{0} bulan yang lalu", future: "dalam {0} bulan"),
      .year: Forms(past: "{0} tahun yang lalu", future: "dalam {0} tahun"),
    ])

  static let spanish = RelativeWords(
    "es", now: "ahora",
    days: [-2: "anteayer", -1: "ayer", 0: "hoy", 1: "mañana", 2: "pasado mañana"],
    [
      .second: Forms(
        past: Plurals(one: "hace {0} segundo", other: "hace {0} segundos"),
        future: Plurals(one: "dentro de {0} segundo", other: "dentro de {0} segundos")),
      .minute: Forms(
        past: Plurals(one: "hace {0} minuto", other: "hace {0} minutos"),
        future: Plurals(one: "dentro de {0} minuto", other: "dentro de {0} minutos")),
      .hour: Forms(
        past: Plurals(one: "hace {0} hora", other: "hace {0} horas"),
        future: Plurals(one: "dentro de {0} hora", other: "dentro de {0} horas")),
      .day: Forms(
        past: Plurals(one: "hace {0} día", other: "hace {0} días"),
        future: Plurals(one: "dentro de {0} día", other: "dentro de {0} días")),
      .week: Forms(
        past: Plurals(one: "hace {0} semana", other: "hace {0} semanas"),
        future: Plurals(one: "dentro de {0} semana", other: "dentro de {0} semanas")),
      .month: Forms(
        past: Plurals(one: "hace {0} mes", other: "hace {0} meses"),
        future: Plurals(one: "dentro de {0} mes", other: "dentro de {0} meses")),
      .year: Forms(
        past: Plurals(one: "hace {0} año", other: "hace {0} años"),
        future: Plurals(one: "dentro de {0} año", other: "dentro de {0} años")),
    ])

  static let arabic = RelativeWords(
    "ar", now: "الآن",
    days: [-2: "أول أمس", -1: "أمس", 0: "اليوم", 1: "غدًا", 2: "بعد الغد"],
    [
      .second: Forms(
        past: Plurals(
          one: "قبل ثانية واحدة", two: "قبل ثانيتين", few: "قبل {0} ثوانِ", other: "قبل {0} ثانية"),
        future: Plurals(
          one: "خلال ثانية واحدة", two: "خلال ثانيتين", few: "خلال {0} ثوانٍ",
          other: "خلال {0} ثانية")),
      .minute: Forms(
        past: Plurals(
          one: "قبل دقيقة واحدة", two: "قبل دقيقتين", few: "قبل {0} دقائق", other: "قبل {0} دقيقة"),
        future: Plurals(
          one: "خلال دقيقة واحدة", two: "خلال دقيقتين", few: "خلال {0} دقائق",
          other: "خلال {0} دقيقة")),
      .hour: Forms(
        past: Plurals(
          one: "قبل ساعة واحدة", two: "قبل ساعتين", few: "قبل {0} ساعات", other: "قبل {0} ساعة"),
        future: Plurals(
          one: "خلال ساعة واحدة", two: "خلال ساعتين", few: "خلال {0} ساعات", other: "خلال {0} ساعة")
      ),
      .day: Forms(
        past: Plurals(
          one: "قبل يوم واحد", two: "قبل يومين", few: "قبل {0} أيام", many: "قبل {0} يومًا",
          other: "قبل {0} يوم"),
        future: Plurals(
          one: "خلال يوم واحد", two: "خلال يومين", few: "خلال {0} أيام", many: "خلال {0} يومًا",
          other: "خلال {0} يوم")),
      .week: Forms(
        past: Plurals(
          one: "قبل أسبوع واحد", two: "قبل أسبوعين", few: "قبل {0} أسابيع", many: "قبل {0} أسبوعًا",
          other: "قبل {0} أسبوع"),
        future: Plurals(
          one: "خلال أسبوع واحد", two: "خلال أسبوعين", few: "خلال {0} أسابيع",
          many: "خلال {0} أسبوعًا", other: "خلال {0} أسبوع")),
      .month: Forms(
        past: Plurals(
          one: "قبل شهر واحد", two: "قبل شهرين", few: "قبل {0} أشهر", many: "قبل {0} شهرًا",
          other: "قبل {0} شهر"),
        future: Plurals(
          one: "خلال شهر واحد", two: "خلال شهرين", few: "خلال {0} أشهر", many: "خلال {0} شهرًا",
          other: "خلال {0} شهر")),
      .year: Forms(
        past: Plurals(
          one: "قبل سنة واحدة", two: "قبل سنتين", few: "قبل {0} سنوات", other: "قبل {0} سنة"),
        future: Plurals(
          one: "خلال سنة واحدة", two: "خلال سنتين", few: "خلال {0} سنوات", other: "خلال {0} سنة")),
    ])

  static let hebrew = RelativeWords(
    "he", now: "עכשיו",
    days: [-2: "שלשום", -1: "אתמול", 0: "היום", 1: "מחר", 2: "מחרתיים"],
    [
      .second: Forms(
        past: Plurals(one: "לפני שנייה", two: "לפני שתי שניות", other: "לפני {0} שניות"),
        future: Plurals(one: "בעוד שנייה", two: "בעוד שתי שניות", other: "בעוד {0} שניות")),
      .minute: Forms(
        past: Plurals(one: "לפני דקה", two: "לפני שתי דקות", other: "לפני {0} דקות"),
        future: Plurals(one: "בעוד דקה", two: "בעוד שתי דקות", other: "בעוד {0} דקות")),
      .hour: Forms(
        past: Plurals(one: "לפני שעה", two: "לפני שעתיים", other: "לפני {0} שעות"),
        future: Plurals(one: "בעוד שעה", two: "בעוד שעתיים", other: "בעוד {0} שעות")),
      .day: Forms(
        past: Plurals(one: "לפני יום {0}", two: "לפני יומיים", other: "לפני {0} ימים"),
        future: Plurals(one: "בעוד יום {0}", two: "בעוד יומיים", other: "בעוד {0} ימים")),
      .week: Forms(
        past: Plurals(one: "לפני שבוע", two: "לפני שבועיים", other: "לפני {0} שבועות"),
        future: Plurals(one: "בעוד שבוע", two: "בעוד שבועיים", other: "בעוד {0} שבועות")),
      .month: Forms(
        past: Plurals(one: "לפני חודש", two: "לפני חודשיים", other: "לפני {0} חודשים"),
        future: Plurals(one: "בעוד חודש", two: "בעוד חודשיים", other: "בעוד {0} חודשים")),
      .year: Forms(
        past: Plurals(one: "לפני שנה", two: "לפני שנתיים", other: "לפני {0} שנים"),
        future: Plurals(one: "בעוד שנה", two: "בעוד שנתיים", other: "בעוד {0} שנים")),
    ])
}
