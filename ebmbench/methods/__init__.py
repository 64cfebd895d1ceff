"""Training methods: one file each, with a pure objective and a class `Method`. Methods never import one another."""
