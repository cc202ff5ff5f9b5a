"""What the command line and the app both do, each done once. Asks nobody, prints nothing, draws nothing."""
