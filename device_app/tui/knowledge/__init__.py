"""The knowledge screen: files that were read, are being read or could not be read; and the first run."""
