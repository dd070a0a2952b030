import Events

// The actions of users and their frequencies.
extension SocialEvents {
  mutating func randomAction() -> Payload {
    // The most active users set their profiles first; some never do.
    if serial < min(workload.users / 2, workload.events / 20) { return profile(of: serial) }
    switch Double.random(in: 0..<100, using: &random) {
    case ..<11: return undo()
    case ..<29: return follow()
    case ..<31: return subscription()
    case ..<42: return publish()
    case ..<69: return like()
    case ..<81: return comment()
    case ..<89: return send()
    case ..<91: return random.chance(50) ? profile(of: anyUser()) : edit(of: anyUser())
    case ..<93: return alarm()
    case ..<94: return reminder()
    default: return alarmAction()
    }
  }

  private func id(_ user: Int) -> String { workload.userID(user) }

  private mutating func anyUser() -> Int { Int.random(in: 0..<workload.users, using: &random) }

  /// Skewed: of 1,000 users, the first ten are chosen in a fifth of all cases.
  private mutating func popularUser() -> Int {
    let uniform = Double.random(in: 0..<1, using: &random)
    return min(workload.users - 1, Int(Double(workload.users) * uniform * uniform * uniform))
  }

  private mutating func follow() -> Payload {
    let followee = popularUser()
    // Real input contains self-follows, too.
    let follower = random.chance(0.5) ? followee : anyUser()
    follows.add((follower, followee))
    return .followCreated(
      .with { ($0.follower, $0.followee) = (id(follower), id(followee)) })
  }

  private mutating func subscription() -> Payload {
    if random.chance(25), let (author, subscriber) = subscriptions.pick(&random) {
      return .authorUnsubscribed(.with { ($0.author, $0.subscriber) = (author, subscriber) })
    }
    let author = popularUser()
    let subscriber = random.chance(1) ? author : anyUser()
    subscriptions.add((id(author), id(subscriber)))
    return .authorSubscribed(
      .with { ($0.author, $0.subscriber) = (id(author), id(subscriber)) })
  }

  private mutating func publish() -> Payload {
    // One in twelve is an edit: the same post with new content, sometimes by another author.
    let edited = random.chance(8) ? posts.pick(&random) : nil
    var post = edited ?? Post(id: "post-\(serial)", owner: popularUser())
    if edited != nil, random.chance(25) {
      let owner = popularUser()
      if leaving.areStaying([id(post.owner), id(owner)]) { post.owner = owner }
    }
    posts.add(post)
    let (title, caption) = (sentence(), random.chance(70) ? sentence() : "")
    let mentions = mentions(onPostOf: post.owner)
    let hasImage = random.chance(60)
    let published = PostPublished.with {
      ($0.post, $0.author) = (post.id, id(post.owner))
      ($0.title, $0.caption, $0.mentions) = (title, caption, mentions)
      $0.imageURL = hasImage ? "https://images.example/\(post.id).jpg" : ""
    }
    if edited == nil, random.chance(8) { script += changed(published) }
    return .postPublished(published)
  }

  /// What may follow a publication immediately: an edit, a deletion, or both.
  private mutating func changed(_ post: PostPublished) -> [Payload] {
    var edited = post
    edited.title = sentence()
    let deletion = Payload.postDeleted(.with { ($0.post, $0.author) = (post.post, post.author) })
    return switch Int.random(in: 0..<4, using: &random) {
    case 0: [deletion]
    case 1: [deletion, .postPublished(edited)]
    default: [.postPublished(edited)]
    }
  }

  private mutating func like() -> Payload {
    guard let post = posts.pick(&random) else { return publish() }
    let actor = random.chance(3) ? post.owner : anyUser()
    likes.add((actor, post))
    let like = created(actor, post)
    if random.chance(3) { script += [removed(actor, post), like] }
    return like
  }

  private func created(_ actor: Int, _ post: Post) -> Payload {
    .likeCreated(
      .with { ($0.actor, $0.post, $0.postOwner) = (id(actor), post.id, id(post.owner)) })
  }

  private func removed(_ actor: Int, _ post: Post) -> Payload {
    .likeRemoved(
      .with { ($0.actor, $0.post, $0.postOwner) = (id(actor), post.id, id(post.owner)) })
  }

  private mutating func comment() -> Payload {
    guard let post = posts.pick(&random) else { return publish() }
    let comment = Comment(
      id: "comment-\(serial)", actor: random.chance(5) ? post.owner : anyUser(), post: post)
    comments.add(comment)
    let (text, mentions) = (sentence(), mentions(onPostOf: post.owner))
    return .commentCreated(
      .with {
        ($0.comment, $0.actor) = (comment.id, id(comment.actor))
        ($0.post, $0.postOwner) = (post.id, id(post.owner))
        ($0.text, $0.mentions) = (text, mentions)
      })
  }

  private mutating func send() -> Payload {
    // Users write to a few others, so that conversations grow.
    let sender = anyUser()
    let receiver =
      random.chance(1)
      ? sender : (sender + Int.random(in: 1...5, using: &random)) % workload.users
    let text = sentence()
    // The receiver reads, or the sender reads what came before.
    if random.chance(30) {
      let (reader, peer) = random.chance(70) ? (receiver, sender) : (sender, receiver)
      script.append(.conversationRead(.with { ($0.user, $0.peer) = (id(reader), id(peer)) }))
    }
    return .messageSent(
      .with {
        ($0.message, $0.sender, $0.receiver) = ("message-\(serial)", id(sender), id(receiver))
        $0.text = text
      })
  }

  /// Usually nobody; sometimes the post's owner, who is notified anyway.
  private mutating func mentions(onPostOf owner: Int) -> [String] {
    guard random.chance(15) else { return [] }
    var people: [Int] = []
    for _ in 0..<Int.random(in: 1...3, using: &random) {
      let person = random.chance(15) ? owner : popularUser()
      if !people.contains(person) { people.append(person) }
    }
    return people.map(id)
  }

  private mutating func undo() -> Payload {
    switch Int.random(in: 0..<10, using: &random) {
    case 0..<4:
      guard let (actor, post) = likes.pick(&random) else { break }
      return removed(actor, post)
    case 4..<7:
      guard let (follower, followee) = follows.pick(&random) else { break }
      return .followRemoved(
        .with { ($0.follower, $0.followee) = (id(follower), id(followee)) })
    case 7..<9:
      guard let comment = comments.pick(&random) else { break }
      return .commentRemoved(
        .with {
          ($0.comment, $0.actor) = (comment.id, id(comment.actor))
          ($0.post, $0.postOwner) = (comment.post.id, id(comment.post.owner))
        })
    default:
      guard let post = posts.pick(&random) else { break }
      return .postDeleted(.with { ($0.post, $0.author) = (post.id, id(post.owner)) })
    }
    return follow()
  }

  private mutating func profile(of user: Int) -> Payload {
    let voice = Voice.all[(user + (random.chance(5) ? 1 : 0)) % Voice.all.count]
    let nickname = voice.nicknames.randomElement(using: &random) ?? ""
    let (major, hasImage) = (voice.majors.randomElement(using: &random) ?? "", random.chance(70))
    let zone = random.chance(50) ? anyZone() : ""
    return .profileChanged(
      .with {
        ($0.user, $0.nickname, $0.locale) = (id(user), nickname, voice.locale)
        $0.imageURL = hasImage ? "https://images.example/people/\(user).jpg" : ""
        ($0.name, $0.major, $0.bio) = (voice.name + " \(user)", major, voice.sentences[0])
        $0.zone = zone
      })
  }

  /// Changes one or two fields; sometimes empties one.
  private mutating func edit(of user: Int) -> Payload {
    let voice = Voice.all.randomElement(using: &random) ?? Voice.all[0]
    let nickname = random.chance(10) ? "" : voice.nicknames.randomElement(using: &random) ?? ""
    let field = Int.random(in: 0..<4, using: &random)
    let zone = random.chance(20) ? anyZone() : nil
    return .profileEdited(
      .with {
        $0.user = id(user)
        if field < 2 { $0.nickname = nickname }
        if field == 1 || field == 2 { $0.imageURL = "https://images.example/people/\(serial).jpg" }
        if field == 3 { $0.locale = voice.locale }
        if let zone { $0.zone = zone }
      })
  }

  private mutating func sentence() -> String {
    let voice = Voice.all.randomElement(using: &random)
    return voice?.sentences.randomElement(using: &random) ?? ""
  }

  private static let mutedKinds =
    AlarmType.allCases.map(\.rawValue) + ["comment-like", "F06", "milestone", "author-post"]

  /// Kinds of every shape: grouped or alone; with an actor, without, and either; with arguments.
  private mutating func alarm() -> Payload {
    if random.chance(20), let alarm = alarms.pick(&random) {
      return withdrawal(of: alarm)
    }
    let (recipient, actor) = (id(popularUser()), id(anyUser()))
    let (subject, text) = ("comment-\(serial % 20)", sentence())
    let alarm = AlarmRaised.with { alarm in
      (alarm.recipient, alarm.subject, alarm.source) = (recipient, subject, actor)
      switch Int.random(in: 0..<5, using: &random) {
      case 0: (alarm.kind, alarm.actor) = ("comment-like", actor)
      case 1:
        (alarm.kind, alarm.actor, alarm.headText) = ("F06", actor, text)
        alarm.source = "reply-\(serial)"
      case 2:
        (alarm.kind, alarm.actor) = ("gift", random.chance(50) ? actor : "")
        alarm.source = "gift-\(serial)"
      case 3:
        (alarm.kind, alarm.actor) = ("broadcast", actor)
        alarm.arguments = ["title": "<\(serial)> 🎙", "station": random.chance(50) ? "라디오" : ""]
        alarm.imageURL = "https://images.example/\(serial).jpg"
      default: (alarm.kind, alarm.arguments) = ("milestone", ["followers": "\(serial % 13 * 100)"])
      }
    }
    alarms.add(alarm)
    if random.chance(20) { script.append(withdrawal(of: alarm)) }
    return .alarmRaised(alarm)
  }

  func withdrawal(of alarm: AlarmRaised) -> Payload {
    .alarmWithdrawn(
      .with {
        ($0.recipient, $0.kind) = (alarm.recipient, alarm.kind)
        ($0.subject, $0.source) = (alarm.subject, alarm.source)
      })
  }

  private mutating func alarmAction() -> Payload {
    let kind = Int.random(in: 0..<18, using: &random)
    switch kind {
    case 0..<5:
      guard let (user, notification) = notifications.pick(&random) else { break }
      return kind < 3
        ? .alarmRead(.with { ($0.user, $0.notification) = (user, notification) })
        : .alarmDeleted(.with { ($0.user, $0.notification) = (user, notification) })
    case 5:
      let user = id(popularUser())
      return .alarmAllDeleted(.with { $0.user = user })
    case 6, 7:
      let user = popularUser()
      let kind = Self.mutedKinds.randomElement(using: &random) ?? ""
      mutes.add((user, kind))
      return .alarmMuted(.with { ($0.user, $0.type) = (id(user), kind) })
    case 8:
      guard let (user, kind) = mutes.pick(&random) else { break }
      return .alarmUnmuted(.with { ($0.user, $0.type) = (id(user), kind) })
    case 9..<12:
      let user = id(popularUser())
      let seen = Payload.alarmSeen(.with { $0.user = user })
      if random.chance(50) { script.append(seen) }
      return seen
    case 12: return disabling()
    case 13..<17: return personAction()
    default: break
    }
    let user = id(popularUser())
    return .alarmReadAll(.with { $0.user = user })
  }

  private mutating func disabling() -> Payload {
    let (user, person) = (id(popularUser()), id(popularUser()))
    script.append(gift(to: user, from: person))
    switch Int.random(in: 0..<4, using: &random) {
    case 0: return .alarmDisabled(.with { ($0.user, $0.scope, $0.kind) = (user, "kind", "gift") })
    case 1: return .alarmDisabled(.with { ($0.user, $0.scope, $0.actor) = (user, "actor", person) })
    case 2: return .alarmEnabled(.with { ($0.user, $0.scope, $0.actor) = (user, "actor", person) })
    default:
      return .alarmDisabled(
        .with {
          ($0.user, $0.scope, $0.kind) = (user, "subject", "comment-like")
          $0.subject = "comment-\(serial % 20)"
        })
    }
  }

  /// Half of what is taken back was given before.
  private mutating func personAction() -> Payload {
    if random.chance(50), let (user, person) = hiddenPeople.pick(&random) {
      return random.chance(70)
        ? .personUnblocked(.with { ($0.user, $0.person) = (id(user), id(person)) })
        : .personUnmuted(.with { ($0.user, $0.person) = (id(user), id(person)) })
    }
    let (user, person) = (popularUser(), popularUser())
    hiddenPeople.add((user, person))
    script.append(gift(to: id(user), from: id(person)))
    return random.chance(70)
      ? .personBlocked(.with { ($0.user, $0.person) = (id(user), id(person)) })
      : .personMuted(.with { ($0.user, $0.person) = (id(user), id(person)) })
  }

  /// Something new that a muting or a block before it hides, whichever of the two arrives first.
  private func gift(to recipient: String, from actor: String) -> Payload {
    .alarmRaised(
      .with {
        ($0.recipient, $0.kind, $0.actor) = (recipient, "gift", actor)
        $0.source = "gift-\(serial)"
      })
  }
}
