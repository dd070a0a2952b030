public import Postgres

/// The first statement of a batch's transaction: planner settings for this transaction only.
///
/// Every join of a batch goes from the batch's rows to a table's key, so its cost depends only on the
/// size of the batch. Without these settings, the planner sometimes scans ten million rows instead of
/// looking up a thousand by key.
///
/// - Parameter keepsPlans: true where one generic plan of index scans fits batches and tables of any
///   size, and planning takes as long as applying a small batch; false where a plan made while the
///   tables were small must not be reused.
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

/// `planByKey` for a batch of this many events. Small ones keep their plans: planning would take as long as applying
/// them, and tables grow little until the lane discards its plans, once a second. Large ones do not use a plan that was
/// made while the tables were small.
public func planByKey(events count: Int) -> Statement {
  planByKey(keepsPlans: count <= smallBatchMax)
}

private let smallBatchMax = 100
