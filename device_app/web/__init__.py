"""The app in a browser: who may come in (`door`), and the server that starts one app for each page (`server`)."""
