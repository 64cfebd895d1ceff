"""The command line of `ebmbench`: arguments and messages; the work is done by the stages, the report and the flow."""
