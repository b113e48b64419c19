"""The command line: one file a command. Only this package renders; everything heavy is imported on use."""
