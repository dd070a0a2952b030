import Events
import Handling

/// `follow.*`: notifies the followee of the followers of a day in one notification.
func followsWork(_ events: [Event]) -> Work {
  var registers = Registers<Key>()
  for event in events {
    switch event.payload {
    case .followCreated(let data):
      registers.add(event, key: Key(data.followee, data.follower), creates: true)
    case .followRemoved(let data):
      registers.add(event, key: Key(data.followee, data.follower), creates: false)
    default: continue
    }
  }
  var contributions = Contributions(.follow)
  for (key, register) in zip(registers.keys, registers.values) where key.first != key.second {
    var active = false
    if case .followCreated = register.newest.payload { active = true }
    let (followee, follower) = (key.first.string, key.second.string)
    contributions.append(
      recipient: followee, subject: "", source: follower, actor: follower, active: active,
      register: register)
  }
  return contributions.work(events)
}
