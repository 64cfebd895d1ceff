"""What everything else stands on: configuration, random streams, files, contracts. No maths of any one method."""
