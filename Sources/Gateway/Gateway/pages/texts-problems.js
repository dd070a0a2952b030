/**
 * What happened, and what to do next: a row for each code of a problem, in the languages of
 * texts.js. Those of "network" and "past" are the pages' own.
 */

export const problemTexts = {
  "problem-network": [
    "There is no connection. Check it, then try again.",
    "연결되지 않았습니다. 연결을 확인하고 다시 시도하세요.",
    "ไม่มีการเชื่อมต่อ ตรวจสอบแล้วลองอีกครั้ง", "لا يوجد اتصال. تحقق منه ثم أعد المحاولة.",
  ],
  "problem-past": [
    "That time is past in {zone}. Choose a later one.",
    "{zone} 기준으로 이미 지난 시각입니다. 더 늦은 시각을 고르세요.",
    "เวลานี้ผ่านไปแล้วในเขตเวลา {zone} โปรดเลือกเวลาที่ช้ากว่านี้",
    "هذا الوقت مضى في {zone}. اختر وقتًا لاحقًا.",
  ],
  "problem-no-token": [
    "You are not signed in. Open the link that you were given, or paste its token.",
    "로그인되어 있지 않습니다. 받은 링크를 열거나 토큰을 붙여 넣으세요.",
    "คุณยังไม่ได้เข้าสู่ระบบ เปิดลิงก์ที่ได้รับหรือวางโทเค็น",
    "لم تسجّل الدخول. افتح الرابط الذي وصلك أو ألصق رمزه.",
  ],
  "problem-invalid-token": [
    "Your session has ended. Open a new link to sign in again.",
    "세션이 끝났습니다. 새 링크를 열어 다시 로그인하세요.",
    "เซสชันสิ้นสุดแล้ว เปิดลิงก์ใหม่เพื่อเข้าสู่ระบบอีกครั้ง",
    "انتهت جلستك. افتح رابطًا جديدًا للدخول مرة أخرى.",
  ],
  "problem-token-not-fresh": [
    "You signed in too long ago for this. Open a new link, then try again.",
    "로그인한 지 오래되었습니다. 새 링크를 열고 다시 시도하세요.",
    "คุณเข้าสู่ระบบนานเกินไปแล้ว เปิดลิงก์ใหม่แล้วลองอีกครั้ง",
    "مضى وقت طويل على دخولك. افتح رابطًا جديدًا ثم أعد المحاولة.",
  ],
  "problem-not-yours": [
    "It belongs to somebody else, so only they can change it.",
    "다른 사람의 것이라 그 사람만 바꿀 수 있습니다.",
    "เป็นของคนอื่น จึงมีเพียงเขาที่เปลี่ยนได้", "هذا يخص شخصًا آخر، وهو وحده يستطيع تغييره.",
  ],
  "problem-not-found": [
    "It is not here any more, or you may not see it. Go back and look for something else.",
    "더 이상 없거나 볼 수 없습니다. 돌아가서 다른 것을 찾아보세요.",
    "ไม่มีอยู่แล้ว หรือคุณไม่มีสิทธิ์ดู กลับไปแล้วลองหาสิ่งอื่น",
    "لم يعد موجودًا أو لا يمكنك رؤيته. عد وابحث عن شيء آخر.",
  ],
  "problem-quota-reached": [
    "You have as many of these as anybody may have. Remove one, then try again.",
    "만들 수 있는 만큼 모두 만들었습니다. 하나를 지운 뒤 다시 시도하세요.",
    "มีครบจำนวนสูงสุดแล้ว ลบออกหนึ่งรายการแล้วลองอีกครั้ง",
    "بلغت العدد الأقصى المسموح. احذف واحدًا ثم أعد المحاولة.",
  ],
  "problem-body-timeout": [
    "It took too long to send. Try again.", "보내는 데 너무 오래 걸렸습니다. 다시 시도하세요.",
    "ใช้เวลาส่งนานเกินไป ลองอีกครั้ง", "استغرق الإرسال وقتًا طويلًا. أعد المحاولة.",
  ],
  "problem-body-too-large": [
    "The text is too long. Make it shorter.", "글이 너무 깁니다. 줄여 주세요.",
    "ข้อความยาวเกินไป โปรดย่อลง", "النص طويل جدًا. اختصره.",
  ],
  "problem-invalid-member": [
    "Something in the form is not right. Correct it and send it again.",
    "입력한 내용이 올바르지 않습니다. 고쳐서 다시 보내세요.",
    "ข้อมูลบางอย่างไม่ถูกต้อง แก้ไขแล้วส่งอีกครั้ง", "في النموذج خطأ. صححه ثم أرسله من جديد.",
  ],
  "problem-invalid-header": [
    "This device's clock may be wrong. Set it, then try again.",
    "기기의 시계가 맞지 않을 수 있습니다. 맞춘 뒤 다시 시도하세요.",
    "นาฬิกาของอุปกรณ์อาจไม่ตรง ตั้งเวลาแล้วลองอีกครั้ง",
    "قد تكون ساعة الجهاز خاطئة. اضبطها ثم أعد المحاولة.",
  ],
  "problem-not-applied-yet": [
    "Your change is stored, and will show in a moment.", "저장되었습니다. 곧 보입니다.",
    "บันทึกแล้ว จะแสดงในอีกสักครู่", "تم حفظ تغييرك وسيظهر بعد لحظات.",
  ],
  "problem-not-acknowledged": [
    "It may not have been stored. Try again: it will not happen twice.",
    "저장되지 않았을 수 있습니다. 다시 시도하세요. 두 번 되지는 않습니다.",
    "อาจยังไม่ได้บันทึก ลองอีกครั้ง จะไม่เกิดซ้ำ",
    "ربما لم يُحفظ. أعد المحاولة، ولن يتكرر.",
  ],
  "problem-overloaded": [
    "There is too much to do right now. Try again in a moment.",
    "지금은 요청이 많습니다. 잠시 후 다시 시도하세요.",
    "ขณะนี้มีคำขอมากเกินไป ลองอีกครั้งในอีกสักครู่",
    "الطلبات كثيرة الآن. أعد المحاولة بعد لحظات.",
  ],
  "problem-rate-limited": [
    "That was too fast. Wait a moment, then try again.",
    "요청이 너무 잦습니다. 잠시 후 다시 시도하세요.",
    "ทำถี่เกินไป รอสักครู่แล้วลองอีกครั้ง", "الطلبات متلاحقة جدًا. انتظر لحظة ثم أعد المحاولة.",
  ],
  "problem-keys-unavailable": [
    "It cannot be checked who you are right now. Try again in a moment.",
    "지금은 로그인을 확인할 수 없습니다. 잠시 후 다시 시도하세요.",
    "ขณะนี้ตรวจสอบการเข้าสู่ระบบไม่ได้ ลองอีกครั้งในอีกสักครู่",
    "يتعذر التحقق من دخولك الآن. أعد المحاولة بعد لحظات.",
  ],
  "problem-database-unavailable": [
    "It cannot be read right now. Try again in a moment.",
    "지금은 읽을 수 없습니다. 잠시 후 다시 시도하세요.",
    "ขณะนี้อ่านไม่ได้ ลองอีกครั้งในอีกสักครู่", "تتعذر القراءة الآن. أعد المحاولة بعد لحظات.",
  ],
  "problem-internal-error": [
    "Something went wrong. Load the page again; if it stays, tell whoever runs this.",
    "문제가 생겼습니다. 새로고침해 보고, 계속되면 운영자에게 알려 주세요.",
    "เกิดข้อผิดพลาด โหลดหน้าใหม่ หากยังเป็นอยู่ให้แจ้งผู้ดูแล",
    "حدث خطأ. أعد تحميل الصفحة، وإن استمر فأخبر المشرف.",
  ],
};
