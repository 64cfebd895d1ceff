"""The contenders: ebmbench itself, a loop written by hand, and two other libraries, all with one interface."""
