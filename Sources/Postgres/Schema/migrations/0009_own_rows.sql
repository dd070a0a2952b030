-- The tables that all workers share hold rows of consumer groups, and a worker's role may write those
-- of its own worker only: one that was taken over cannot move another's offsets past what the other has
-- not applied. Everybody who may read a table reads all of it. The tables' owner, as whom the operator's
-- tool works, is not bound by this.
--
-- A group is named PREFIX and the worker's name; the prefix is the deployment's.
DO $$
DECLARE
  shared text;
  worker text;
BEGIN
  FOREACH shared IN ARRAY
    ARRAY['consumer_offsets', 'dead_letters', 'dead_letter_history', 'batch_audit']
  LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', shared);
    EXECUTE format('CREATE POLICY everybody_reads ON %I FOR SELECT USING (true)', shared);
    FOREACH worker IN ARRAY ARRAY['fanout', 'notification', 'alarm'] LOOP
      EXECUTE format(
        'CREATE POLICY %2$I ON %1$I TO %3$I USING (consumer_group LIKE %4$L)',
        shared, worker || '_writes_its_own', 'magpie_' || worker, '%' || worker);
    END LOOP;
  END LOOP;
END
$$;
