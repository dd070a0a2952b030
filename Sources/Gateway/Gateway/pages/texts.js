/**
 * The pages' own texts: a row for each, a column for each language.
 *
 * Numbers stand beside their names ("Likes: 3"), so no text depends on a plural.
 */

import { problemTexts } from "./texts-problems.js";

export const languages = ["en", "ko", "th", "ar"];

export const texts = {
  // Pages and navigation.
  home: ["Home", "홈", "หน้าแรก", "الرئيسية"],
  followingTitle: ["Following", "팔로잉", "กำลังติดตาม", "المتابَعة"],
  search: ["Search", "검색", "ค้นหา", "بحث"],
  alarms: ["Alarms", "알림", "การแจ้งเตือน", "التنبيهات"],
  messages: ["Messages", "메시지", "ข้อความ", "الرسائل"],
  chat: ["Chat", "대화", "แชต", "محادثة"],
  newMessage: ["New message", "새 메시지", "ข้อความใหม่", "رسالة جديدة"],
  reminders: ["Reminders", "리마인더", "เตือนความจำ", "التذكيرات"],
  settings: ["Settings", "설정", "การตั้งค่า", "الإعدادات"],
  profile: ["Profile", "프로필", "โปรไฟล์", "الملف الشخصي"],
  post: ["Post", "게시물", "โพสต์", "منشور"],
  notFound: ["Not found", "찾을 수 없음", "ไม่พบ", "غير موجود"],
  pages: ["Pages", "페이지", "หน้า", "الصفحات"],
  yours: ["Yours", "내 메뉴", "ของคุณ", "قائمتك"],
  notices: ["Notices", "안내", "ประกาศ", "إشعارات الصفحة"],
  skip: ["Skip to the content", "본문으로 건너뛰기", "ข้ามไปยังเนื้อหา", "الانتقال إلى المحتوى"],
  back: ["Back", "뒤로", "กลับ", "رجوع"],
  withNew: [
    "{name}, {count} new", "{name}, 새 항목 {count}개", "{name} ใหม่ {count}", "{name}، جديد: {count}",
  ],

  // Lists.
  more: ["More", "더 보기", "เพิ่มเติม", "المزيد"],
  older: ["Older", "이전 내용", "เก่ากว่า", "الأقدم"],
  newest: ["Back to the newest", "최신으로 돌아가기", "กลับไปที่ล่าสุด", "العودة إلى الأحدث"],
  loading: ["Loading…", "불러오는 중…", "กำลังโหลด…", "جارٍ التحميل…"],
  again: ["Try again", "다시 시도", "ลองอีกครั้ง", "إعادة المحاولة"],
  dismiss: ["Dismiss", "닫기", "ปิด", "إغلاق"],
  discard: ["Discard", "버리기", "ทิ้ง", "تجاهل"],
  nobody: ["Nobody", "아무도 없습니다", "ไม่มีใคร", "لا أحد"],
  people: ["People", "사람", "ผู้คน", "الأشخاص"],
  someone: ["Someone", "알 수 없는 사용자", "ใครบางคน", "شخص ما"],
  someoneWhoLeft: ["Someone who left", "탈퇴한 사용자", "ผู้ที่ออกไปแล้ว", "شخص غادر"],
  everybody: ["Everybody", "모두 보기", "ทุกคน", "الجميع"],
  you: ["You", "나", "คุณ", "أنت"],
  new: ["New", "새 알림", "ใหม่", "جديد"],
  unread: ["Unread", "읽지 않음", "ยังไม่ได้อ่าน", "غير مقروء"],

  // Posts and comments.
  posts: ["Posts", "게시물", "โพสต์", "المنشورات"],
  noPosts: ["No posts yet", "아직 게시물이 없습니다", "ยังไม่มีโพสต์", "لا منشورات بعد"],
  noFollowing: [
    "Follow somebody to see their posts here", "팔로우하면 여기에 게시물이 보입니다",
    "ติดตามใครสักคนเพื่อดูโพสต์ที่นี่", "تظهر هنا منشورات من تتابعهم",
  ],
  newPost: ["New post", "새 게시물", "โพสต์ใหม่", "منشور جديد"],
  title: ["Title", "제목", "หัวข้อ", "العنوان"],
  caption: ["Text", "내용", "เนื้อหา", "النص"],
  picture: ["Picture (address)", "사진 (주소)", "รูปภาพ (ที่อยู่)", "صورة (عنوان)"],
  pictureOf: ["Picture by {name}", "{name}님의 사진", "รูปภาพโดย {name}", "صورة من {name}"],
  publish: ["Publish", "올리기", "โพสต์", "نشر"],
  edited: ["edited", "수정됨", "แก้ไขแล้ว", "معدَّل"],
  like: ["Like", "좋아요", "ถูกใจ", "إعجاب"],
  likers: ["Likes", "좋아한 사람", "คนที่ถูกใจ", "المعجبون"],
  noLikes: ["No likes yet", "아직 좋아요가 없습니다", "ยังไม่มีใครถูกใจ", "لا إعجابات بعد"],
  comments: ["Comments", "댓글", "ความคิดเห็น", "التعليقات"],
  noComments: ["No comments yet", "아직 댓글이 없습니다", "ยังไม่มีความคิดเห็น", "لا تعليقات بعد"],
  writeComment: ["Write a comment", "댓글 쓰기", "เขียนความคิดเห็น", "اكتب تعليقًا"],
  edit: ["Edit", "수정", "แก้ไข", "تعديل"],
  remove: ["Remove", "삭제", "ลบ", "حذف"],
  removeComment: [
    "Remove this comment?", "이 댓글을 삭제할까요?", "ลบความคิดเห็นนี้หรือไม่", "هل تريد حذف هذا التعليق؟",
  ],
  removePost: [
    "Remove this post?", "이 게시물을 삭제할까요?", "ลบโพสต์นี้หรือไม่", "هل تريد حذف هذا المنشور؟",
  ],
  send: ["Send", "보내기", "ส่ง", "إرسال"],
  sending: ["Sending…", "보내는 중…", "กำลังส่ง…", "جارٍ الإرسال…"],
  sent: ["Sent", "보냈습니다", "ส่งแล้ว", "أُرسل"],

  // People.
  follow: ["Follow", "팔로우", "ติดตาม", "متابعة"],
  followBack: ["Follow back", "맞팔로우", "ติดตามกลับ", "رد المتابعة"],
  following: ["Following", "팔로잉", "กำลังติดตาม", "تتم المتابعة"],
  followsYou: ["follows you", "나를 팔로우함", "ติดตามคุณ", "يتابعك"],
  followers: ["Followers", "팔로워", "ผู้ติดตาม", "متابِعون"],
  followees: ["Following", "팔로잉", "กำลังติดตาม", "متابَعون"],
  message: ["Message", "메시지", "ข้อความ", "رسالة"],
  mute: ["Mute", "음소거", "ปิดเสียง", "كتم"],
  unmute: ["Unmute", "음소거 해제", "เปิดเสียง", "إلغاء الكتم"],
  block: ["Block", "차단", "บล็อก", "حظر"],
  unblock: ["Unblock", "차단 해제", "เลิกบล็อก", "إلغاء الحظر"],
  askBlock: [
    "Block them? Neither of you will see the other.", "차단할까요? 서로 볼 수 없게 됩니다.",
    "บล็อกหรือไม่ ทั้งสองฝ่ายจะไม่เห็นกัน", "هل تريد الحظر؟ لن يرى أحدكما الآخر.",
  ],
  editProfile: ["Edit profile", "프로필 수정", "แก้ไขโปรไฟล์", "تعديل الملف الشخصي"],
  nickname: ["Nickname", "닉네임", "ชื่อเล่น", "الاسم المستعار"],
  name: ["Name", "이름", "ชื่อ", "الاسم"],
  major: ["Major", "전공", "สาขา", "التخصص"],
  bio: ["About you", "소개", "เกี่ยวกับคุณ", "نبذة عنك"],
  save: ["Save", "저장", "บันทึก", "حفظ"],
  saved: ["Saved", "저장했습니다", "บันทึกแล้ว", "تم الحفظ"],
  searchPeople: [
    "Name, nickname or major", "이름, 닉네임 또는 전공", "ชื่อ ชื่อเล่น หรือสาขา",
    "الاسم أو الاسم المستعار أو التخصص",
  ],

  // Alarms.
  noAlarms: ["No alarms yet", "아직 알림이 없습니다", "ยังไม่มีการแจ้งเตือน", "لا تنبيهات بعد"],
  readAll: ["Mark all as read", "모두 읽음으로 표시", "ทำเครื่องหมายว่าอ่านทั้งหมด", "تعليم الكل كمقروء"],
  removeAll: ["Remove all", "모두 삭제", "ลบทั้งหมด", "حذف الكل"],
  askRemoveAlarms: [
    "Remove all alarms?", "알림을 모두 삭제할까요?", "ลบการแจ้งเตือนทั้งหมดหรือไม่",
    "هل تريد حذف كل التنبيهات؟",
  ],
  moreActions: ["More actions", "더 보기 메뉴", "การทำงานเพิ่มเติม", "إجراءات أخرى"],
  noMoreLikeThis: [
    "No more like this", "이런 알림 끄기", "ไม่ต้องแจ้งแบบนี้อีก", "إيقاف ما يشبه هذا",
  ],
  isOff: ["Off from now on.", "이제부터 꺼집니다.", "ปิดแล้วนับจากนี้", "أُوقف من الآن."],

  // Messages.
  noMessages: ["No messages yet", "아직 메시지가 없습니다", "ยังไม่มีข้อความ", "لا رسائل بعد"],
  noMessagesYet: ["Say hello", "인사를 건네 보세요", "ทักทายกันเลย", "ابدأ بالتحية"],
  writeMessage: ["Write a message", "메시지 쓰기", "เขียนข้อความ", "اكتب رسالة"],
  read: ["Read", "읽음", "อ่านแล้ว", "مقروءة"],

  // Reminders.
  toCome: ["To come", "예정된 리마인더", "ที่กำลังจะมาถึง", "القادمة"],
  history: ["What rang", "지난 리마인더", "ที่ผ่านมา", "السابقة"],
  noReminders: ["Nothing to come", "예정된 리마인더가 없습니다", "ไม่มีรายการ", "لا شيء قادم"],
  noHistory: ["Nothing has rung yet", "아직 울린 것이 없습니다", "ยังไม่มีรายการ", "لا شيء بعد"],
  newReminder: ["New reminder", "새 리마인더", "เตือนความจำใหม่", "تذكير جديد"],
  memo: ["Note", "메모", "บันทึกย่อ", "ملاحظة"],
  symbol: ["Symbol", "기호", "สัญลักษณ์", "رمز"],
  when: ["When", "언제", "เมื่อไร", "متى"],
  repeats: ["Repeats", "반복", "ทำซ้ำ", "التكرار"],
  once: ["Once", "한 번", "ครั้งเดียว", "مرة واحدة"],
  daily: ["Daily", "매일", "ทุกวัน", "كل يوم"],
  weekly: ["Weekly", "매주", "ทุกสัปดาห์", "كل أسبوع"],
  monthly: ["Monthly", "매월", "ทุกเดือน", "كل شهر"],
  add: ["Add", "추가", "เพิ่ม", "إضافة"],
  cancel: ["Cancel", "취소", "ยกเลิก", "إلغاء"],
  reminderSet: ["You will be reminded", "알려 드릴게요", "จะเตือนคุณ", "سيصلك التذكير"],
  reminder: ["Reminder", "리마인더", "เตือนความจำ", "تذكير"],
  cycle: ["By turns", "번갈아 알림", "สลับกัน", "بالتناوب"],
  digest: ["Digest", "모아보기", "สรุป", "ملخّص"],
  missed: ["missed", "울리지 못함", "พลาด", "فات"],
  withdrawn: ["withdrawn", "취소됨", "ถูกยกเลิก", "سُحب"],

  // Settings.
  language: ["Language", "언어", "ภาษา", "اللغة"],
  timeZone: ["Time zone", "시간대", "เขตเวลา", "المنطقة الزمنية"],
  thisDevice: ["This device", "이 기기", "อุปกรณ์นี้", "هذا الجهاز"],
  whatIsOff: ["What is off", "꺼진 알림", "สิ่งที่ปิดอยู่", "ما هو متوقف"],
  nothingIsOff: ["Nothing is off", "꺼진 것이 없습니다", "ไม่มีสิ่งที่ปิด", "لا شيء متوقف"],
  turnOn: ["Turn on again", "다시 켜기", "เปิดอีกครั้ง", "تشغيل من جديد"],
  since: ["since {date}", "{date}부터", "ตั้งแต่ {date}", "منذ {date}"],
  until: ["until {date}", "{date}까지", "จนถึง {date}", "حتى {date}"],
  "scope-kind": ["Kind of alarm", "알림 종류", "ประเภทการแจ้งเตือน", "نوع التنبيه"],
  "scope-subject": ["One subject", "한 가지 대상", "หัวข้อเดียว", "موضوع واحد"],
  "scope-actor": ["Muted", "음소거한 사람", "ปิดเสียง", "مكتوم"],
  "scope-block": ["Blocked", "차단한 사람", "ถูกบล็อก", "محظور"],
  "kind-F00": ["Likes", "좋아요", "การถูกใจ", "الإعجابات"],
  "kind-F01": ["Comments", "댓글", "ความคิดเห็น", "التعليقات"],
  "kind-F02": ["Follows", "팔로우", "การติดตาม", "المتابعات"],
  "kind-F03": ["Messages", "메시지", "ข้อความ", "الرسائل"],
  "kind-F04": ["Mentions", "언급", "การกล่าวถึง", "الإشارات"],
  "kind-F05": ["Posts", "게시물", "โพสต์", "المنشورات"],
  "kind-F13": ["New posts of people", "새 게시물", "โพสต์ใหม่ของผู้คน", "منشورات الأشخاص الجديدة"],
  "kind-F39": ["Reminders", "리마인더", "เตือนความจำ", "التذكيرات"],
  session: ["Session", "세션", "เซสชัน", "الجلسة"],
  signedInAs: ["Signed in as", "로그인한 사용자:", "เข้าสู่ระบบในชื่อ", "تم الدخول باسم"],
  signedInUntil: ["Until {time}", "{time}까지", "จนถึง {time}", "حتى {time}"],
  signIn: ["Sign in", "로그인", "เข้าสู่ระบบ", "دخول"],
  signOut: ["Sign out", "로그아웃", "ออกจากระบบ", "خروج"],
  leave: ["Delete account", "계정 삭제", "ลบบัญชี", "حذف الحساب"],
  askLeave: [
    "Delete your account with all that you have written? There is no way back.",
    "작성한 모든 내용과 함께 계정을 삭제할까요? 되돌릴 수 없습니다.",
    "ลบบัญชีพร้อมทุกสิ่งที่คุณเขียนหรือไม่ ย้อนกลับไม่ได้", "حذف حسابك مع كل ما كتبته؟ لا رجعة في ذلك.",
  ],
  token: ["Token", "토큰", "โทเค็น", "رمز الدخول"],

  // The stream.
  offline: [
    "Offline. It will catch up by itself.", "오프라인입니다. 연결되면 자동으로 따라잡습니다.",
    "ออฟไลน์อยู่ จะตามทันเองเมื่อเชื่อมต่อ", "لا اتصال. ستُحدَّث الصفحة تلقائيًا.",
  ],
  reconnecting: [
    "Connecting again…", "다시 연결하는 중…", "กำลังเชื่อมต่ออีกครั้ง…", "جارٍ إعادة الاتصال…",
  ],

  ...problemTexts,
};
