public import Postgres

/// Opens a batch's transaction: settings of the planner, for this transaction only.
///
/// Every join of a batch goes from the batch's rows to a table's key, so that only the batch's size
/// matters. The planner, which cannot know that, would at times rather read ten million rows once
/// than find a thousand by key.
///
/// - Parameter keepsPlans: true where one generic plan of index scans is right for batches and
///   tables of any size, and planning afresh takes as long as applying a small batch; false where a
///   plan that was made while the tables were small must not be kept.
public func planByKey(keepsPlans: Bool) -> Statement {
  Statement(
    """
    SELECT
      set_config('plan_cache_mode', $1, true),
      set_config('enable_seqscan', 'off', true),
      set_config('enable_hashjoin', 'off', true),
      set_config('enable_mergejoin', 'off', true),
      set_config('jit', 'off', true),
      set_config('work_mem', '64MB', true)
    """, [.text(keepsPlans ? "force_generic_plan" : "force_custom_plan")])
}
