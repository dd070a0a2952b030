-- compatible-from: 9
-- An offset that was moved back is not how far the rows are. Tables that are rebuilt from the log must
-- get that far before they are swapped in, or readers would see older rows.
ALTER TABLE consumer_offsets ADD COLUMN applied_offset bigint;
COMMENT ON COLUMN consumer_offsets.applied_offset IS
  'the greatest next_offset that an operator has moved; null if none was';
