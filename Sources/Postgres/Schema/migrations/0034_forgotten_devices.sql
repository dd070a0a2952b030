-- compatible-from: 9
-- What push-worker needs to forget a person: see docs/decisions/0040.

GRANT DELETE ON push_devices, push_tokens, push_preferences TO magpie_push;

-- A person's tokens, in the order in which they are locked.
CREATE INDEX push_tokens_by_user ON push_tokens (user_id, fingerprint);
-- Who owns a token once its owner is forgotten.
CREATE INDEX push_devices_by_fingerprint ON push_devices (fingerprint) WHERE fingerprint IS NOT NULL;

-- Nothing is shown of who is being erased.
DO $$
DECLARE
  page text;
  old text;
  new text;
BEGIN
  FOREACH page IN ARRAY ARRAY['device_page(text)', 'push_status(uuid)', 'push_explanation(uuid)'] LOOP
    old := pg_get_functiondef(page::regprocedure);
    new := replace(replace(replace(old,
      'WHERE d.user_id = $1 AND', 'WHERE NOT is_erasing($1) AND d.user_id = $1 AND'),
      'WHERE a.notification_id = $1', 'WHERE a.notification_id = $1 AND NOT is_erasing(a.recipient)'),
      'WHERE n.notification_id = $1', 'WHERE n.notification_id = $1 AND NOT is_erasing(n.recipient)');
    IF new = old THEN
      RAISE EXCEPTION '% has no condition as expected', page;
    END IF;
    EXECUTE new;
  END LOOP;
END
$$;
