/**
 * Opening an alarm: where it leads. Opening it is reading it.
 */

import { path, prepare } from "./api.js";
import { attempt } from "./optimistic.js";
import { routeOf, routes } from "./routes.js";

/** The page that an alarm is about; null if there is none. */
export const targetOf = (alarm) =>
  routeOf(alarm.deep_link) ?? (alarm.post_id ? routes.post(alarm.post_id) : null);

/** The path of an alarm in the API. */
export const pathOf = (alarm) => path("/v1/alarms", alarm.notification_id);

/** What `drafted` calls an alarm. */
export const keyOf = (alarm) => `alarm/${alarm.notification_id}`;

/** Shows the alarm as read, and tells the gateway. */
export function read(alarm) {
  if (!alarm.unread) return;
  const action = prepare("PUT", `${pathOf(alarm)}/read`, undefined, alarm.raised_at);
  attempt(keyOf(alarm), { unread: false, unseen: false }, action);
}
