-- compatible-from: 9
-- Since when an installation has been active without a break: alarms raised before are not pushed to it, whenever they
-- are published again. version_time does not tell, because apps register each time they start. Rows of before, and those
-- that a worker of an older version inserts, count as active ever since.
ALTER TABLE push_devices ADD COLUMN active_since timestamptz NOT NULL DEFAULT '-infinity';

CREATE OR REPLACE VIEW push_active_devices AS
SELECT d.user_id, d.installation, d.provider, d.app, d.locale, d.scope, d.fingerprint, d.sealed_token,
  d.version_time AS registered_at, d.active_since
FROM push_devices d
JOIN push_tokens t ON t.fingerprint = d.fingerprint
  AND t.user_id = d.user_id AND t.installation = d.installation
WHERE d.provider IS NOT NULL AND d.version_time > t.gone_since;
