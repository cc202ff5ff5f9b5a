"""The knowledge screen: files that were read, are being read or could not be read. Also the app's first run."""
