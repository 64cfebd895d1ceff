"""The equal search for defaults: the same number of trials for every method, on seeds that no report shows."""
