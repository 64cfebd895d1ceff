"""Where data come from: a dataset of the package, or a file or folder of the user's."""
