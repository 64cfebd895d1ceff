"""What the image datasets share: where their files are found, how they are checked, how formats are read."""
