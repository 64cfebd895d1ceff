"""The command `ebmbench`: a thin layer of words over the stages and the flow."""
